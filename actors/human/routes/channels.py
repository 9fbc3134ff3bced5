"""Endpoints: the channels, what is on its way by them, and whether the person is here."""

import secrets
from typing import Literal

from fastapi import APIRouter

from actors.human.channels.channel import Undelivered
from actors.human.channels.courier import Courier, named
from actors.human.channels.presence import presence, set_presence
from actors.human.gateway import Gateway
from actors.human.routes.asking import Door
from agiraph.api import (
    ApiError,
    ChannelTest,
    ChannelView,
    DeliveryView,
    Presence,
    SetPresence,
)
from agiraph.channels.book import Delivery, Tally
from agiraph.channels.notice import Notice, cut
from agiraph.channels.settings import ChannelConfig, shown_url

router = APIRouter()
TEXT_LIMIT = 200


@router.get("/channels")
async def channels(door: Door) -> list[ChannelView]:
    """List the ways by which the person is told things."""
    courier = door.courier
    always = [
        ChannelView(name="console", kind="console", where="agiraph console"),
        ChannelView(
            name="web", kind="web", where=courier.links.base, listeners=door.bells.listeners
        ),
    ]
    return [*always, *(_view(courier, name, one) for name, one in courier.settings.items())]


@router.post("/channels/{channel}/test")
async def test(channel: str, door: Door) -> ChannelTest:
    """Send a test message by one channel, now and once; the answer tells how it went."""
    courier = door.courier
    if channel not in courier.settings:
        raise ApiError(404, f"unknown channel '{channel}' (known: {named(courier.settings)})")
    id = f"dlv_test{secrets.token_hex(8)}"
    try:
        await courier.test(channel, _test_notice(door), id)
    except Undelivered as failure:
        return ChannelTest(channel=channel, delivery=id, delivered=False, error=str(failure))
    return ChannelTest(channel=channel, delivery=id, delivered=True)


@router.get("/deliveries")
async def deliveries(
    door: Door, status: Literal["waiting", "dead"] | None = None
) -> list[DeliveryView]:
    """List what has yet to go out, and what was given up, oldest first."""
    kept = door.courier.book.deliveries.values()
    return [_delivery_view(one) for one in kept if status in (None, one.status)]


@router.post("/deliveries/{delivery}/retry")
async def retry(delivery: str, door: Door) -> DeliveryView:
    """Have a delivery that was given up tried again, from the first attempt on."""
    book = door.courier.book
    known = book.deliveries.get(delivery)
    if known is None or known.status != "dead":
        ids = ", ".join(one.id for one in book.dead()) or "none"
        raise ApiError(404, f"no delivery '{delivery}' was given up (known: {ids})")
    door.courier.write({"type": "again", "id": delivery})
    return _delivery_view(book.deliveries[delivery])


@router.get("/me")
async def me(door: Door) -> Presence:
    """Tell whether the person is here."""
    return presence(door.courier, door.clock.now())


@router.put("/me")
async def change_me(body: SetPresence, door: Door) -> Presence:
    """Say that the person leaves, or that he is back."""
    return set_presence(door.courier, body, door.clock.now())


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


def _view(courier: Courier, name: str, settings: ChannelConfig) -> ChannelView:
    book = courier.book
    tally = book.tallies.get(name, Tally())
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
