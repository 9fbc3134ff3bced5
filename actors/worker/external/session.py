"""AgentSession: one start of an external agent, from its launch to its end."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from actors.worker.context import WorkerContext
from actors.worker.external.launcher import AgentCommand
from actors.worker.external.permission_requests import PermissionRequests, TooManyPermissionRequests
from actors.worker.external.process import ExternalAgentProcess
from actors.worker.external.team_bridge import TeamBridge
from actors.worker.limits import WorkerLimits
from agiraph.agent.activity import step_of
from agiraph.agent.event_replay import answered
from agiraph.agent.node_limits import proxy_usage
from agiraph.agent.records import ExternalSessionKnown, InputReceived, ModelAnswered
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.core.concurrency import BackgroundTasks, first_to_end
from agiraph.core.ids import BROKER, derived_message_id
from agiraph.core.naming import error_line
from agiraph.core.turns import JsonObject, ToolCall, Usage
from agiraph.external.agent_events import (
    AgentEvent,
    PermissionRequested,
    ProtocolOutput,
    SessionIdReported,
    SessionMustEnd,
    TextReported,
    TextStreamed,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnded,
    UsageReported,
)
from agiraph.external.agent_prompts import BOUND_NEAR, TIME_NEAR
from agiraph.external.driver import Driver
from agiraph.external.exchange_files import INBOX, RESULT, ExchangeFolder, is_shown_in
from agiraph.external.launching import AgentLaunch
from agiraph.messages.model import StreamDelta

TICK_SECONDS = 0.2
GRACE_SECONDS = 0.8
DRAIN_SECONDS = 2.0
REFUSED_SECONDS = 1.5
"""How long an agent that was refused at a limit of its node may take to end by itself."""

SHOWN_CHARACTERS = 2000
PROBLEM_CHARACTERS = 1000
PREVIEW_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class AgentSessionResult:
    """The end of a session. `problem` is the reason of its failure, '' without one.

    `received`: how many of the messages to the agent its model has received. `was_interrupted`: the
    agent was ended for a message that interrupts. `has_spoken`: it wrote or did anything.
    `is_final`: it must not be started again.
    """

    problem: str
    last_message: str
    usage: Usage
    received: int
    was_interrupted: bool
    has_spoken: bool
    is_final: bool


class AgentSession:
    """One start of an agent, which has ended with all descendants when `run` returns or raises."""

    def __init__(
        self,
        worker: WorkerContext,
        limits: WorkerLimits,
        launch: AgentLaunch,
        driver: Driver,
        exchange: ExchangeFolder,
        bridge: TeamBridge,
        permissions: PermissionRequests,
    ) -> None:
        self._worker = worker
        self._limits = limits
        self._state = worker.transcript.outside
        self._launch = launch
        self._driver = driver
        self._exchange = exchange
        self._bridge = bridge
        self._permissions = permissions
        self._clock = worker.runtime.clock
        self._tasks = BackgroundTasks()
        self._must_end = asyncio.Event()
        self._end_reason: str | None = None
        self._was_interrupted = self._has_spoken = self._is_final = False
        self._streamed: list[str] = []
        self._turn: TurnEnded | None = None
        self._usage = Usage()
        self._sent = self._read_up_to = len(self._state.messages)
        self._inbox_reads: set[str] = set()
        self._is_listening = driver.is_two_way
        self._open_requests = 0
        self._tool_names: dict[str, str] = {}
        self._began_at = self._active_at = self._clock.monotonic()
        self._refused_at: float | None = None

    async def start(self, command: AgentCommand, environment: dict[str, str], folder: Path) -> None:
        """Start `command`; call `run` at once afterwards. Raises OSError, ValueError."""
        self._process = await ExternalAgentProcess.start(
            command.words,
            standins=command.standins,
            environment=environment,
            cwd=self._launch.folder,
            folder=folder,
            opening=self._driver.opening(),
            keeps_stdin_open=self._driver.is_two_way,
        )

    async def run(self) -> AgentSessionResult:
        """Handle the output of the started agent until it ends; return how it ended."""
        try:
            self._report_started()
            self._tasks.start(self._attend())
            await first_to_end(
                self._read_to_end(), self._must_end.wait(), self._tasks.until_broken()
            )
            await self._tasks.stop()
            if self._end_reason is not None:
                await self._process.stop(GRACE_SECONDS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        await self._read_to_end()
        finally:
            await self._tasks.stop()
            await self._process.stop(GRACE_SECONDS)
            self._stream_text(is_end=True)
        await self._bridge.send_outbox(has_ended=True)
        return self._ended(await self._process.ended())

    def _ended(self, exit_code: int) -> AgentSessionResult:
        problem, received = self._end_reason, self._sent
        if problem is None:
            problem = self._driver.verdict(exit_code, self._process.stderr)
            if not problem:  # a complete turn: its model received its tools' output
                received = max(received, self._read_up_to)
        return AgentSessionResult(
            error_line(problem, PROBLEM_CHARACTERS),
            last_message=self._turn.text if self._turn else "",
            usage=self._usage,
            received=received,
            was_interrupted=self._was_interrupted,
            has_spoken=self._has_spoken,
            is_final=self._is_final,
        )

    # --- the agent's output ----------------------------------------------------------------------

    async def _read_to_end(self) -> None:
        """Handle the agent's stdout to its end, and wait for the agent's exit."""
        while data := await self._process.read():
            self._active_at = self._clock.monotonic()
            self._handle_all(self._driver.feed(data))
        self._handle_all(self._driver.feed(b""))
        await self._process.ended()

    def _handle_all(self, events: Sequence[AgentEvent]) -> None:
        for event in events:
            self._handle(event)

    def _handle(self, event: AgentEvent) -> None:
        match event:
            case SessionIdReported():
                self._session_known(event)
            case TextStreamed(text=text):
                self._streamed.append(text)
            case TextReported():
                self._text_reported(event)
            case ToolUseStarted():
                self._tool_started(event)
            case ToolUseEnded():
                self._tool_ended(event)
            case PermissionRequested():
                self._tasks.start(self._answer_permission(event))
            case UsageReported(usage=usage):
                self._usage = usage
            case ProtocolOutput(data=data):
                self._process.write(data)
            case TurnEnded():
                self._turn = event
                self._turn_ended()
            case SessionMustEnd(problem=problem):
                self._end(problem, is_final=True)

    def _session_known(self, known: SessionIdReported) -> None:
        if known.is_new or known.session != self._state.session:
            now = self._clock.now()
            record = ExternalSessionKnown(session=known.session, is_anew=known.is_new, ts=now)
            self._worker.conversation.append(record)

    def _stream_text(self, *, is_end: bool = False) -> None:
        """Send the agent's new text to the subscribers; `is_end`: the text is complete."""
        if self._streamed or is_end:
            address, call = self._worker.runtime.address, self._call
            text = "".join(self._streamed)
            delta = StreamDelta(entity=address, call=call, text=text, is_end=is_end)
            self._worker.runtime.post(BROKER, delta)
            self._streamed.clear()

    @property
    def _call(self) -> bytes:
        """The id of the answer that the agent is writing."""
        place = self._worker.transcript.place
        return derived_message_id(self._worker.runtime.address, f"outside.{place}")

    def _text_reported(self, reported: TextReported) -> None:
        self._has_spoken = True
        self._stream_text(is_end=True)
        model = reported.model or self._launch.agent.name
        call = self._call.hex()
        record = ModelAnswered(text=reported.text, model=model, call=call, ts=self._clock.now())
        self._worker.conversation.append(record)
        self._worker.report(*answered(record, self._worker.transcript.place).report)

    def _tool_started(self, started: ToolUseStarted) -> None:
        self._has_spoken = True
        if any(INBOX in str(value) for value in started.arguments.values()):
            self._inbox_reads.add(started.id)
        arguments = _shortened(started.arguments)
        about = {"tool": started.tool, "arguments": arguments}
        self._worker.report("tool.called", about, self._event_key(started.id))
        self._tool_names[started.id] = started.tool
        call = ToolCall(id=started.id, name=started.tool, arguments=arguments)
        self._worker.show("busy", step_of(call))

    def _tool_ended(self, ended: ToolUseEnded) -> None:
        if ended.id in self._inbox_reads:
            self._note_read(ended.output)
        about = {
            "tool": self._tool_names.pop(ended.id, ""),
            "is_error": ended.is_error,
            "characters": len(ended.output),
            "preview": ended.output[:PREVIEW_CHARACTERS],
        }
        self._worker.report("tool.result", about, self._event_key(ended.id))
        self._show_agent()

    def _note_read(self, output: str) -> None:
        """Count the messages of `_inbox.md` that a tool's output has shown, the oldest first."""
        messages = self._state.messages
        while self._read_up_to < len(messages) and is_shown_in(messages[self._read_up_to], output):
            self._read_up_to += 1

    def _event_key(self, id: str) -> str:
        return f"outside.{self._state.began_at}.{id}"

    def _show_agent(self) -> None:
        self._worker.show("busy", self._launch.agent.name)

    def _turn_ended(self) -> None:
        """Close the agent's stdin after its last input, unless a message has arrived."""
        if not self._is_listening or self._worker.inbox.arrived.is_set():
            return
        self._is_listening = False
        self._sent = len(self._state.messages)
        self._process.close_stdin()

    async def _answer_permission(self, requested: PermissionRequested) -> None:
        self._open_requests += 1
        try:
            refusal = await self._permissions.refusal_of(requested)
        except TooManyPermissionRequests as loop:
            self._end(str(loop), is_final=True)
            return
        finally:
            self._open_requests -= 1
        self._process.write(self._driver.answer(requested.request, refusal))
        self._show_agent()

    # --- messages and limits ---------------------------------------------------------------------

    async def _attend(self) -> None:
        """Pass messages in both directions and check the limits, in a loop."""
        while True:
            if self._follow_pause():
                await asyncio.sleep(TICK_SECONDS)
                continue
            received = self._bridge.receive()
            if any(incoming.mode == "interrupt" for incoming in received):
                self._interrupt()
            if received:
                self._deliver()
            has_news = await self._bridge.send_outbox()
            if self._limits.warn_of_deadline(TIME_NEAR):
                self._bridge.write_inbox()
                has_news = True
            if has_news | self._warn_of_bound():
                self._deliver()
            self._stream_text()
            self._check_limits()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._worker.inbox.arrived.wait()

    def _follow_pause(self) -> bool:
        """Stop the agent's processes while the worker is paused; return whether it is paused."""
        is_shut = self._worker.pause_switch.is_paused
        if is_shut:
            self._process.pause()  # each time: it may have started more meanwhile
            self._active_at = self._clock.monotonic()
        elif self._process.is_paused:
            self._process.resume()
            self._show_agent()
        return is_shut

    def _warn_of_bound(self) -> bool:
        """Warn the agent once a node that it is near a limit; return whether it was warned.

        An agent that accepts no prompt in the middle of a turn is interrupted: there may be no
        other turn.
        """
        low, self._worker.low = self._worker.low, None
        if low is None or self._is_at_bound or "bound" in self._state.warned:
            return False
        text = BOUND_NEAR.format(used=proxy_usage(low))
        now = self._clock.now()
        warning = InputReceived(content=text, from_name=RUNTIME_NAME, ts=now, warns_of="bound")
        self._worker.conversation.append(warning)
        self._bridge.write_inbox()
        if not (self._is_listening and self._driver.reads_mid_turn):
            self._interrupt()
        return True

    def _deliver(self) -> None:
        """Write the unsent messages to the agent's stdin; `_inbox.md` contains all of them."""
        if self._is_listening:
            messages = self._state.messages
            for message in messages[self._sent :]:
                self._process.write(self._driver.encode_prompt(message) or b"")
            self._sent = len(messages)

    def _interrupt(self) -> None:
        """Stop the agent's turn; an agent that cannot be interrupted is ended, to be resumed."""
        stop = self._driver.interrupt() if self._is_listening else None
        if stop is not None:
            self._process.write(stop)
        elif self._launch.agent.preset.resume and self._state.session:
            self._was_interrupted = True
            self._end("")

    # --- its limits ------------------------------------------------------------------------------

    @property
    def _is_at_bound(self) -> bool:
        """Whether a call of the agent was refused because of a limit of its node."""
        shortage = self._worker.shortage
        return shortage is not None and shortage.budget.scope == "node"

    def _check_limits(self) -> None:
        """End the agent at one of its limits, or if it has finished and does not exit."""
        now, preset = self._clock.monotonic(), self._launch.agent.preset
        if self._is_at_bound:
            self._refused_at = self._refused_at or now
            if now - self._refused_at > REFUSED_SECONDS:
                self._end("it is at a limit of its node")
        if self._open_requests:
            self._active_at = now
        if now - self._active_at > preset.silence_seconds:
            self._end(f"it wrote nothing for {preset.silence_seconds:g} s")
        if preset.total_seconds is not None and now - self._began_at > preset.total_seconds:
            self._end(f"its time of {preset.total_seconds:g} s is over")
        has_finished = self._driver.is_two_way and not self._is_listening
        if has_finished and now - self._active_at > preset.settle_seconds:
            self._end(self._turn.problem if self._turn else "")
        if preset.driver == "plain" and self._has_settled_result(now, preset.settle_seconds):
            self._end("")

    def _has_settled_result(self, now: float, seconds: float) -> bool:
        """Whether the agent's result is unchanged for `seconds`, without other activity."""
        found = self._exchange.read(RESULT)
        if found is None:
            return False
        since = self._bridge.unchanged_since(RESULT, found.stamp)
        return now - max(since, self._active_at) > seconds

    def _end(self, problem: str, *, is_final: bool = False) -> None:
        self._is_final |= is_final
        if self._end_reason is None:
            self._end_reason = problem
            self._must_end.set()

    def _report_started(self) -> None:
        about = {
            "agent": self._launch.agent.name,
            "number": self._state.starts,
            "session": self._launch.session,
            "pid": self._process.pid,
        }
        self._worker.report("outside.started", about, self._state.began_at)
        self._show_agent()


def _shortened(arguments: JsonObject) -> JsonObject:
    """Return a tool's arguments for an event: long texts are cut."""
    return {
        name: f"{value[:SHOWN_CHARACTERS]}…"
        if isinstance(value, str) and len(value) > SHOWN_CHARACTERS
        else value
        for name, value in arguments.items()
    }
