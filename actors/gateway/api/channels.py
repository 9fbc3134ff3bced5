"""Endpoints: the channels, what is on its way by them, and whether the person is here."""

import secrets
from typing import Literal

from fastapi import APIRouter

from actors.gateway.api.dependencies import Door
from actors.gateway.gateway import Gateway
from actors.gateway.notifications.channel import DeliveryFailed
from actors.gateway.notifications.dispatcher import NotificationDispatcher, named
from actors.gateway.notifications.do_not_disturb import presence, set_presence
from agiraph.core.channel_settings import ChannelConfig, shown_url
from agiraph.http.api import (
    ApiError,
    ChannelTestView,
    ChannelView,
    DeliveryView,
    PresenceView,
    SetPresenceRequest,
)
from agiraph.notifications.delivery_queue import ChannelStats, Delivery
from agiraph.notifications.notice import Notice, cut

router = APIRouter()
TEXT_LIMIT = 200


@router.get("/channels")
async def channels(door: Door) -> list[ChannelView]:
    """List the ways by which the person is told things."""
    dispatcher = door.dispatcher
    always = [
        ChannelView(name="console", kind="console", where="agiraph console"),
        ChannelView(
            name="web", kind="web", where=dispatcher.links.base, listeners=door.bells.listeners
        ),
    ]
    return [*always, *(_view(dispatcher, name, one) for name, one in dispatcher.settings.items())]


@router.post("/channels/{channel}/test")
async def test(channel: str, door: Door) -> ChannelTestView:
    """Send a test message by one channel, now and once; the answer tells how it went."""
    dispatcher = door.dispatcher
    if channel not in dispatcher.settings:
        raise ApiError(404, f"unknown channel '{channel}' (known: {named(dispatcher.settings)})")
    id = f"dlv_test{secrets.token_hex(8)}"
    try:
        await dispatcher.test(channel, _test_notice(door), id)
    except DeliveryFailed as failure:
        return ChannelTestView(channel=channel, delivery=id, delivered=False, error=str(failure))
    return ChannelTestView(channel=channel, delivery=id, delivered=True)


@router.get("/deliveries")
async def deliveries(
    door: Door, status: Literal["waiting", "dead"] | None = None
) -> list[DeliveryView]:
    """List what has yet to go out, and what was given up, oldest first."""
    kept = door.dispatcher.book.deliveries.values()
    return [_delivery_view(one) for one in kept if status in (None, one.status)]


@router.post("/deliveries/{delivery}/retry")
async def retry(delivery: str, door: Door) -> DeliveryView:
    """Have a delivery that was given up tried again, from the first attempt on."""
    book = door.dispatcher.book
    known = book.deliveries.get(delivery)
    if known is None or known.status != "dead":
        ids = ", ".join(one.id for one in book.dead()) or "none"
        raise ApiError(404, f"no delivery '{delivery}' was given up (known: {ids})")
    door.dispatcher.write({"type": "again", "id": delivery})
    return _delivery_view(book.deliveries[delivery])


@router.get("/me")
async def me(door: Door) -> PresenceView:
    """Tell whether the person is here."""
    return presence(door.dispatcher, door.clock.now())


@router.put("/me")
async def change_me(body: SetPresenceRequest, door: Door) -> PresenceView:
    """Say that the person leaves, or that he is back."""
    return set_presence(door.dispatcher, body, door.clock.now())


def _test_notice(door: Gateway) -> Notice:
    return Notice(
        id="test",
        kind="messages",
        agent="",
        agent_name="Agiraph",
        sender="the gateway",
        text="This is a test of this channel. Nobody waits for an answer.",
        ts=door.clock.now(),
    )


def _view(dispatcher: NotificationDispatcher, name: str, settings: ChannelConfig) -> ChannelView:
    book = dispatcher.book
    tally = book.tallies.get(name, ChannelStats())
    kept = [one.status for one in book.deliveries.values() if one.channel == name]
    return ChannelView(
        name=name,
        kind=settings.kind if settings.kind != "webhook" else f"webhook ({settings.shape})",
        where=shown_url(settings.url) if settings.url else settings.to,
        notices=settings.notices,
        urgent_only=settings.urgent_only,
        waiting=kept.count("waiting"),
        delivered=tally.delivered,
        dead=kept.count("dead"),
        last_at=tally.last_at,
        last_error=tally.last_error,
    )


def _delivery_view(delivery: Delivery) -> DeliveryView:
    notice = delivery.notice
    return DeliveryView(
        id=delivery.id,
        channel=delivery.channel,
        status=delivery.status,
        kind=notice.kind,
        agent=notice.agent,
        agent_name=notice.agent_name,
        text=cut(notice.text, TEXT_LIMIT),
        attempts=delivery.attempts,
        next_at=delivery.next_at or None,
        error=delivery.error,
        at=delivery.at,
    )
