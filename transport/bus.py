"""The bus as an actor sees it: what comes in, and what may be done with it."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from transport.envelope import Header


@dataclass(frozen=True, slots=True)
class Received:
    """A message that came in."""

    header: Header
    body: BaseModel


class Bus(Protocol):
    """What an actor needs of its endpoint; tests may put something simpler in its place."""

    address: str

    async def send(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        reply_to: bytes | None = None,
        trace: str | None = None,
    ) -> bytes:
        """Send a message and return its id."""
        ...

    def post(self, to: str, body: BaseModel, *, reply_to: bytes | None = None) -> None:
        """Send a passing message and forget it."""
        ...

    async def ask(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Received:
        """Send a request and return its answer."""
        ...

    async def reply(self, received: Received, body: BaseModel, *, id: bytes | None = None) -> bytes:
        """Answer a request."""
        ...

    async def receive(self) -> Received:
        """Return the next message that is no answer."""
        ...

    def done(self, received: Received) -> None:
        """Say that a message has had its effect."""
        ...
