"""Questions to the human and their answers."""

from typing import Literal

from pydantic import Field

from agiraph.api.base import Request, View
from agiraph.ids import AgentId, QuestionId


class Respond(Request):
    """POST /agents/{a}/respond. Without `question_id`: the only open question of that agent."""

    response: str = Field(min_length=1)
    question_id: QuestionId | None = None


class Answer(Request):
    """POST /questions/{id}/respond."""

    response: str = Field(min_length=1)


class QuestionView(View):
    """A question to the human and what became of it. `sender` is the asker's name."""

    id: QuestionId
    agent: AgentId
    agent_name: str = ""
    sender: str = Field(alias="from")
    question: str
    channel: str = "cli"
    asked_at: float
    status: Literal["open", "answered", "withdrawn"] = "open"
    answer: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None
