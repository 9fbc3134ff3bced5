"""Endpoints for the channels, their deliveries, and the presence of the person."""

import secrets
from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL, READ, TALK
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.core.clock import iso
from agiraph.core.errors import listed
from agiraph.core.naming import cut
from agiraph.http.api import (
    ApiError,
    ChannelTestView,
    ChannelView,
    DeliveryView,
    PresenceView,
    SetPresenceRequest,
)
from agiraph.http.errors import UNPROCESSABLE
from agiraph.inbox.channels.channel import DeliveryFailed
from agiraph.inbox.channels.dispatcher import NotificationDispatcher, named
from agiraph.notifications.delivery_queue import ChannelStats, Delivery
from agiraph.notifications.notice import Notice
from agiraph.settings.channels import ChannelConfig, shown_url

router = APIRouter(route_class=StrictRoute, tags=["channels"])
TEXT_LIMIT = 200


@router.get("/channels", dependencies=[READ])
async def channels(gateway: GatewayDep) -> list[ChannelView]:
    """List the channels by which the person is notified."""
    dispatcher = gateway.dispatcher
    always = [
        ChannelView(name="console", kind="console", where="agiraph console"),
        ChannelView(
            name="web", kind="web", where=dispatcher.links.base, listeners=gateway.followers
        ),
    ]
    return [*always, *(_view(dispatcher, name, one) for name, one in dispatcher.settings.items())]


@router.post("/channels/{channel}/test", dependencies=[CONTROL])
async def test(channel: str, gateway: GatewayDep) -> ChannelTestView:
    """Send one test message by a channel now; the answer is the outcome."""
    dispatcher = gateway.dispatcher
    if channel not in dispatcher.settings:
        raise ApiError(404, f"unknown channel '{channel}' (known: {named(dispatcher.settings)})")
    id = f"dlv_test{secrets.token_hex(8)}"
    try:
        await dispatcher.test(channel, _test_notice(gateway), id)
    except DeliveryFailed as failure:
        return ChannelTestView(channel=channel, delivery=id, delivered=False, error=str(failure))
    return ChannelTestView(channel=channel, delivery=id, delivered=True)


@router.get("/deliveries", dependencies=[READ])
async def deliveries(
    gateway: GatewayDep, status: Literal["waiting", "dead"] | None = None
) -> list[DeliveryView]:
    """List the deliveries that are waiting or were given up, oldest first."""
    kept = gateway.dispatcher.queue.deliveries.values()
    return [_delivery_view(one) for one in kept if status in (None, one.status)]


@router.post("/deliveries/{delivery}/retry", dependencies=[CONTROL])
async def retry(delivery: str, gateway: GatewayDep) -> DeliveryView:
    """Retry a delivery that was given up, starting with the first attempt."""
    book = gateway.dispatcher.queue
    known = book.deliveries.get(delivery)
    if known is None or known.status != "dead":
        ids = listed([one.id for one in book.dead()])
        raise ApiError(404, f"no delivery '{delivery}' was given up (known: {ids})")
    gateway.dispatcher.write({"type": "again", "id": delivery})
    return _delivery_view(book.deliveries[delivery])


@router.get("/me", dependencies=[READ])
async def me(gateway: GatewayDep) -> PresenceView:
    """Show whether the person is present."""
    away = gateway.dispatcher.queue.away_at(gateway.clock.now())
    if away is None:
        return PresenceView(status="available")
    return PresenceView(status="away", since=away.since, until=away.until, channel=away.channel)


@router.put("/me", dependencies=[TALK])
async def change_me(body: SetPresenceRequest, gateway: GatewayDep) -> PresenceView:
    """Set whether the person is away or present."""
    dispatcher, now = gateway.dispatcher, gateway.clock.now()
    if body.status == "available":
        if body.until is not None or body.channel is not None:
            raise ApiError(UNPROCESSABLE, "until and channel go with the status 'away'")
        if dispatcher.queue.away is not None:
            dispatcher.write({"type": "back", "at": now})
        return await me(gateway)
    if body.channel is not None and body.channel not in dispatcher.settings:
        known = named(dispatcher.settings)
        raise ApiError(UNPROCESSABLE, f"unknown channel '{body.channel}' (known: {known})")
    if body.until is not None and body.until <= now:
        raise ApiError(UNPROCESSABLE, f"until: {iso(body.until)} is over")
    dispatcher.write({"type": "away", "at": now, "until": body.until, "channel": body.channel})
    return await me(gateway)


def _test_notice(gateway: Gateway) -> Notice:
    return Notice(
        id="test",
        kind="messages",
        agent="",
        agent_name="Agiraph",
        sender="the gateway",
        text="This is a test of this channel. Nobody waits for an answer.",
        ts=gateway.clock.now(),
    )


def _view(dispatcher: NotificationDispatcher, name: str, settings: ChannelConfig) -> ChannelView:
    book = dispatcher.queue
    kept = [one.status for one in book.deliveries.values() if one.channel == name]
    shown = {
        "name": name,
        "kind": settings.kind if settings.kind != "webhook" else f"webhook ({settings.shape})",
        "where": shown_url(settings.url) if settings.url else settings.to,
        "waiting": kept.count("waiting"),
        "dead": kept.count("dead"),
    }
    stats = asdict(book.tallies.get(name, ChannelStats()))
    return ChannelView.model_validate(dict(settings) | stats | shown)


def _delivery_view(delivery: Delivery) -> DeliveryView:
    text, next_at = cut(delivery.notice.text, TEXT_LIMIT), delivery.next_at or None
    shown = {"id": delivery.id, "text": text, "next_at": next_at}
    return DeliveryView.model_validate(dict(delivery.notice) | asdict(delivery) | shown)
