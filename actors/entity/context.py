"""EntityContext: an entity's identity and conversation, and how the entity reports and waits.

Every part of an entity (messenger, approvals, compactor, tools) receives this one object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from actors.entity.roster import Roster
from actors.runtime.crash_counter import LIMIT
from actors.runtime.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import RECORDS_REPLAYED, event_key, noticed, replayed_events
from agiraph.agent.hold import load_hold, store_hold
from agiraph.agent.inbox import EntityInbox, IncomingMessage
from agiraph.agent.loop import PauseSwitch
from agiraph.agent.loop_detection import LoopStuck, LoopWarning, judge_loop
from agiraph.agent.records import CallFinished, ConversationRecord, InputReceived
from agiraph.agent.transcript import RUNTIME_NAME, Transcript
from agiraph.core.ids import (
    COORDINATOR_NAME,
    EVERYBODY,
    HUMAN,
    HUMAN_NAME,
    Address,
    AgentId,
    QuestionId,
    RunId,
    coordinator_address,
    derived_message_id,
)
from agiraph.core.models import ActivityState, DeliveryMode, EntityState, Event
from agiraph.core.specs import ResolvedRunSpec
from agiraph.core.turns import JsonObject, ToolCall
from agiraph.memory.skills import find_skills
from agiraph.messages.question import AskQuestion
from agiraph.models.limits import limits_of
from agiraph.storage.home import RunHome
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.command import forget_commands
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.shell import visible_environment
from transport.endpoint import Received
from transport.errors import Nacked

AT_ONCE_SECONDS = 0.5
KNOWN_WITHIN_SECONDS = 3.0
TRY_AGAIN_SECONDS = 0.05
PAUSE_EVENTS = {
    "paused": ("agent.paused", "worker.paused"),
    "stepped": ("agent.stepped", "worker.stepped"),
    "resumed": ("agent.resumed", "worker.resumed"),
}
"""The pause events of a coordinator and of a worker."""


LOST_CALL = (
    "[interrupted] The record after this call was lost; its outcome is unknown. "
    "Check its effects before you repeat it."
)


@dataclass(eq=False, kw_only=True)
class EntityContext:
    """One coordinator or worker in one run.

    `calls` is the folder in which running calls leave data for the next incarnation, `hold_file`
    stores whether the entity waits for a person. `may_park` returns whether the process could end
    now without losing anything.
    """

    runtime: Runtime
    conversation: Conversation
    inbox: EntityInbox
    agent: AgentId
    name: str
    run: RunId
    model: str
    spec: ResolvedRunSpec
    calls: Path
    pictures: PictureStore
    hold_file: Path
    environment: dict[str, str]
    roster: Roster

    prepare_call: Callable[[ToolCall], Awaitable[None]] | None = None
    """Awaited before each tool call if the files are on another machine."""

    is_external = False
    """Whether an external agent does the work and chooses its steps by itself."""

    def __post_init__(self) -> None:
        self.pause_switch = PauseSwitch()
        self.follow_pause()
        self.conversation.when_added = self._report_notice
        self.limits = limits_of(
            self.model,
            self.runtime.home.path / "providers.yaml",
            self.runtime.config.models.context_tokens,
        )
        self.hold = load_hold(self.hold_file)
        self._hold("" if self.hold.state == "paused" else self.hold.step)
        self.skills = find_skills(self.runtime.home.path, self.spec.input)
        self.may_park: Callable[[], bool] = lambda: False
        self.inbox.take_up = self.runtime.take_up
        self.runtime.on_leaving = self.pause_switch.leave

    @property
    def command_path(self) -> str:
        """The PATH of the entity's commands, outside of a sandbox."""
        return visible_environment(self.environment, self.runtime.config.shell)["PATH"]

    def begin_after_loss(self) -> None:
        """Begin another epoch if the conversation has lost its end; open calls are interrupted.

        The router would ignore a new message whose id a lost step has used already: no answer would
        come.
        """
        attempts, position = self.runtime.attempts, self.transcript.position
        if self.transcript.is_restored or attempts.position_before > position:
            self.runtime.log.warning("the end of the conversation was lost", position=position)
            results = interrupted_calls(self.transcript, LOST_CALL, self.now())
            self.conversation.begin_epoch(*results)
        attempts.position_before = 0
        attempts.position = self.transcript.position
        self.conversation.when_settled = self._note_position

    def _note_position(self) -> None:
        self.runtime.attempts.position = self.transcript.position

    @property
    def transcript(self) -> Transcript:
        """The state that is computed from the entity's conversation."""
        return self.conversation.transcript

    @property
    def run_home(self) -> RunHome:
        return self.runtime.home.agent(self.agent).run(self.run)

    @property
    def scope(self) -> Scope:
        """The files and network that the entity may use now."""
        raise NotImplementedError

    def now(self) -> float:
        return self.runtime.clock.now()

    def message_id(self, key: str, number: int = 0) -> bytes:
        """Return the id of the message `number` that step `key` sends, the same after a crash."""
        return derived_message_id(self.runtime.address, key, number)

    async def send(self, address: Address, body: BaseModel, message: bytes) -> None:
        """Send under this message id; retry while the recipient is unknown. Raises TransportError.

        A recipient that has just been started, or is about to stop, may be unknown for a moment.
        """
        waited = 0.0
        while True:
            try:
                await self.runtime.send(address, body, id=message)
                return
            except Nacked as error:
                if error.reason != "unknown_recipient" or waited >= KNOWN_WITHIN_SECONDS:
                    raise
            await asyncio.sleep(TRY_AGAIN_SECONDS)
            waited += TRY_AGAIN_SECONDS

    def question(
        self, id: QuestionId, text: str, options: tuple[str, ...], **more: Any
    ) -> AskQuestion:
        """Return a question of this entity to the human; `more` are its further fields."""
        return AskQuestion(
            question_id=id,
            agent=self.agent,
            from_name=self.name,
            question=text,
            options=options,
            run=self.run,
            **more,
        )

    def acting(self, role: str, *folders: Path) -> ActingEntity:
        """Return the acting entity and its own folders, for the approval rules."""
        is_sandboxed = find_sandbox(self.runtime.config.sandbox).is_up
        own = [*map(str, folders), *([self.spec.input] if self.spec.input else [])]
        return ActingEntity(self.name, role, tuple(own), is_sandboxed)

    # --- reports ---------------------------------------------------------------------------------

    def report(self, event: str, data: JsonObject, key: str = "", **other: Any) -> None:
        """Report an event to the recorder; reports with the same key are recorded once."""
        self.runtime.report(self.event(event, data, key, **other))

    def event(self, event: str, data: JsonObject, key: str, **other: Any) -> Event:
        """Return an event of this entity, at its current node; `other` are other fields."""
        assignment = self.transcript.assignment
        fields = {
            "ts": self.now(),
            "entity": self.name,
            "run_id": self.run,
            "node_id": assignment.node.id if assignment else None,
            "key": event_key(self.runtime.address, event, key) if key else "",
        }
        return Event(type=event, agent_id=self.agent, data=data, **(fields | other))

    def _report_notice(self, place: str, record: ConversationRecord) -> None:
        if (notice := noticed(record, place)) is not None:
            self.report(*notice.report, ts=notice.ts)

    def replay_events(self) -> None:
        """Report the events of the last records again: the last process may have lost them.

        The recorder ignores events that it has already.
        """
        for replayed in replayed_events(self.conversation.lately(RECORDS_REPLAYED)):
            self.runtime.report(self.event(*replayed.report, ts=replayed.ts))

    def show(self, state: ActivityState, step: str, model: str = "") -> None:
        """Report the current activity to people, and store whether the entity waits for them.

        An entity that is paused while it waits for the human waits again when it is resumed.
        """
        if state == "paused":
            self._hold(self.asks)
            if self.transcript.pause.stepped:
                self.report_pause("paused", f"{self.transcript.pause.stepped}:done")
        else:
            self._hold((step or "asks") if state == "waiting_for_human" else "")
        assignment = self.transcript.assignment
        node = assignment.node.id if assignment else None
        doing = EntityState(state=state, step=step, model=model)
        self.runtime.status(doing, node, run_id=self.run)

    def follow_pause(self) -> None:
        """Pause or resume the loop according to the conversation."""
        if self.transcript.is_paused:
            self.pause_switch.pause()
        else:
            self.pause_switch.resume()

    def report_pause(self, what: Literal["paused", "stepped", "resumed"], key: str) -> None:
        """Report that this entity is paused, does one step, or continues."""
        of_coordinator, of_worker = PAUSE_EVENTS[what]
        is_coordinator = self.runtime.address == coordinator_address(self.agent)
        self.report(of_coordinator if is_coordinator else of_worker, {}, key)

    def show_pause(self) -> None:
        """Report that the entity is paused, or the activity to which it returns after the pause."""
        self._hold(self.asks)
        if self.hold.state:
            self.show(self.hold.state, self.hold.step)
        else:
            self.show("idle", "")

    def _hold(self, asks: str) -> None:
        """Store whether this entity is paused, or waits for the answer to its question `asks`.

        '' means that it has no open question.
        """
        self.asks = asks
        if self.transcript.is_paused:
            held = EntityState(state="paused")
        else:
            held = EntityState(state="waiting_for_human" if asks else "", step=asks)
        held = held.after(self.hold, self.now())
        if held != self.hold:
            self.hold = held
            store_hold(self.hold_file, held)

    # --- the conversation ------------------------------------------------------------------------

    def add_notice(self, text: str, warns_of: Literal["", "time", "bound"] = "") -> None:
        """Append a message of the runtime to the conversation."""
        notice = InputReceived(
            content=text, from_name=RUNTIME_NAME, ts=self.now(), warns_of=warns_of
        )
        self.conversation.append(notice)

    def warn_of_loop(self, end: str, patience: int = 0) -> str:
        """Warn the model if it repeats a call; the warning names `end` as the consequence.

        Returns the reason to give up after the warning and `patience` more repeats, otherwise ''.
        """
        match judge_loop(self.transcript.progress.streak, patience=patience):
            case LoopStuck(reason=reason):
                return reason
            case LoopWarning() as warning:
                self.conversation.append(warning.record(end, self.now()))
        return ""

    def stuck_step(self) -> str:
        """Return the reason why the next step must not be tried again, '' if it may be.

        Call it once in each process: it counts this start.
        """
        attempts = self.runtime.attempts
        if not attempts.is_stuck_at(self.transcript.place):
            return ""
        return f"the same step has ended its process {LIMIT} times: {attempts.last_end}"

    def answer_open_calls(self, why: str) -> None:
        """Give each open call an error as its result, so that the conversation can continue."""
        if results := interrupted_calls(self.transcript, f"[interrupted] {why}", self.now()):
            self.conversation.append(*results)

    def forget_closed_calls(self, but: frozenset[str] = frozenset()) -> None:
        """End the commands and remove the files of every call that has its result."""
        open_calls = {opened.key for opened in self.transcript.open_calls}
        forget_commands(self.calls, but=open_calls | but)

    def enqueue(
        self,
        received: Received,
        from_name: str,
        content: str,
        *,
        mode: DeliveryMode = "steer",
        **more: Any,
    ) -> None:
        """Put a message into the inbox; `more` are further fields of IncomingMessage.

        It waits for the next yield point, and is acknowledged once it is in the conversation.
        """
        self.inbox.put(
            IncomingMessage(
                id=received.header.id.hex(),
                from_name=from_name,
                content=content,
                mode=mode,
                done=lambda: self.runtime.done(received),
                **more,
            )
        )

    async def recipients(self, to: str) -> list[tuple[str, Address]]:
        """Return the names and addresses that `to` refers to, without the entity itself.

        `to` is a worker's name or id, `coordinator`, `human` or `*`. An unknown name gives [].
        """
        named, own = to.strip().lstrip("@"), self.runtime.address
        coordinator = (COORDINATOR_NAME, coordinator_address(self.agent))
        if named.lower() == HUMAN_NAME:
            return [(HUMAN_NAME, HUMAN)]
        if named.lower() == COORDINATOR_NAME:
            found = [coordinator]
        elif named == EVERYBODY:
            found = sorted([*await self.roster.everyone(), coordinator], key=itemgetter(1))
        else:
            address = await self.roster.find_anywhere(named)
            found = [(named, address)] if address else []
        return [(name, address) for name, address in found if address != own]

    # --- waiting ---------------------------------------------------------------------------------

    async def first_of(
        self, *waits: Awaitable[Any], at_once: bool = False
    ) -> list["asyncio.Future[Any]"]:
        """Wait for the first of `waits`; return all futures, the unfinished ones cancelled.

        After `run.park_after_seconds` (0: never) the process parks, if it may and no message would
        start it again at once; after its restart it waits again under the same ids. `at_once`
        shortens this time, because nothing is expected soon. A process does not park before the
        supervisor knows that it is ready: that would count as a failed start. A process that is to
        be moved parks at once. Raises Parking.
        """
        seconds = self.runtime.config.run.park_after_seconds or None
        if at_once and seconds is not None:
            seconds = min(seconds, AT_ONCE_SECONDS)
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(wait) for wait in waits]
        leaving = asyncio.ensure_future(self.pause_switch.leaving.wait())
        try:
            while True:
                done, _ = await asyncio.wait(
                    [*tasks, leaving], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if done - {leaving}:
                    return tasks
                if done or (self.runtime.is_announced and self._may_park()):
                    self.runtime.park()
        finally:
            for task in (*tasks, leaving):
                task.cancel()
            await asyncio.wait([*tasks, leaving])

    def _may_park(self) -> bool:
        return self.may_park() and not self.runtime.endpoint.has_undone

    def park_if_leaving(self) -> None:
        """Raise Parking if the process is to move to another machine and runs no call."""
        is_in_call = any(call.was_started for call in self.transcript.open_calls)
        if self.pause_switch.leaving.is_set() and not is_in_call:
            self.runtime.park()

    def standing_still(self) -> AbstractContextManager[None]:
        """Return a context in which the deadline of the current work, if any, is stopped."""
        return nullcontext()

    @contextmanager
    def waiting_for_human(self, step: str) -> Iterator[None]:
        """Show that the entity waits for the human; no deadline runs inside this block.

        If the process parks or exits in the block, the entity still counts as waiting.
        """
        self.show("waiting_for_human", step)
        with self.standing_still():
            yield
        self._hold("")


def interrupted_calls(transcript: Transcript, why: str, now: float) -> list[CallFinished]:
    """Return an error as the result of each open call."""
    return [
        CallFinished(
            call_id=opened.call.id,
            name=opened.call.name,
            content=why,
            is_error=True,
            ts=now,
        )
        for opened in transcript.open_calls
    ]
