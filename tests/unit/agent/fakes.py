"""Fakes of the agent loop: a model with the test's answers, and an entity that only listens."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox, IncomingMessage
from agiraph.agent.loop import AgentLoop, CallEffects, PartialAnswer, PauseSwitch, PendingApproval
from agiraph.agent.records import InputReceived, StateChanged
from agiraph.agent.transcript import OpenCall
from agiraph.core.clock import SystemClock
from agiraph.core.ids import WorkerId
from agiraph.core.models import DeliveryMode
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, ToolCall
from agiraph.settings.config import load_config
from agiraph.storage.home import AgentHome, RunHome
from agiraph.tools.base import CallRecovery, Tool, ToolParams
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.ports import Team, ToolContext
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox


def says(text: str | None = None, *calls: ToolCall) -> ModelResponse:
    """Return a model's answer."""
    return ModelResponse(
        text=text, tool_calls=calls, stop_reason="tool_use" if calls else "end_turn"
    )


def call(name: str, id: str = "c1", **arguments: Any) -> ToolCall:
    """Return a tool call."""
    return ToolCall(id=id, name=name, arguments=arguments)


def incoming(
    content: str,
    mode: DeliveryMode = "steer",
    id: str = "m1",
    done: Callable[[], None] | None = None,
) -> IncomingMessage:
    """Return a message on its way in."""
    return IncomingMessage(
        id=id, from_name="bob", content=content, mode=mode, done=done or (lambda: None)
    )


class ScriptedModel:
    """Gives its answers one after the other; `gate`, if set, holds every answer back."""

    def __init__(self, answers: Iterable[ModelResponse]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()
        self.gate: asyncio.Event | None = None

    async def think(self, request: ModelRequest, partial: PartialAnswer) -> ModelResponse:
        self.requests.append(request)
        self.asked.set()
        answer = self.answers[len(self.requests) - 1]
        if answer.text:
            partial.add(answer.text)
        if self.gate is not None:
            await self.gate.wait()
        return answer


class WordArguments(ToolParams):
    """The arguments of the fake tools."""

    word: str = ""


class FakeTools:
    """Tools `note` (not idempotent), `peek` (idempotent), `hang` (until cancelled) and `keep`.

    `keep` is not idempotent either, but `left` is its result after a crash.
    """

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.hanging = asyncio.Event()
        self.was_cancelled = False
        self.left: str | None = None
        self.forgotten: list[str] = []

    def toolbox(self) -> Toolbox:
        def tool(name: str, run: Any, idempotent: bool) -> Tool[WordArguments]:
            return Tool(
                name=name, description=name, params=WordArguments, run=run, idempotent=idempotent
            )

        async def note(context: ToolContext, params: WordArguments) -> str:
            self.ran.append(f"{context.call_id}:{params.word}")
            return f"noted {params.word}"

        async def hang(context: ToolContext, params: WordArguments) -> str:
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.was_cancelled = True
            return "never"

        async def recover(context: ToolContext, params: WordArguments) -> str | None:
            return self.left or await hang(context, params)

        def forget(context: ToolContext) -> None:
            self.forgotten.append(context.call_id)

        keep = replace(tool("keep", note, False), recovery=CallRecovery(recover, forget))
        return Toolbox(
            [tool("note", note, False), tool("peek", note, True), tool("hang", hang, False), keep]
        )


class FakeEntity:
    """Counts, listens, and says it is over when the model has been silent once."""

    def __init__(self, folder: Path, mind: ScriptedModel, toolbox: Toolbox) -> None:
        self.folder = folder
        self.conversation = Conversation(folder / "conversation.jsonl")
        self.inbox = EntityInbox()
        self.pause_switch = PauseSwitch()
        self.calls_per_answer = 128
        self.toolbox = toolbox
        self.think = mind.think
        self.now = SystemClock().now
        self.events: list[str] = []
        self.pending_notices: list[InputReceived] = []
        self.asking: Callable[[OpenCall | None], PendingApproval | None] = lambda _opened: None

    def is_over(self) -> bool:
        return (
            self.conversation.transcript.progress.silences > 0
            and not self.conversation.transcript.has_news
        )

    def is_between_works(self) -> bool:
        return not self.conversation.transcript.turns

    def request(self) -> ModelRequest:
        turns = tuple(self.conversation.transcript.turns)
        return ModelRequest(model="fake/one", system="s", turns=turns)

    def tool_context(self, key: str) -> ToolContext:
        scope = Scope.for_worker(
            AgentHome(self.folder), RunHome(self.folder / "run"), WorkerId("w"), None, None
        )
        calls, pictures = self.folder / ".calls", PictureStore(self.folder / ".pictures").add
        return ToolContext("worker", key, scope, load_config(), Team(), {}, calls, pictures)

    def approval_for(self, opened: OpenCall | None) -> PendingApproval | None:
        return self.asking(opened)

    def notices(self) -> list[InputReceived]:
        told, self.pending_notices = self.pending_notices, []
        return told

    def take_effects(self) -> CallEffects:
        return CallEffects()

    async def on_rest(self) -> None:
        raise AssertionError("is_over should have ended the loop")

    async def make_room(self, *, was_refused: bool) -> bool:
        return False

    async def on_step_limit(self) -> bool:
        return True

    def report(self, event: str, data: JsonObject, key: str = "") -> None:
        self.events.append(event)

    def show(self, state: str, step: str, model: str = "") -> None:
        pass

    def standing_still(self) -> AbstractContextManager[None]:
        return nullcontext()


class LoopHarness:
    """Everything one loop needs, in one folder; `again()` is the same after a crash."""

    def __init__(self, folder: Path, *answers: ModelResponse) -> None:
        self.folder = folder
        self.mind = ScriptedModel(answers)
        self.tools = FakeTools()
        self.entity = FakeEntity(folder, self.mind, self.tools.toolbox())
        self.conversation, self.inbox = self.entity.conversation, self.entity.inbox
        self.loop = AgentLoop(self.entity, self.entity)

    def hear(self, text: str) -> None:
        self.conversation.append(InputReceived(content=text, from_name="test", ts=0.0))

    def note(self, what: Literal["paused", "stepped", "resumed"]) -> None:
        self.conversation.append(StateChanged(what=what, ts=0.0))

    def contents(self) -> list[str]:
        """The conversation, a line a turn."""
        return [_line(turn) for turn in self.conversation.transcript.turns]


def _line(turn: Any) -> str:
    if turn.role == "assistant":
        calls = ",".join(call.name for call in turn.tool_calls)
        return f"assistant: {turn.text or ''}{f' [{calls}]' if calls else ''}"
    return f"{turn.role}: {turn.content}"
