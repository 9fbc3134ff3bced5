"""Decisions: the decision in a role's answer, parsed strictly without guessing.

{"action": "message | finalize", "to_role": "", "message": "", "final_response": ""}
"""

from typing import Any, Final, Literal

from pydantic import field_validator

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record
from agiraph.core.results import json_in

Action = Literal["message", "finalize"]

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "action": {"enum": ["message", "finalize"]},
        "to_role": {"type": ["string", "null"], "description": "the role that acts next"},
        "message": {
            "type": ["string", "null"],
            "description": "information and task for that role",
        },
        "final_response": {"type": ["string", "null"], "description": "only with finalize"},
    },
    "required": ["action"],
}
"""The JSON Schema of a decision."""


class RoleDecision(Record):
    """The decision of a role: a message to another role, or the final response."""

    action: Action
    to_role: str = ""
    message: str = ""
    final_response: str = ""

    @field_validator("to_role", "message", "final_response", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return "" if value is None else value.strip() if isinstance(value, str) else value

    @property
    def said(self) -> str:
        """The text of the decision, from whichever field contains it."""
        if self.action == "finalize":
            return self.final_response or self.message
        return self.message or self.final_response


def decision_of(value: object) -> RoleDecision:
    """Return the decision of a JSON value that fits `SCHEMA`. Raises InvalidInput if it is
    empty.
    """
    decision = RoleDecision.model_validate(value)
    if not decision.said:
        raise InvalidInput("the decision says nothing: its message and final_response are empty")
    return decision


def parse_decision(text: str) -> RoleDecision:
    """Return the only decision in a text: the text itself, fenced, or among other words.

    Raises InvalidInput if there is none, or if several differ.
    """
    return decision_of(json_in(text, SCHEMA))
