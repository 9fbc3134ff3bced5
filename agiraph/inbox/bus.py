"""Bus: the calls of the API and the inbox to the other processes of a home.

The human gateway implements it over its endpoint (`actors/gateway/bus.py`); for a home without
processes, `agiraph/api/offline/stored_services.py` answers from files.
"""

from typing import Any, Final, Protocol, TypeVar

from pydantic import BaseModel

from agiraph.core.clock import Clock
from agiraph.core.models import Event
from agiraph.http.errors import CONFLICT
from agiraph.settings.config import Config
from agiraph.storage.home import Home

ANSWER_SECONDS: Final = 10.0

Reply = TypeVar("Reply", bound=BaseModel)


class Bus(Protocol):
    """The home, its settings, and its processes."""

    @property
    def home(self) -> Home:
        """The home that is served."""

    @property
    def config(self) -> Config:
        """The settings of the home."""

    @property
    def clock(self) -> Clock:
        """The clock of this process."""

    @property
    def log(self) -> Any:
        """The log of this process."""

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Send a request to `to` and return its reply, an `expect`. `id` is the request's id.

        The request is repeated within that time if the process is being restarted. Raises ApiError
        with the reason: 422 if a name or value was wrong, `refused` for another refusal, 409 if the
        process was given up, 504 if no reply arrived in time, 503 if it cannot be reached now.
        """

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Send a durable message and wait until the router has stored it.

        Raises ApiError: below 500 if it can never be delivered, else it may be sent again.
        """

    def post(self, to: str, body: BaseModel) -> None:
        """Send a message that is not durable, without waiting; it may be lost."""

    def report(self, *events: Event) -> None:
        """Send events to the recorder in the background, repeatedly until they are stored."""
