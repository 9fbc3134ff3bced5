"""`agiraph channels`, `away`, `back`: the notification channels, and do not disturb."""

from typing import TYPE_CHECKING, Any

import click

from cli.api_command import api_command, api_group
from cli.options.shared import NEXT_TIME
from cli.output.formats import format_time
from cli.output.listing import Column, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.client import Client


def _in_short(value: Any) -> str:
    return " ".join(str(name) for name in value) if value else ""


CHANNELS = (
    Column("NAME", "name"),
    Column("KIND", "kind"),
    Column("NOTICES", "notices", _in_short, spare=3),
    Column("SENT", "delivered", align="right"),
    Column("WAITING", "waiting", align="right"),
    Column("DEAD", "dead", align="right"),
    Column("LAST", "last_at", format_time, spare=2),
    Column("WHERE", "where", wide=True),
    Column("ERROR", "last_error", spare=1),
)
DELIVERIES = (
    Column("ID", "id"),
    Column("CHANNEL", "channel"),
    Column("STATUS", "status"),
    Column("TRIES", "attempts", align="right"),
    Column("WHAT", "kind", spare=2),
    Column("AGENT", "agent_name", spare=3),
    Column("ERROR", "error", wide=True),
)


@api_group(
    "agiraph channels",
    "agiraph channels test phone",
    "agiraph channels waiting",
    json="a JSON array: name, kind, where, notices, waiting, delivered, dead, last_error ...",
)
def channels(client: "Client") -> Shown:
    """List the channels that notify you, as configured under `channels:` in agiraph.yaml."""
    return Listing(client.channels(), CHANNELS, "no channels")


@api_command(
    "agiraph channels test phone",
    json="one JSON object: channel, delivery, delivered, error",
    group=channels,
)
@click.argument("name")
def test(client: "Client", name: str) -> Shown:
    """Send a test message over the channel NAME; exits 1 if it is not delivered."""
    result = client.test_channel(name)
    if result.delivered:
        return Done(result, f"{name}: delivered")
    return Done(result, "", f"agiraph: {name}: {result.error}", has_failed=True)


@api_command(
    "agiraph channels waiting",
    "agiraph channels waiting --json",
    json="a JSON array: id, channel, status, kind, agent, text, attempts, next_at, error",
    group=channels,
)
def waiting(client: "Client") -> Shown:
    """List waiting notifications, and dead ones, which were given up."""
    return Listing(client.deliveries(), DELIVERIES, "no waiting notifications")


@api_command(
    "agiraph channels retry dlv_3fa9c1d20b7e",
    json="one JSON object: the delivery",
    group=channels,
)
@click.argument("delivery")
def retry(client: "Client", delivery: str) -> Shown:
    """Retry a DELIVERY that was given up."""
    again = client.retry_delivery(delivery)
    return Done(again, f"{again.channel}: will be retried")


@api_command(
    "agiraph away --until 18:30",
    "agiraph away --until 2h --channel phone",
    "agiraph away",
    json="one JSON object: status, since, until, channel",
)
@click.option(
    "--until",
    type=NEXT_TIME,
    help="18:30, 2026-05-01T09:00 or 2h [default: until `agiraph back`].",
)
@click.option(
    "--channel", help="The channel for urgent notices meanwhile (`agiraph channels` lists them)."
)
def away(client: "Client", until: float | None, channel: str | None) -> Shown:
    """Set yourself away: urgent notices go to one channel, the others wait for you."""
    from agiraph.http.api import SetPresenceRequest

    me = client.set_me(SetPresenceRequest(status="away", until=until, channel=channel))
    lasts = f"until {format_time(me.until)}" if me.until else "until `agiraph back`"
    where = f"; urgent notices go to {me.channel}" if me.channel else ""
    return Done(me, f"you are away {lasts}{where}")


@api_command("agiraph back", json="one JSON object: status")
def back(client: "Client") -> Shown:
    """Set yourself available: notices that waited are sent now."""
    from agiraph.http.api import SetPresenceRequest

    return Done(client.set_me(SetPresenceRequest(status="available")), "you are available")
