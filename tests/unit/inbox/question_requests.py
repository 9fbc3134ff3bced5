"""A question of the entity Ada of the agent shop-1, as tests of the gateway's stores ask it."""

from typing import Any

from agiraph.core.ids import AgentId, QuestionId
from agiraph.messages.question import AskQuestion

ADA = "shop-1/ada-1"
BOB = "shop-1/bob-1"


def asking(id: str = "q1", agent: str = "shop-1", **more: Any) -> AskQuestion:
    """Return the message that asks it."""
    return AskQuestion(
        **{
            "question_id": QuestionId(id),
            "agent": AgentId(agent),
            "from_name": "Ada",
            "question": "Which?",
        }
        | more
    )
