"""Base records of all requests, answers and refusals of the HTTP API.

Every refusal is sent as RFC 9457 problem details, `application/problem+json`; `ProblemView` is its
shape.
"""

from typing import Any, ClassVar

from pydantic import ConfigDict

from agiraph.core.record import Record
from agiraph.http.errors import BLANK

KEY_REUSED = "urn:agiraph:problem:key-reused"
"""The same Idempotency-Key was used for another request."""

JsonObject = dict[str, Any]


class ApiRequest(Record):
    """Base of all requests: an unknown field is an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        str_strip_whitespace=True,
        defer_build=False,  # FastAPI reads an unbuilt model as a field without alias
    )


class ApiView(Record):
    """Base of all answers; fields may be filled by their Python name or their JSON name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True
    )


class FieldProblemView(ApiView):
    """The problem of one field of a request; `field` is its path, parts joined by dots."""

    field: str
    detail: str


class ProblemView(ApiView):
    """The reason of a refusal (RFC 9457). `errors` is set if fields of the request are wrong."""

    type: str = BLANK
    title: str
    status: int
    detail: str
    instance: str = ""
    errors: tuple[FieldProblemView, ...] = ()
