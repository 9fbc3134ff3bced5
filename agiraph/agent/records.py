"""The records of a conversation's journal: received input, answers, calls, results, endings."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from agiraph.core.ids import NodeId, RunId, message_id
from agiraph.core.models import Assignment
from agiraph.core.record import Record, union_adapter
from agiraph.core.specs import ResolvedRunSpec
from agiraph.core.turns import JsonObject, Picture, StopReason, ToolCall, ToolTurn, Turn, Usage


class InputReceived(Record):
    """Text that entered the conversation: from a person, an entity or the runtime.

    `message` is the bus id of the message that brought it, `board_seq` the last board event that it
    reports, `trigger` the trigger that fired it, `answers` the question to the human that it
    settles. `warns_of`: it warns that the node's time or another limit is near; an external agent
    that has ended is not started again for such a message. `assignment`: the changed assignment,
    which applies from here on. `covers` are the nodes of whose end it tells.
    """

    kind: Literal["heard"] = "heard"
    role: Literal["user"] = "user"
    content: str
    from_name: str
    ts: float
    message: str | None = None
    board_seq: int | None = None
    trigger: str | None = None
    answers: str | None = None
    warns_of: Literal["", "time", "bound"] = ""
    assignment: Assignment | None = None
    covers: tuple[NodeId, ...] = ()


CUT_CALL = (
    "This call was not carried out: your answer was cut off after {tokens} tokens, the most that "
    "one answer may have, so the call may lack its end. Write less in one answer: a long file in "
    "several pieces, each with a call of its own."
)
REFUSED_CALL = (
    "This call was not carried out: the model service ended your answer by its content filter, so "
    "the call may lack its end."
)


class ModelAnswered(Record):
    """One answer of the model. `interrupted`: it was cancelled, and this is the received part.

    `window` is the context window of the model that answered, in tokens; `asked_at` the time of the
    call; `instead_of` the model that it replaced. `message` is the id (in hexadecimal) of the
    message to the human that an answer without calls becomes when a coordinator forwards it, `call`
    the id of the model call, by which its text was streamed.
    """

    kind: Literal["said"] = "said"
    role: Literal["assistant"] = "assistant"
    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: StopReason = "end_turn"
    model: str = ""
    instead_of: str = ""
    message: str = Field(default_factory=lambda: message_id().hex())
    call: str = ""
    window: int | None = None
    usage: Usage = Usage()
    provider_data: JsonObject | None = None
    interrupted: bool = False
    asked_at: float | None = None
    ts: float

    @property
    def why_no_call_runs(self) -> str:
        """The reason why none of its calls may run, in words for the model; "" if they may."""
        if self.stop_reason == "max_tokens":
            return CUT_CALL.format(tokens=self.usage.output_tokens or "its limit of")
        return REFUSED_CALL if self.stop_reason == "refusal" else ""


class CallStarted(Record):
    """A tool is about to run. `message` is the bus id of the human's answer that allowed it."""

    kind: Literal["tool.started"] = "tool.started"
    call_id: str
    name: str
    message: str | None = None
    ts: float


class CallFinished(Record):
    """A tool's outcome.

    `covers` are the nodes whose end this result has shown to the model, `messages` the bus ids of
    the messages that it shows, `human` the shown texts of the human's messages among them, `asked`
    a question to the human whose answer will arrive as a message. `pictures` are in the entity's
    `PictureStore`.
    """

    kind: Literal["tool.finished"] = "tool.finished"
    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    is_error: bool = False
    covers: tuple[NodeId, ...] = ()
    messages: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    asked: str | None = None
    pictures: tuple[Picture, ...] = ()
    ts: float

    @property
    def turn(self) -> ToolTurn:
        """The outcome as the model is shown it."""
        return ToolTurn(
            call_id=self.call_id,
            name=self.name,
            content=self.content,
            is_error=self.is_error,
            pictures=self.pictures,
        )


class AssignmentTaken(Record):
    """A worker began a node; `content` is the assignment as it is shown to the model.

    `outside`: an external agent works on it.
    """

    kind: Literal["assigned"] = "assigned"
    role: Literal["user"] = "user"
    content: str
    run: RunId
    assignment: Assignment
    message: str
    outside: bool = False
    ts: float


class LimitReached(Record):
    """The worker was warned that its next turn on the node is the last; `bound` names the limit."""

    kind: Literal["bound.reached"] = "bound.reached"
    role: Literal["user"] = "user"
    bound: str
    why: str
    content: str
    ts: float


class LoopDetected(Record):
    """An entity was warned that it repeats the same `call`: `count` times so far."""

    kind: Literal["loop.seen"] = "loop.seen"
    role: Literal["user"] = "user"
    count: int
    call: str
    content: str
    ts: float


class MemoryFlushStarted(Record):
    """The context is nearly full: the model was asked to save important information."""

    kind: Literal["flush.began"] = "flush.began"
    role: Literal["user"] = "user"
    content: str
    ts: float


class ConversationCompacted(Record):
    """A new conversation begins: `turns` replace all earlier turns.

    The earlier records stay above this record in the journal. `summary` is the model's own, "" if
    there is none; `digest` has a line for each event since the conversation's beginning that is no
    longer among the turns. Tokens are estimates of the text shown to the model. `window` is the
    model's context window, if it was learned from a refusal; `scale` is the factor of estimates.
    """

    kind: Literal["compacted"] = "compacted"
    turns: tuple[Turn, ...]
    summary: str = ""
    digest: tuple[str, ...] = ()
    cause: Literal["full", "refused"]
    tokens_before: int
    tokens_after: int
    window: int | None = None
    scale: float = 1.0
    usage: Usage = Usage()
    ts: float


class AnswerPublished(Record):
    """A worker without tools has published its answer, and its node is complete."""

    kind: Literal["published"] = "published"
    summary: str
    ts: float


class ExternalAgentStarted(Record):
    """An external agent is about to be started, for the `number`th time on this node.

    `session` is the conversation that it resumes, '' if it begins a new one.
    """

    kind: Literal["outside.began"] = "outside.began"
    number: int
    agent: str
    session: str = ""
    ts: float


class ExternalSessionKnown(Record):
    """The external agent reported the id by which its conversation can be resumed.

    `is_anew`: the session that it should have resumed is lost, and this is a new session.
    """

    kind: Literal["outside.session"] = "outside.session"
    session: str
    is_anew: bool = False
    ts: float


class ExternalMessageSent(Record):
    """A message of the external agent was sent to others; `key` is `outbox.Outgoing.key`.

    `asked` is the id of the question to the human, if the message was a question, `question` its
    text.
    """

    kind: Literal["outside.sent"] = "outside.sent"
    key: str
    to: str
    asked: str | None = None
    question: str = ""
    ts: float


class ExternalPermissionAsked(Record):
    """The external agent requests a permission; `key` names the request."""

    kind: Literal["outside.asked"] = "outside.asked"
    key: str
    ts: float


class ExternalPermissionDecided(Record):
    """The request is decided; `message` is the bus id of the human's answer.

    None if the human was not asked.
    """

    kind: Literal["outside.allowed"] = "outside.allowed"
    key: str
    message: str | None = None
    ts: float


class ExternalAgentEnded(Record):
    """The external agent's process has ended. `problem` is the reason of a failure, else ''.

    `result` is its result, if it reported one: then the node is to be published. `goes_on`: it is
    to be started again with the messages received meanwhile. `told`: how many of the messages to it
    have reached it; `has_spoken`: it has produced any output. `usage` is the usage of this start:
    as metered by the LLM proxy, or as reported by the agent if it uses its own account.
    `is_excused`: it ended for lack of budget, which does not count as its failure.
    """

    kind: Literal["outside.ended"] = "outside.ended"
    number: int
    problem: str = ""
    result: str | None = None
    goes_on: bool = False
    told: int = 0
    has_spoken: bool = False
    usage: Usage = Usage()
    is_excused: bool = False
    ts: float


class NodeClosed(Record):
    """A worker's node has ended with `status`."""

    kind: Literal["node.closed"] = "node.closed"
    node_id: NodeId
    status: Literal["completed", "failed", "cancelled"]
    reason: str = ""
    message: str | None = None
    ts: float


class EndedNode(NamedTuple):
    """The last node of a worker: its assignment and its end."""

    assignment: Assignment
    end: NodeClosed


class RunBegan(ResolvedRunSpec):
    """The agent was given another goal: the following records belong to a new run and board.

    `content` is the goal as shown to the model, `message` the bus id of the message that brought
    it.
    """

    kind: Literal["run.began"] = "run.began"
    role: Literal["user"] = "user"
    content: str
    run: RunId
    cause: str = ""
    message: str
    ts: float


class PlanMade(Record):
    """The plan of the run, made before its first step, is to be followed: `text`, a plan file."""

    kind: Literal["plan.made"] = "plan.made"
    text: str
    ts: float


class StepQuarantined(Record):
    """A coordinator's step that repeatedly ended its process is not tried again."""

    kind: Literal["step.quarantined"] = "step.quarantined"
    reason: str
    ts: float


NO_STEPS: Final = ("away", "restored")


class StateChanged(Record):
    """A change of the entity's state that is not shown to the model.

    `message` is the bus id of the message that caused it, `answers` the question whose outcome it
    is. `stepped`: a paused entity does one step, after which it is paused again. `away`: there was
    no process for a long time; `restored`: the following records were lost. `away` and `restored`
    are not steps: the steps before and after them are numbered as if they did not exist.
    """

    kind: Literal["noted"] = "noted"
    what: Literal["paused", "stepped", "resumed", "dropped", "away", "restored"]
    message: str = ""
    answers: str = ""
    ts: float

    @property
    def is_step(self) -> bool:
        return self.what not in NO_STEPS


class ConversationEpochBegan(Record):
    """The ids of the steps from here on contain another `epoch`, `after` the last one; no step.

    It is the first record of a journal, and the first record after the journal's end was lost
    (`restored`), so that a position that is counted a second time leads to other ids.
    """

    kind: Literal["epoch.began"] = "epoch.began"
    epoch: str
    after: str = ""
    ts: float


ExternalAgentRecord = (
    ExternalAgentStarted
    | ExternalSessionKnown
    | ExternalMessageSent
    | ExternalPermissionAsked
    | ExternalPermissionDecided
    | ExternalAgentEnded
)
ConversationRecord = Annotated[
    InputReceived
    | ModelAnswered
    | CallStarted
    | CallFinished
    | AssignmentTaken
    | LimitReached
    | LoopDetected
    | MemoryFlushStarted
    | ConversationCompacted
    | AnswerPublished
    | ExternalAgentRecord
    | NodeClosed
    | RunBegan
    | PlanMade
    | StepQuarantined
    | StateChanged
    | ConversationEpochBegan,
    Field(discriminator="kind"),
]

RECORD: TypeAdapter[ConversationRecord] = union_adapter(ConversationRecord)


def numbered_steps(records: Iterable[JsonObject]) -> Iterator[tuple[int, str, int]]:
    """Yield the index of each step among the records of a whole journal, its epoch and position.

    `agiraph.core.ids.step_place` builds the name of a step from epoch and position.
    """
    epoch, position = "", 0
    for index, record in enumerate(records):
        kind = record.get("kind")
        if kind == "epoch.began":
            epoch = str(record.get("epoch", ""))
        elif kind != "noted" or record.get("what") not in NO_STEPS:
            position += 1
            yield index, epoch, position
