"""The channels by which a person is notified, what waits for delivery, and who is away."""

from typing import Literal

from pydantic import Field

from agiraph.http.api.base import ApiRequest, ApiView


class ChannelView(ApiView):
    """One channel and how it fares. `where` has nothing secret in it.

    `console` and `web` are always there; `listeners` follow events at this moment.
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
    """What became of a test message."""

    channel: str
    delivery: str
    delivered: bool
    error: str = ""


class DeliveryView(ApiView):
    """A notice that has yet to go out to a channel, or was given up (`dead`)."""

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
    """Whether the person is here. While away, what is urgent goes to `channel`, if he named one."""

    status: Literal["available", "away"]
    since: float | None = None
    until: float | None = None
    channel: str | None = None


class SetPresenceRequest(ApiRequest):
    """PUT /me. `until` (epoch seconds) and `channel` count for `away`; without `until`, until he
    says that he is back."""

    status: Literal["available", "away"]
    until: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    channel: str | None = None
