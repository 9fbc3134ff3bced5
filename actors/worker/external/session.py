"""AgentSession: one start of an outside agent, from its launch to its end."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.worker.context import WorkerContext
from actors.worker.external.permission_requests import PermissionRequests, TooManyPermissionRequests
from actors.worker.external.process import ExternalAgentProcess
from actors.worker.external.team_bridge import TeamBridge
from actors.worker.limits import WorkerLimits
from agiraph.agent.activity import step_of
from agiraph.agent.event_replay import answered
from agiraph.agent.inbox import IncomingMessage
from agiraph.agent.node_limits import used_at_door
from agiraph.agent.records import ExternalSessionKnown, InputReceived, ModelAnswered
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.core.ids import BROKER, derived_message_id
from agiraph.core.turns import JsonObject, ToolCall, Usage
from agiraph.external.agent_events import (
    Happening,
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
from agiraph.messages import StreamDelta

TICK_SECONDS = 0.2
GRACE_SECONDS = 0.8
DRAIN_SECONDS = 2.0
REFUSED_SECONDS = 1.5
"""How long one that was refused at a bound of its node may take to come to its own end."""

SHOWN_CHARACTERS = 2000
PREVIEW_CHARACTERS = 300
NOBODY_ENDED_IT = ""


@dataclass(frozen=True, slots=True)
class AgentSessionResult:
    """How a sitting ended. `problem`: why it failed, '' if it did not; `word`: its last.

    `was_interrupted`: it was ended because a message would not wait. `told`: how many of the
    messages to it have reached its mind. `has_spoken`: it has said or done anything. `is_final`: it
    is not to be started again.
    """

    problem: str
    word: str
    usage: Usage
    told: int
    was_interrupted: bool = False
    has_spoken: bool = False
    is_final: bool = False


class AgentSession:
    """One start. The agent is gone, with all that descends from it, when `run` is over."""

    def __init__(
        self,
        worker: WorkerContext,
        limits: WorkerLimits,
        job: AgentLaunch,
        driver: Driver,
        exchange: ExchangeFolder,
        bridge: TeamBridge,
        permissions: PermissionRequests,
    ) -> None:
        """Sit for `worker`; nothing is started yet."""
        self._worker = worker
        self._limits = limits
        self._job = job
        self._driver = driver
        self._exchange = exchange
        self._bridge = bridge
        self._permissions = permissions
        self._clock = worker.runtime.clock
        self._conversation = worker.conversation
        self._beside = BackgroundTasks()
        self._over = asyncio.Event()
        self._ended_by_us: str | None = None
        self._was_interrupted = self._has_spoken = self._is_final = False
        self._streamed = ""
        self._turn: TurnEnded | None = None
        self._usage = Usage()
        self._told = len(worker.transcript.outside.heard)
        self._inbox_reads: set[str] = set()
        self._read_up_to = self._told
        self._listens = driver.is_two_way
        self._asking = 0
        self._tools: dict[str, str] = {}
        self._began_at = self._alive_at = self._clock.monotonic()
        self._refused_at: float | None = None
        self._result: tuple[tuple[int, int], float] | None = None

    async def run(
        self, command: Sequence[str], environment: dict[str, str], folder: Path
    ) -> AgentSessionResult:
        """Start `command` and see it through. Raises OSError, ValueError if it cannot start."""
        self._process = await ExternalAgentProcess.start(
            command,
            environment=environment,
            cwd=self._job.folder,
            folder=folder,
            opening=self._driver.opening(),
            keeps_listening=self._driver.is_two_way,
        )
        self._tell_begun()
        try:
            self._beside.start(self._attend())
            await first_to_end(self._live(), self._over.wait(), self._beside.until_broken())
            await self._beside.stop()
            if self._ended_by_us is not None:
                await self._process.stop(GRACE_SECONDS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        await self._live()
        finally:
            await self._beside.stop()
            await self._process.stop(GRACE_SECONDS)
        await self._bridge.carry_out(has_ended=True)
        return self._ending(await self._process.ended())

    async def _live(self) -> None:
        """Listen to it until it is gone."""
        await self._read()
        await self._process.ended()

    def _ending(self, code: int) -> AgentSessionResult:
        problem = self._ended_by_us
        if problem is None:
            problem = self._driver.verdict(code, self._process.complaint)
        told = self._told
        if not problem and self._ended_by_us is None:
            # It came to the end of its turn, so its model was given what its tools had read.
            told = max(told, self._read_up_to)
        return AgentSessionResult(
            problem,
            word=self._turn.text if self._turn else "",
            usage=self._usage,
            told=told,
            was_interrupted=self._was_interrupted,
            has_spoken=self._has_spoken,
            is_final=self._is_final,
        )

    # --- what it says ----------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read until it says no more."""
        while data := await self._process.read():
            self._alive_at = self._clock.monotonic()
            self._take(data)
        self._take(b"")

    def _take(self, data: bytes) -> None:
        for happening in self._driver.take(data):
            self._see(happening)

    def _see(self, happening: Happening) -> None:
        match happening:
            case SessionIdReported(session=session, is_anew=is_anew):
                self._session_known(session, is_anew)
            case TextStreamed(text=text):
                self._streamed += text
            case TextReported():
                self._said(happening)
            case ToolUseStarted():
                self._tool_began(happening)
            case ToolUseEnded():
                self._tool_ended(happening)
            case PermissionRequested():
                self._beside.start(self._give_leave(happening))
            case UsageReported(usage=usage):
                self._usage = usage
            case ProtocolOutput(data=data):
                self._process.write(data)
            case TurnEnded():
                self._turn = happening
                self._turn_ended()
            case SessionMustEnd(problem=problem):
                self._end_for_good(problem)

    def _session_known(self, session: str, is_anew: bool) -> None:
        if is_anew or session != self._worker.transcript.outside.session:
            now = self._clock.now()
            self._conversation.append(
                ExternalSessionKnown(session=session, is_anew=is_anew, ts=now)
            )

    def _let_hear(self) -> None:
        """Let the consoles that listen hear what it is writing."""
        if self._streamed:
            address = self._worker.runtime.address
            place = f"outside.{self._worker.transcript.place}"
            call = derived_message_id(address, place)
            heard = StreamDelta(entity=address, call=call, text=self._streamed)
            self._worker.runtime.post(BROKER, heard)
            self._streamed = ""

    def _said(self, said: TextReported) -> None:
        self._has_spoken = True
        self._let_hear()
        model = said.model or self._job.agent.name
        record = ModelAnswered(text=said.text, model=model, ts=self._clock.now())
        self._conversation.append(record)
        telling = answered(record, self._worker.transcript.place)
        self._worker.report(*telling.told)

    def _tool_began(self, began: ToolUseStarted) -> None:
        self._has_spoken = True
        if any(INBOX in str(value) for value in began.arguments.values()):
            self._inbox_reads.add(began.id)
        arguments = _shortened(began.arguments)
        told = {"tool": began.tool, "arguments": arguments}
        self._worker.report("tool.called", told, self._key_of(began.id))
        self._tools[began.id] = began.tool
        call = ToolCall(id=began.id, name=began.tool, arguments=arguments)
        self._worker.show("busy", step_of(call))

    def _tool_ended(self, ended: ToolUseEnded) -> None:
        if ended.id in self._inbox_reads:
            self._note_read(ended.output)
        told = {
            "tool": self._tools.pop(ended.id, ""),
            "is_error": ended.is_error,
            "characters": len(ended.output),
            "preview": ended.output[:PREVIEW_CHARACTERS],
        }
        self._worker.report("tool.result", told, self._key_of(ended.id))
        self._worker.show("busy", self._job.agent.name)

    def _note_read(self, output: str) -> None:
        """Note which messages a tool has shown it out of `_inbox.md`, the oldest first."""
        heard = self._worker.transcript.outside.heard
        while self._read_up_to < len(heard) and is_shown_in(heard[self._read_up_to], output):
            self._read_up_to += 1

    def _key_of(self, id: str) -> str:
        outside = self._worker.transcript.outside
        return f"outside.{outside.began_at}.{id}"

    def _turn_ended(self) -> None:
        """Let it go once it has done what it was told, unless there is more to tell it."""
        if not self._listens or self._worker.inbox.arrived.is_set():
            return
        self._listens = False
        self._told = len(self._worker.transcript.outside.heard)
        self._process.close_stdin()

    async def _give_leave(self, asked: PermissionRequested) -> None:
        self._asking += 1
        try:
            refusal = await self._permissions.refusal_of(asked)
        except TooManyPermissionRequests as loop:
            self._end_for_good(str(loop))
            return
        finally:
            self._asking -= 1
        self._process.write(self._driver.answer(asked.request, refusal))
        self._worker.show("busy", self._job.agent.name)

    # --- what is done beside ---------------------------------------------------------------------

    async def _attend(self) -> None:
        """Carry messages, and look at the clock and at whether it may go on, again and again."""
        while True:
            if self._stands_still():
                await asyncio.sleep(TICK_SECONDS)
                continue
            self._hand_in(self._bridge.take_in())
            was_refused = await self._bridge.carry_out()
            if self._limits.warn_of_deadline(TIME_NEAR):
                self._bridge.show_inbox()
                was_refused = True
            was_refused |= self._warn_if_low()
            if was_refused:
                self._say_what_is_untold()
            self._let_hear()
            self._look_at_the_clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._worker.inbox.arrived.wait()

    @property
    def _is_at_bound(self) -> bool:
        """Whether one of its calls was refused because of a bound of its node."""
        shortage = self._worker.shortage
        return shortage is not None and shortage.budget.scope == "node"

    def _warn_if_low(self) -> bool:
        """Tell it, once a node, that it is near a bound; return whether it was told.

        One that hears nothing in the middle of a turn is interrupted: there may be no other turn.
        """
        low, self._worker.low = self._worker.low, None
        warned = self._worker.transcript.outside.warned
        if low is None or self._is_at_bound or "bound" in warned:
            return False
        text = BOUND_NEAR.format(used=used_at_door(low))
        now = self._clock.now()
        warning = InputReceived(content=text, from_name=RUNTIME_NAME, ts=now, warns_of="bound")
        self._conversation.append(warning)
        self._bridge.show_inbox()
        if not (self._listens and self._driver.hears_in_turn):
            self._interrupt()
        return True

    def _stands_still(self) -> bool:
        """Hold it, and whatever it has started, for as long as it is paused."""
        is_shut = self._worker.pause_switch.is_paused
        if is_shut:
            self._process.pause()  # each time: what it started meanwhile stands still, too
            self._alive_at = self._clock.monotonic()
        elif self._process.is_paused:
            self._process.resume()
            self._worker.show("busy", self._job.agent.name)
        return is_shut

    def _hand_in(self, taken: list[IncomingMessage]) -> None:
        """Tell it what came, if it can be told; else it stands in `_inbox.md`."""
        if not taken:
            return
        if any(incoming.mode == "interrupt" for incoming in taken):
            self._interrupt()
        self._say_what_is_untold()

    def _say_what_is_untold(self) -> None:
        heard = self._worker.transcript.outside.heard
        if self._listens:
            for shown in heard[self._told :]:
                self._process.write(self._driver.say(shown) or b"")
            self._told = len(heard)

    def _interrupt(self) -> None:
        """Have it stop what it does; one that cannot listen is ended, to be started again."""
        stop = self._driver.interrupt() if self._listens else None
        if stop is not None:
            self._process.write(stop)
        elif self._job.agent.preset.resume and self._worker.transcript.outside.session:
            self._was_interrupted = True
            self._end(NOBODY_ENDED_IT)

    def _look_at_the_clock(self) -> None:
        now, preset = self._clock.monotonic(), self._job.agent.preset
        if self._is_at_bound:
            self._refused_at = self._refused_at or now
            if now - self._refused_at > REFUSED_SECONDS:
                self._end("it is at a bound of its node")
        if self._asking:
            self._alive_at = now
        if now - self._alive_at > preset.silence_seconds:
            self._end(f"it gave no sign of life for {preset.silence_seconds:g} s")
        if preset.total_seconds is not None and now - self._began_at > preset.total_seconds:
            self._end(f"its time of {preset.total_seconds:g} s is over")
        has_finished = self._driver.is_two_way and not self._listens
        if has_finished and now - self._alive_at > preset.settle_seconds:
            self._end(self._turn.problem if self._turn else "")
        if preset.driver == "plain" and self._has_settled_result(now, preset.settle_seconds):
            self._end("")

    def _has_settled_result(self, now: float, seconds: float) -> bool:
        """Whether its result has stood for so long that it will not end by itself."""
        seen = self._exchange.read(RESULT)
        if seen is None:
            self._result = None
        elif self._result is None or self._result[0] != seen.stamp:
            self._result = seen.stamp, now
        return self._result is not None and now - max(self._result[1], self._alive_at) > seconds

    def _end_for_good(self, problem: str) -> None:
        self._is_final = True
        self._end(problem)

    def _end(self, problem: str) -> None:
        if self._ended_by_us is None:
            self._ended_by_us = problem
            self._over.set()

    def _tell_begun(self) -> None:
        outside = self._worker.transcript.outside
        about = {
            "agent": self._job.agent.name,
            "number": outside.starts,
            "session": self._job.session if self._job.takes_up else "",
            "pid": self._process.pid,
        }
        self._worker.report("outside.started", about, outside.began_at)
        self._worker.show("busy", self._job.agent.name)


def _shortened(arguments: JsonObject) -> JsonObject:
    """Return a tool's arguments as an event tells them: long texts cut."""
    return {
        name: f"{value[:SHOWN_CHARACTERS]}…"
        if isinstance(value, str) and len(value) > SHOWN_CHARACTERS
        else value
        for name, value in arguments.items()
    }
