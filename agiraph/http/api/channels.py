"""The person's notification channels, pending deliveries, and the person's presence."""

from typing import Literal

from pydantic import Field

from agiraph.http.api.base import ApiRequest, ApiView


class ChannelView(ApiView):
    """One channel and its statistics. `where` contains no secret.

    `console` and `web` always exist; `listeners` is the number of current followers of events.
    """

    name: str
    kind: str
    where: str = ""
    notices: tuple[str, ...] = ()
    urgent_only: bool = False
    listeners: int = 0
    waiting: int = 0
    delivered: int = 0
    dead: int = 0
    last_at: float | None = None
    last_error: str = ""


class ChannelTestView(ApiView):
    """The outcome of a test message."""

    channel: str
    delivery: str
    delivered: bool
    error: str = ""


class DeliveryView(ApiView):
    """A notice that is waiting for delivery to a channel, or was given up (`dead`)."""

    id: str
    channel: str
    status: Literal["waiting", "dead"]
    kind: str
    agent: str
    agent_name: str
    text: str
    attempts: int
    next_at: float | None = None
    error: str = ""
    at: float


class PresenceView(ApiView):
    """Whether the person is present. While away, urgent notices go to `channel`, if it is set."""

    status: Literal["available", "away"]
    since: float | None = None
    until: float | None = None
    channel: str | None = None


class SetPresenceRequest(ApiRequest):
    """PUT /me. `until` (epoch seconds) and `channel` apply to the status `away`.

    Without `until` the person is away until the status is set to `available`.
    """

    status: Literal["available", "away"]
    until: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    channel: str | None = None
