"""Errors of calls to the HTTP API. Imports no records, so that the command line starts fast."""

from agiraph.core.errors import AgiraphError, Unavailable

CONFLICT = 409
TOO_LARGE = 413
UNPROCESSABLE = 422
UNAVAILABLE = 503
TOO_LATE = 504

BLANK = "about:blank"
"""The type of a problem that is described by its status alone."""

AMBIGUOUS = "urn:agiraph:problem:ambiguous"
"""Several entities have this name; the detail lists them."""

IS_EXTRA = "is_extra_connection"
"""The key in an ASGI scope's `state` that is true on a connection beyond the server's limit."""


class NotReachable(Unavailable):
    """No gateway answers: no supervisor runs on that home, or the gateway is restarting."""


class UrlUnreachable(NotReachable):
    """No gateway answers at a URL, which may be on another machine."""


class GatewayAway(NotReachable):
    """A supervisor holds the home, but its gateway does not answer: it starts, ended, or hangs."""


class ApiError(AgiraphError):
    """The gateway refused: `status` is the HTTP status, `detail` (also the text) the reason.

    `type` is a URI by which a program can distinguish problems with the same status.
    """

    def __init__(self, status: int, detail: str, type: str = BLANK) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.type = type
