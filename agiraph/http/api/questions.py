"""Questions to the human: what they are answered with, and what became of each."""

from pydantic import AliasChoices, Field

from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import ProposedAction, QuestionKind, QuestionStatus, Urgency
from agiraph.http.api.base import ApiRequest, ApiView


class RespondRequest(ApiRequest):
    """POST /agents/{a}/respond. Without `question_id`: the only open question of that agent.

    `by` is who answers (default: human), `via` the channel (default: api).
    """

    response: str = Field(min_length=1)
    question_id: QuestionId | None = None
    by: str | None = Field(default=None, min_length=1, max_length=80)
    via: str | None = Field(default=None, min_length=1, max_length=40)


class AnswerRequest(ApiRequest):
    """POST /questions/{id}/respond. `response` is another name for `answer`.

    `by` is who answers (default: human), `via` the channel (default: api).
    """

    answer: str = Field(min_length=1, validation_alias=AliasChoices("answer", "response"))
    by: str | None = Field(default=None, min_length=1, max_length=80)
    via: str | None = Field(default=None, min_length=1, max_length=40)


class QuestionView(ApiView):
    """A question to the human and what became of it. `sender` is the asker's name.

    `options` are short ready answers; an approval's are allow once, allow always and deny.
    """

    id: QuestionId
    agent: AgentId
    agent_name: str = ""
    sender: str = Field(alias="from")
    question: str
    channel: str = "cli"
    asked_at: float
    options: tuple[str, ...] = ()
    deadline_at: float | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    kind: QuestionKind = "question"
    about: ProposedAction | None = None
    status: QuestionStatus = "open"
    answer: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None
    answered_via: str | None = None
