"""What a caller of the API can run into: a gateway that is away, or one that refuses."""

from agiraph.errors import AgiraphError, Unavailable


class NotReachable(Unavailable):
    """No gateway answers there: no supervisor runs on that home, or it is just restarting."""


class ApiError(AgiraphError):
    """The gateway refused: `status` is the HTTP status, `detail` (also the text) says why."""

    def __init__(self, status: int, detail: str) -> None:
        """Keep the status and the reason."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
