"""Calls about the ways by which the person is told things, and whether he is here."""

from typing import Literal

from agiraph.api import ChannelTest, ChannelView, DeliveryView, Presence, SetPresence
from agiraph.client.call import Call, Verb, get, named, part, post, reader


class ChannelCalls:
    """Channels, deliveries, presence."""

    @Verb
    def channels(self) -> Call[list[ChannelView]]:
        """Return every channel and how it fares."""
        return get("/channels", list[ChannelView])

    @Verb
    def test_channel(self, channel: str) -> Call[ChannelTest]:
        """Send a test message by a channel; the answer tells how it went. 404 lists the known."""
        return post(f"/channels/{part(channel)}/test", None, ChannelTest)

    @Verb
    def deliveries(
        self, *, status: Literal["waiting", "dead"] | None = None
    ) -> Call[list[DeliveryView]]:
        """Return what has yet to go out and what was given up, oldest first."""
        return get("/deliveries", list[DeliveryView], named(status=status))

    @Verb
    def retry_delivery(self, delivery: str) -> Call[DeliveryView]:
        """Have a delivery that was given up tried again; 404 lists the known."""
        return post(f"/deliveries/{part(delivery)}/retry", None, DeliveryView)

    @Verb
    def me(self) -> Call[Presence]:
        """Return whether the person is here."""
        return get("/me", Presence)

    @Verb
    def set_me(self, presence: SetPresence) -> Call[Presence]:
        """Say that the person leaves or is back; 422 for an unknown channel or a time gone by."""
        content = presence.model_dump_json(exclude_none=True).encode()
        return Call("PUT", "/me", reader(Presence), content=content)
