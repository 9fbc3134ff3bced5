"""Messages that were set aside because they ended their receiver again and again."""

from pydantic import Field

from agiraph.http.api.base import ApiView


class DeadLetterView(ApiView):
    """A message that ended its receiver again and again and was set aside."""

    id: str
    agent: str
    to: str
    sender: str = Field(alias="from")
    type: str
    cause: str
    at: float
    size: int
