"""What a caller of the API can run into: a gateway that is away, or one that refuses.

Every refusal comes as RFC 9457 problem details, `application/problem+json`; `ProblemView` is its
shape.
"""

from agiraph.core.errors import AgiraphError, Unavailable
from agiraph.http.api.base import ApiView

BLANK = "about:blank"
"""The type of a problem that says no more than its status does."""

KEY_REUSED = "urn:agiraph:problem:key-reused"
"""An Idempotency-Key came again with another request."""


class NotReachable(Unavailable):
    """No gateway answers there: no supervisor runs on that home, or it is just restarting."""


class GatewayAway(NotReachable):
    """A supervisor holds the home, but its gateway does not answer: it starts, ended, or hangs."""


class ApiError(AgiraphError):
    """The gateway refused: `status` is the HTTP status, `detail` (also the text) says why.

    `type` is a URI that a program can tell problems of one status apart by.
    """

    def __init__(self, status: int, detail: str, type: str = BLANK) -> None:
        """Keep the status and the reason."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.type = type


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
