"""Conversations with an agent's entities: texts, transcripts, questions, approvals."""

from typing import Literal

from pydantic import AliasChoices, Field

from agiraph.core.ids import AgentId, QuestionId, RunId
from agiraph.core.models import DeliveryMode, QuestionFacts
from agiraph.core.turns import ToolCall, Usage
from agiraph.http.api.base import ApiRequest, ApiView, JsonObject
from agiraph.http.api.work import EventView


class SendTextRequest(ApiRequest):
    """POST /agents/{a}/send. `to` is a worker's name or id, `coordinator` (default) or `*`.

    `content` is another name for `message`.

    `in_reply_to` is the id (or its beginning) of the message in the thread that this text answers;
    it is then sent to that message's author. Without it, a text to a single receiver answers the
    receiver's last message, if that is not answered yet.

    `attachments` are the paths of attached files: a line with their names is added to the text.
    """

    message: str = Field(min_length=1, validation_alias=AliasChoices("message", "content"))
    to: str | None = None
    mode: DeliveryMode = "steer"
    in_reply_to: str | None = Field(default=None, min_length=4, max_length=64)
    attachments: tuple[str, ...] = Field(default=(), max_length=20)


class NudgeRequest(ApiRequest):
    """POST /agents/{a}/nudge: an instruction for the coordinator at its next yield point."""

    message: str = Field(min_length=1)


class SentView(ApiView):
    """POST send and nudge: the router has journaled one message to each of `to` (names)."""

    id: str
    to: tuple[str, ...]
    ts: float


class MessageView(ApiView):
    """One text between two entities, from the run's message log (names, not addresses).

    `copy_of`: the text was sent to several entities, each with a message; this is the id of the
    first.
    """

    seq: int
    id: str
    sender: str = Field(alias="from")
    to: str
    content: str
    ts: float
    in_reply_to: str | None = None
    copy_of: str | None = None


class ConversationMessageView(MessageView):
    """One entry of the thread between a person and an agent's entities.

    `seq` is its cursor. `kind`: text, nudge, question, answer, or notice (from Agiraph itself).
    `in_reply_to` is the id of the message that it answers.
    """

    agent: str
    kind: str = "text"
    question_id: str | None = None


class ConversationPageView(ApiView):
    """A page of the thread, oldest first.

    `next` is the cursor (`after`) of the following page, `previous` the cursor (`before`) of the
    preceding page; None if there is none.
    """

    messages: tuple[ConversationMessageView, ...]
    next: int
    previous: int | None = None


class MarkReadRequest(ApiRequest):
    """POST /agents/{a}/read: the person has read the conversation up to `seq`, by default all.

    With `entity`, a name or an id: only the messages of that entity.
    """

    seq: int | None = Field(default=None, ge=0, le=2**53)
    entity: str | None = None


class InboxView(ApiView):
    """An agent's messages to the person: all up to the `seq` `read_to` are read.

    `read_with` contains, by entity name, the `seq` up to which that entity's messages are read, if
    it is greater. `unread` counts the unread messages, `by_entity` the same by sender.
    """

    agent: AgentId
    agent_name: str
    read_to: int
    read_with: dict[str, int] = Field(default_factory=dict)
    unread: int
    by_entity: dict[str, int] = Field(default_factory=dict)


class TranscriptEntryView(ApiView):
    """One record of an entity's conversation; `kind` determines which fields are set.

    heard: text from `sender`, the message `message`. said: the model's text and `tool_calls`; a
    coordinator sends a text without calls to the person as the message `message`. tool.started,
    tool.finished: the call `call_id` of the tool `name` with its `arguments`; `content` is its
    whole result as sent to the model. `exit_code` is a command's exit code (below 0: the signal
    that ended it). Other kinds are the runtime's. Records of steps with a duration have
    `started_at` and `seconds`.
    """

    seq: int
    kind: str
    ts: float = 0.0
    role: str = ""
    sender: str = Field(default="", alias="from")
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    message: str | None = None
    call_id: str = ""
    name: str = ""
    is_error: bool = False
    interrupted: bool = False
    model: str = ""
    usage: Usage | None = None
    arguments: JsonObject | None = None
    started_at: float | None = None
    seconds: float | None = None
    exit_code: int | None = None


class TranscriptPageView(ApiView):
    """A page of a conversation, oldest first; cursors as in `ConversationPageView`."""

    entries: tuple[TranscriptEntryView, ...]
    next: int
    previous: int | None = None


ThreadKind = Literal[
    "message", "nudge", "question", "answer", "said", "tool", "retry", "result", "note"
]


class ThreadCallView(ApiView):
    """A tool call; `title` shows it in one line.

    `malformed` is the text of the arguments if it is not a JSON object. `output` is the beginning
    of its result, which has `characters` characters in total. The whole result is in the transcript
    of the entity, under the `step` of the call.
    """

    step: str = ""
    name: str
    title: str
    arguments: JsonObject | None = None
    malformed: str | None = None
    outcome: Literal["running", "done", "failed"]
    output: str = ""
    characters: int | None = None
    exit_code: int | None = None
    ended_at: float | None = None


class ThreadEntryView(ApiView):
    """One entry of the thread with an agent; it replaces an earlier entry with the same `id`.

    message, nudge, question, answer: `content` from `sender` to all of `to`. said: a model's answer
    that is not (yet) a message. tool: the `call`. retry: a model call is retried. result: a run
    began or ended. note: another event; these last three kinds have the `event`.

    `seq` is the position of the entry, `changed` the event that last changed it, and the cursor
    after it. `about` are the names of related entities and nodes, `answer` is the id under which
    the text was streamed. `number` is the `seq` of the entry in the person's inbox.
    """

    id: str
    seq: int
    changed: int
    ts: float
    kind: ThreadKind
    sender: str = Field(alias="from")
    to: tuple[str, ...] = ()
    content: str = ""
    about: tuple[str, ...] = ()
    run: RunId | None = None
    in_reply_to: str | None = None
    question_id: str | None = None
    answer: str | None = None
    is_interrupted: bool = False
    number: int | None = None
    call: ThreadCallView | None = None
    event: EventView | None = None


class ThreadPageView(ApiView):
    """A page of the thread in order; cursors as in `ConversationPageView`.

    With `next` as `after`, the following call returns the entries that have changed since.
    """

    entries: tuple[ThreadEntryView, ...]
    next: int
    previous: int | None = None


class AnswererRequest(ApiRequest):
    """The answerer (`by`, default: human) and the channel (`via`, default: api)."""

    by: str | None = Field(default=None, min_length=1, max_length=80)
    via: str | None = Field(default=None, min_length=1, max_length=40)


class RespondRequest(AnswererRequest):
    """POST /agents/{a}/respond. Without `question_id`: the only open question of that agent."""

    response: str = Field(min_length=1)
    question_id: QuestionId | None = None


class AnswerRequest(AnswererRequest):
    """POST /questions/{id}/respond. `response` is another name for `answer`."""

    answer: str = Field(min_length=1, validation_alias=AliasChoices("answer", "response"))


class ChoiceView(ApiView):
    """A ready answer: `key` is its number among the `options`; either of them may be sent."""

    key: str
    answer: str


class QuestionView(QuestionFacts, ApiView):
    """A question to the person and its outcome. `sender` is the asker's name.

    `options` are short ready answers; for an approval: allow once, allow always and deny. `choices`
    are the same with their keys. For an approval, `about` has the action and the rule that requires
    it: `command` is the command to run, `diff` the change to a file.
    """

    agent_name: str = ""
    choices: tuple[ChoiceView, ...] = ()
    command: str | None = None
    diff: str | None = None
    sender: str = Field(alias="from")


class ApprovalView(ApiView):
    """A permission of "allow always": this agent's calls of `tool` that match `pattern` (a glob).

    `id` is the id of the answered question; `rule` the rule of approvals.yaml that required it.
    """

    id: QuestionId
    agent: AgentId
    agent_name: str = ""
    tool: str
    pattern: str
    rule: str = ""
    by: str = ""
    via: str = ""
    at: float


class DeadLetterView(ApiView):
    """A message that repeatedly crashed its receiver and was set aside."""

    id: str
    agent: str
    to: str
    sender: str = Field(alias="from")
    type: str
    cause: str
    at: float
    size: int
