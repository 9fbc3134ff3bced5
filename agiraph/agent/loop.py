"""The loop that coordinator and workers share: yield point, think, act, yield point.

The next action follows from the transcript alone, so a restarted process continues at the same
place: an unanswered call is run or answered, an unanswered message starts a model call. The loop
never reads a clock or a socket; its ports do.

While the process waits for a model or a tool it stays reachable: a message that interrupts cancels
the running call, keeps the partial text, and enters at the next yield point, which is now.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from agiraph.agent.activity import step_of
from agiraph.agent.context_window import is_long
from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import ReplayedEvent, answered, called, returned
from agiraph.agent.inbox import EntityInbox
from agiraph.agent.records import (
    CallFinished,
    CallStarted,
    InputReceived,
    ModelAnswered,
)
from agiraph.agent.transcript import RUNTIME_NAME, OpenCall, Transcript
from agiraph.core.errors import ModelFailure
from agiraph.core.ids import NodeId
from agiraph.core.models import ActivityState
from agiraph.core.turns import (
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolTurn,
    unique_calls,
)
from agiraph.tools.more_tools import called_tool
from agiraph.tools.ports import ToolContext
from agiraph.tools.toolbox import Toolbox

WHY_SHOWN = 300
FROM_HERE = (
    "[Runtime]: From here on the model {model} answers, in place of {asked}, which cannot be asked "
    "now: {why}"
)
AGAIN = "[Runtime]: From here on the model {model} answers again."
TOO_MANY_CALLS = (
    "[Runtime]: Your answer had {count} calls. The first {most} were made, the other {others} were "
    "not: at most {most} calls of one answer are made. Make those that are still needed in your "
    "next answers."
)

T = TypeVar("T")

TOO_LONG = "context_too_long"
BAD_REQUEST = "bad_request"
NOT_APPROVED = "not_approved"

INTERRUPTED_CALL = "[interrupted] This call was cancelled by a message that follows."
UNKNOWN_OUTCOME = (
    "[interrupted] The process died while this call ran; its outcome is unknown. "
    "Check its effects before you repeat it."
)


@dataclass(frozen=True, slots=True)
class CallEffects:
    """The effects of a call besides its result: ended nodes, messages shown (bus ids).

    `human` are the shown texts of the messages that the human wrote; `asked` is a question to the
    human that is still open.
    """

    covers: tuple[NodeId, ...] = ()
    messages: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether an action is permitted: `refusal` is the reason if it is not, else ''.

    `message` is the bus id of the human's answer.
    """

    refusal: str = ""
    message: str | None = None


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """An action that may have to wait for the human's answer.

    `answer` waits for the decision without a time limit; `withdraw` withdraws the question if a
    message arrives first.
    """

    answer: Callable[[], Awaitable[Permission]]
    withdraw: Callable[[], Awaitable[Permission]]


class PartialAnswer:
    """The text of an answer that has streamed in so far; `call` is the id of the model call."""

    def __init__(self) -> None:
        self.call = ""
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def clear(self) -> None:
        """Discard the text: the call is being tried again."""
        self._pieces.clear()

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class PauseSwitch:
    """Whether the entity may continue past its next yield point.

    An entity that is `leaving` (for another host) ends at that yield point, paused or not.
    """

    def __init__(self) -> None:
        self._running = asyncio.Event()
        self._running.set()
        self.leaving = asyncio.Event()

    def leave(self) -> None:
        """Let the entity reach its next yield point, and begin nothing before it."""
        self.leaving.set()
        self._running.set()

    def pause(self) -> None:
        """Stop the entity at its next yield point."""
        if not self.leaving.is_set():
            self._running.clear()

    def resume(self) -> None:
        self._running.set()

    @property
    def is_paused(self) -> bool:
        return not self._running.is_set()

    async def until_resumed(self) -> None:
        await self._running.wait()


class Role(Protocol):
    """The parts of the loop in which coordinators and workers differ."""

    def is_over(self) -> bool:
        """Whether the role's work is over, so that the loop must return."""

    def is_between_works(self) -> bool:
        """Whether messages that wait for the end of the current work may enter now."""

    def tool_context(self, key: str) -> ToolContext:
        """Return the context for a tool that runs as step `key`."""

    def notices(self) -> list[InputReceived]:
        """Return the runtime's messages to the model that are not yet in the conversation."""

    def take_effects(self) -> CallEffects:
        """Return the effects of the last tool call besides its result."""

    async def on_rest(self) -> None:
        """Handle a model's answer without calls: remind the model, end the work, or wait."""

    async def make_room(self, *, was_refused: bool) -> bool:
        """Shorten the conversation if necessary; return whether it was changed.

        `was_refused`: the model refused the conversation as too long. Raises ModelFailure if it
        cannot be made short enough.
        """

    async def on_step_limit(self) -> bool:
        """Check the work's limits before a model call; return False if no call may be made."""


class LoopEntity(Protocol):
    """The parts of an entity that its loop works with: processes have them, tests fake them.

    - `request` returns the next model request; `think` returns its answer and adds streamed text to
      the partial answer, or raises ModelFailure after the last retry.
    - `approval_for` returns the approval needed before a call or (None) a model call; None: none.
    - `calls_per_answer` is the maximum number of calls of one answer.
    - `report` reports an event; reports with the same key are one event.
    - `show` shows the current activity to people.
    - `standing_still` stops the deadline of the current work inside a block.
    """

    conversation: Conversation
    inbox: EntityInbox
    pause_switch: PauseSwitch
    toolbox: Toolbox
    calls_per_answer: int

    def now(self) -> float: ...

    def request(self) -> ModelRequest: ...

    async def think(self, request: ModelRequest, partial: PartialAnswer) -> ModelResponse: ...

    def approval_for(self, opened: OpenCall | None) -> PendingApproval | None: ...

    def report(self, event: str, data: JsonObject, key: str = "") -> None: ...

    def show(self, state: ActivityState, step: str, model: str = "") -> None: ...

    def standing_still(self) -> AbstractContextManager[None]: ...


class AgentLoop:
    """One entity's loop over one conversation."""

    def __init__(self, role: Role, entity: LoopEntity) -> None:
        self._role = role
        self._entity = entity
        self._conversation = entity.conversation
        self._transcript = entity.conversation.transcript
        self._inbox = entity.inbox
        self._pause_switch = entity.pause_switch
        self._begun = ""

    async def run(self) -> None:
        """Run until the role reports that its work is over."""
        while not self._role.is_over():
            await self._yield_point()
            if self._role.is_over():
                return
            if await self._made_room():
                continue
            if self._transcript.open_calls:
                await self._act(self._transcript.open_calls[0])
            elif self._transcript.has_news:
                await self._think()
            else:
                await self._role.on_rest()

    async def _yield_point(self) -> None:
        """Wait while paused, then let the arrived messages into the conversation, in one append."""
        if self._transcript.is_paused:
            self._pause_switch.pause()  # also by the end of a single step
        if self._pause_switch.is_paused:
            self._entity.show("paused", "")
            with self._entity.standing_still():
                await self._pause_switch.until_resumed()
        with_followups = self._role.is_between_works()
        taken = self._inbox.take_into(self._conversation, with_followups=with_followups)
        now = self._entity.now()
        records = [*(incoming.record(now) for incoming in taken), *self._notices()]
        if records:
            self._conversation.append(*records)
        for incoming in taken:
            self._entity.report(*incoming.event)

    def _notices(self) -> list[InputReceived]:
        """Return the role's notices; none during a call, they come after it.

        A `wait` that the next incarnation resumes is not ended by a part of the awaited nodes.
        """
        is_in_call = any(opened.was_started for opened in self._transcript.open_calls)
        return [] if is_in_call else self._role.notices()

    async def _made_room(self) -> bool:
        """Shorten the conversation between two steps if necessary; return whether it changed.

        Also returns True if a message interrupted it.
        """
        if self._transcript.open_calls:
            return False
        made = await self._unless_interrupted(self._role.make_room(was_refused=False))
        return made is not False  # an interrupting message comes first

    # --- think -----------------------------------------------------------------------------------

    async def _think(self) -> None:
        if not await self._role.on_step_limit():
            return
        if (asking := self._entity.approval_for(None)) is not None:
            cleared = await self._unless_interrupted(asking.answer())
            if cleared is None:
                return
            if cleared.refusal:
                raise ModelFailure(NOT_APPROVED, cleared.refusal)
        request = self._entity.request()
        asked_at, partial = self._entity.now(), PartialAnswer()
        try:
            response = await self._unless_interrupted(
                self._entity.think(request, partial),
                once_begun=lambda: self._entity.show(
                    "busy", f"thinking ({request.model})", request.model
                ),
            )
        except ModelFailure as failure:
            # Some services report a conversation that is too long in unknown words.
            may_be_too_long = failure.kind == BAD_REQUEST and is_long(self._transcript.turns)
            if failure.kind != TOO_LONG and not may_be_too_long:
                raise
            await self._unless_interrupted(self._role.make_room(was_refused=True))
            return
        if response is None:
            self._record_partial(partial, request.model)
            return
        said = ModelAnswered(
            text=response.text,
            tool_calls=tuple(
                map(called_tool, response.tool_calls[: self._entity.calls_per_answer])
            ),
            stop_reason=response.stop_reason,
            model=response.model or request.model,
            instead_of=response.instead_of,
            window=response.window,
            usage=response.usage,
            provider_data=response.provider_data,
            call=partial.call,
            asked_at=asked_at,
            ts=self._entity.now(),
        )
        notice = stand_in_notice(self._transcript, response, said)
        place = self._conversation.place(len(notice) + 1)
        calls = unique_calls(said.tool_calls)
        left_out = calls_notice(response, said)
        may_follow = bool(calls) and not said.why_no_call_runs
        following = OpenCall(calls[0], f"{place}.0") if may_follow else None
        self._record(said, following, notice, left_out)
        self._report(answered(said, place))

    def _report(self, event: ReplayedEvent) -> None:
        self._entity.report(*event.report)

    def _record_partial(self, partial: PartialAnswer, model: str) -> None:
        if not partial.text:
            return
        said = ModelAnswered(
            text=partial.text,
            model=model,
            call=partial.call,
            interrupted=True,
            ts=self._entity.now(),
        )
        place = self._conversation.place(1)
        self._conversation.append(said)
        self._report(answered(said, place))

    # --- act -------------------------------------------------------------------------------------

    def _record(
        self,
        record: ModelAnswered | CallFinished,
        following: OpenCall | None,
        before: Sequence[InputReceived] = (),
        after: Sequence[InputReceived] = (),
    ) -> None:
        """Append a record and, if no other record comes between, the start of the next call.

        Both are synced to disk once. Nothing is awaited from here until that call, so no obstacle
        can appear that does not exist now.
        """
        if following is None or not self._may_begin(following):
            self._conversation.append(*before, record, *after)
            return
        self._conversation.append(*before, record, *after, self._start_of(following.call))
        self._begun = following.key

    def _may_begin(self, following: OpenCall) -> bool:
        switch = self._pause_switch
        is_held = switch.is_paused or switch.leaving.is_set() or self._transcript.is_stepping
        is_free = not (is_held or self._inbox.arrived.is_set() or following.was_started)
        is_free = is_free and not following.why_not
        return is_free and self._entity.approval_for(following) is None

    def _start_of(self, call: ToolCall, allowed_by: str | None = None) -> CallStarted:
        now = self._entity.now()
        return CallStarted(call_id=call.id, name=call.name, message=allowed_by, ts=now)

    async def _act(self, opened: OpenCall) -> None:
        if opened.why_not:
            self._finish(opened, _turn(opened, opened.why_not, is_error=True))
            return
        cleared = Permission()
        if not opened.was_started and (asking := self._entity.approval_for(opened)) is not None:
            permission = await self._unless_interrupted(asking.answer())
            cleared = permission or await asking.withdraw()
        if cleared.refusal:
            self._finish(opened, _turn(opened, cleared.refusal, is_error=True))
            return
        call, context = opened.call, self._role.tool_context(opened.key)
        begun, self._begun = self._begun, ""
        may_run = not opened.was_started or self._entity.toolbox.is_idempotent(call.name)
        if may_run or opened.key == begun:
            if not opened.was_started:
                self._conversation.append(self._start_of(call, cleared.message))
            self._report(called(call, opened.key, self._entity.now()))
            work = self._entity.toolbox.run(call, context)
        else:
            work = self._recover(opened, context)
        self._entity.show("busy", step_of(call))
        result = await self._unless_interrupted(work)
        self._finish(opened, result or _turn(opened, INTERRUPTED_CALL, is_error=True))
        self._entity.toolbox.forget(call, context)

    async def _recover(self, opened: OpenCall, context: ToolContext) -> ToolTurn:
        """Return the result that a dead incarnation's call left, or a text that it is unknown."""
        left = await self._entity.toolbox.recover(opened.call, context)
        return left or _turn(opened, UNKNOWN_OUTCOME, is_error=True)

    def _finish(self, opened: OpenCall, result: ToolTurn) -> None:
        effects = self._role.take_effects()
        finished = CallFinished(
            call_id=opened.call.id,
            name=opened.call.name,
            content=result.content,
            is_error=result.is_error,
            covers=effects.covers,
            messages=effects.messages,
            human=effects.human,
            asked=effects.asked,
            pictures=result.pictures,
            ts=self._entity.now(),
        )
        others = [other for other in self._transcript.open_calls if other is not opened]
        self._record(finished, others[0] if others else None)
        self._report(returned(finished, opened.key))

    async def _unless_interrupted(
        self, work: Awaitable[T], once_begun: Callable[[], None] = lambda: None
    ) -> T | None:
        """Return the result of `work`; None if a message interrupted and so cancelled it."""
        task = asyncio.ensure_future(work)
        urgent = asyncio.ensure_future(self._inbox.urgent.wait())
        try:
            await asyncio.sleep(0)
            once_begun()
            await asyncio.wait({task, urgent}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            await _cancelled(task)
            return None
        finally:
            urgent.cancel()
            if not task.done():
                await _cancelled(task)
            _retrieve(task)


async def _cancelled(task: "asyncio.Future[T]") -> None:
    """Cancel a task and wait until it has cleaned up."""
    task.cancel()
    await asyncio.wait({task})


def _retrieve(task: "asyncio.Future[T]") -> None:
    """Retrieve an exception of a task that this loop cancelled; the two may coincide."""
    if task.done() and not task.cancelled():
        task.exception()  # else asyncio logs it as never retrieved


def _turn(opened: OpenCall, content: str, *, is_error: bool) -> ToolTurn:
    return ToolTurn(
        call_id=opened.call.id, name=opened.call.name, content=content, is_error=is_error
    )


def stand_in_notice(
    transcript: Transcript, response: ModelResponse, said: ModelAnswered
) -> tuple[InputReceived, ...]:
    """Return the notice before an answer if its model differs from the last answer's model.

    The notice is appended together with the answer, so there is exactly one notice.
    """
    fallback_used = said.model if said.instead_of else ""
    if fallback_used == transcript.stand_in:
        return ()
    text = FROM_HERE if fallback_used else AGAIN
    why = response.why if len(response.why) <= WHY_SHOWN else response.why[:WHY_SHOWN] + "..."
    content = text.format(model=said.model, asked=said.instead_of, why=why)
    return (InputReceived(content=content, from_name=RUNTIME_NAME, ts=said.ts),)


def calls_notice(response: ModelResponse, said: ModelAnswered) -> tuple[InputReceived, ...]:
    """Return the notice that some calls of an answer are left out; empty if all are made.

    The model reads it after the results of the other calls.
    """
    count, most = len(response.tool_calls), len(said.tool_calls)
    if count == most:
        return ()
    content = TOO_MANY_CALLS.format(count=count, most=most, others=count - most)
    return (InputReceived(content=content, from_name=RUNTIME_NAME, ts=said.ts),)
