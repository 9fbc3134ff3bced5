"""Talking with an agent's entities: what is sent, and the thread that comes of it."""

from pydantic import AliasChoices, Field

from agiraph.core.ids import AgentId
from agiraph.core.models import DeliveryMode
from agiraph.http.api.base import ApiRequest, ApiView


class SendTextRequest(ApiRequest):
    """POST /agents/{a}/send. `to` is a worker's name or id, `coordinator` (default) or `*`.

    `content` is another name for `message`.

    `in_reply_to` is the id (or its beginning) of the message in the thread that this one answers;
    it then goes to who wrote that. Without it, what is written to somebody answers the last they
    wrote, if that is not answered yet.
    """

    message: str = Field(min_length=1, validation_alias=AliasChoices("message", "content"))
    to: str | None = None
    mode: DeliveryMode = "steer"
    in_reply_to: str | None = Field(default=None, min_length=4, max_length=64)


class NudgeRequest(ApiRequest):
    """POST /agents/{a}/nudge: an instruction for the coordinator at its next yield point."""

    message: str = Field(min_length=1)


class SentView(ApiView):
    """POST send and nudge: the router has journaled one message to each of `to` (their names)."""

    id: str
    to: tuple[str, ...]
    ts: float


class ConversationMessageView(ApiView):
    """One entry of the thread between a person and an agent's entities.

    `seq` is its cursor. `kind`: text, nudge, question, answer, or notice (from the machinery).
    `in_reply_to` is the id of the message that it answers.
    """

    seq: int
    id: str
    agent: str
    sender: str = Field(alias="from")
    to: str
    content: str
    ts: float
    kind: str = "text"
    question_id: str | None = None
    in_reply_to: str | None = None


class ConversationPageView(ApiView):
    """A stretch of the thread, oldest first.

    `next` is the cursor (`after`) for the following one, `previous` that (`before`) for the one
    before; None if nothing stands before it.
    """

    messages: tuple[ConversationMessageView, ...]
    next: int
    previous: int | None = None


class MarkReadRequest(ApiRequest):
    """POST /agents/{a}/read: the person has read the conversation up to `seq`, by default all."""

    seq: int | None = Field(default=None, ge=0, le=2**53)


class InboxView(ApiView):
    """An agent's messages to the person: `read_to` is the `seq` of the last one that was read.

    `unread` counts those after it, `by_entity` the same by the name of who sent them.
    """

    agent: AgentId
    agent_name: str
    read_to: int
    unread: int
    by_entity: dict[str, int] = Field(default_factory=dict)


class MessageView(ApiView):
    """One text between two entities, as the run's message log keeps it (names, not addresses)."""

    seq: int
    id: str
    sender: str = Field(alias="from")
    to: str
    content: str
    ts: float
    in_reply_to: str | None = None
