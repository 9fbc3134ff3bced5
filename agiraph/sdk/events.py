"""The events of a run's stream: records that differ in `type`, made from the agent's events."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agiraph.core.models import QuestionKind

if TYPE_CHECKING:
    from agiraph.core.models import Event
    from agiraph.sdk.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStart:
    """A worker began on a node; `node_id` is the node's name."""

    node_id: str
    worker: str = ""
    type: Literal["node_start"] = "node_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeComplete:
    """A node was published: `result` is its summary, `files` are paths in its folder."""

    node_id: str
    result: str
    files: tuple[str, ...] = ()
    type: Literal["node_complete"] = "node_complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailed:
    """A node failed; the board or the coordinator may retry it."""

    node_id: str
    reason: str
    type: Literal["node_failed"] = "node_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent:
    """A text from one entity (`coordinator`, a worker, `human`) to another, by name."""

    from_id: str
    to_id: str
    content: str
    type: Literal["message"] = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWritten:
    """The text of a model's answer, without its tool calls."""

    from_id: str
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """The team asks its human; it may also be answered over any other channel.

    `kind` is question, approval or budget; `options` are ready answers.
    """

    question_id: str
    question: str
    from_id: str
    kind: QuestionKind = "question"
    options: tuple[str, ...] = ()
    deliver: Callable[[str, str], None] = field(repr=False, compare=False)
    type: Literal["question"] = "question"

    def answer(self, text: str) -> None:
        """Answer the question. Raises ApiError (status 409) if it was answered already."""
        self.deliver(self.question_id, text)

    async def aanswer(self, text: str) -> None:
        """Answer the question from an event loop. Raises as `answer`."""
        await asyncio.to_thread(self.answer, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlockNoticed:
    """Nodes wait for each other in a cycle; the coordinator is notified and may break it.

    If it does not break the cycle, the run fails: DeadlockError.
    """

    cycle: tuple[str, ...]
    text: str = ""
    type: Literal["deadlock"] = "deadlock"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """The run has begun: the agent of the run, by id and name."""

    agent_id: str
    agent_name: str
    run_id: str
    type: Literal["run_start"] = "run_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The last event: `status` is completed, failed or stopped, `result` the result of the run."""

    status: str
    reason: str
    result: "Result[Any]"
    type: Literal["run_end"] = "run_end"


RunEvent = (
    RunStart
    | NodeStart
    | NodeComplete
    | NodeFailed
    | MessageSent
    | TextWritten
    | QuestionAsked
    | DeadlockNoticed
    | RunEnd
)


def told(event: "Event", deliver: Callable[[str, str], None]) -> RunEvent | None:
    """Return the stream's event for an event of the log, None if there is none.

    `deliver` answers a question: its id, the text.
    """
    data = event.data
    node = str(data.get("name") or event.node_id or "")
    match event.type:
        case "node.started":
            return NodeStart(node_id=node, worker=str(data.get("worker") or ""))
        case "node.completed":
            files = tuple(map(str, data.get("files") or ()))
            return NodeComplete(node_id=node, result=str(data.get("summary") or ""), files=files)
        case "node.failed":
            return NodeFailed(node_id=node, reason=str(data.get("reason") or ""))
        case "message.sent":
            return MessageSent(
                from_id=_name(data, "from"), to_id=_name(data, "to"), content=str(data["content"])
            )
        case "model.answered" if data.get("text"):
            return TextWritten(from_id=event.entity, text=str(data["text"]))
        case "node.deadlock" if not data.get("is_refused"):
            return DeadlockNoticed(cycle=tuple(data["cycle"]), text=str(data.get("text") or ""))
        case "human.question":
            return QuestionAsked(
                question_id=str(data["question_id"]),
                question=str(data["question"]),
                from_id=_name(data, "from"),
                kind=data.get("kind") or "question",
                options=tuple(map(str, data.get("options") or ())),
                deliver=deliver,
            )
    return None


def _name(data: dict[str, Any], end: str) -> str:
    return str(data.get(f"{end}_name") or data.get(end) or "")
