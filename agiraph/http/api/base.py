"""What all requests, answers and refusals of the HTTP API have in common.

Every refusal comes as RFC 9457 problem details, `application/problem+json`; `ProblemView` is its
shape.
"""

from typing import Any, ClassVar

from pydantic import ConfigDict

from agiraph.core.record import Record
from agiraph.http.errors import BLANK

KEY_REUSED = "urn:agiraph:problem:key-reused"
"""An Idempotency-Key came again with another request."""

JsonObject = dict[str, Any]


class ApiRequest(Record):
    """Base of all requests: an unknown field is an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        str_strip_whitespace=True,
        defer_build=False,  # FastAPI takes a body that is not built for a field without an alias
    )


class ApiView(Record):
    """Base of all answers; fields may be filled by their Python name or their JSON name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True
    )


class FieldProblemView(ApiView):
    """What is wrong with one field of a request; `field` is its place, parts joined by dots."""

    field: str
    detail: str


class ProblemView(ApiView):
    """Why a request was refused (RFC 9457). `errors` is there where fields of it were wrong."""

    type: str = BLANK
    title: str
    status: int
    detail: str
    instance: str = ""
    errors: tuple[FieldProblemView, ...] = ()
