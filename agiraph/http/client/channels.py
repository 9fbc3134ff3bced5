"""Calls about the ways by which the person is told things, and whether he is here."""

from typing import Literal

from agiraph.http.api import (
    ChannelTestView,
    ChannelView,
    DeliveryView,
    PresenceView,
    SetPresenceRequest,
)
from agiraph.http.client.call import ApiCall, ApiMethod, get, named, part, post, reader


class ChannelCalls:
    """Channels, deliveries, presence."""

    @ApiMethod
    def channels(self) -> ApiCall[list[ChannelView]]:
        """Return every channel and how it fares."""
        return get("/channels", list[ChannelView])

    @ApiMethod
    def test_channel(self, channel: str) -> ApiCall[ChannelTestView]:
        """Send a test message by a channel; the answer tells how it went. 404 lists the known."""
        return post(f"/channels/{part(channel)}/test", None, ChannelTestView)

    @ApiMethod
    def deliveries(
        self, *, status: Literal["waiting", "dead"] | None = None
    ) -> ApiCall[list[DeliveryView]]:
        """Return what has yet to go out and what was given up, oldest first."""
        return get("/deliveries", list[DeliveryView], named(status=status))

    @ApiMethod
    def retry_delivery(self, delivery: str) -> ApiCall[DeliveryView]:
        """Have a delivery that was given up tried again; 404 lists the known."""
        return post(f"/deliveries/{part(delivery)}/retry", None, DeliveryView)

    @ApiMethod
    def me(self) -> ApiCall[PresenceView]:
        """Return whether the person is here."""
        return get("/me", PresenceView)

    @ApiMethod
    def set_me(self, presence: SetPresenceRequest) -> ApiCall[PresenceView]:
        """Say that the person leaves or is back; 422 for an unknown channel or a time gone by."""
        content = presence.model_dump_json(exclude_none=True).encode()
        return ApiCall("PUT", "/me", reader(PresenceView), content=content)
