"""Channel: what the courier asks of each kind, and how a delivery may fail."""

from dataclasses import dataclass
from typing import Protocol

from agiraph.notifications.notice import Notice


@dataclass(frozen=True, slots=True)
class Notification:
    """One delivery: its id is the same however often it is tried; `link` leads to the answer."""

    id: str
    notice: Notice
    link: str | None


class DeliveryFailed(Exception):
    """The other side did not take it; it may later, not before `retry_after` seconds if it said."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        """Keep why, in words fit to show: no secret of the channel in them."""
        super().__init__(reason)
        self.retry_after = retry_after


class Channel(Protocol):
    """One configured way to the person."""

    def matches(self, notice: Notice) -> bool:
        """Whether this notice goes this way."""
        ...

    async def deliver(self, parcel: Notification) -> None:
        """Hand a parcel over; raise DeliveryFailed. Never blocks the loop."""
        ...

    async def close(self) -> None:
        """Let go of what is held open between deliveries."""
        ...
