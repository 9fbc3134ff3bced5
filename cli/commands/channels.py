"""`agiraph channels`, `away`, `back`: the notification channels, and do not disturb."""

from pathlib import Path
from typing import Any

import click

from cli.formats import format_time
from cli.listing import Column, print_json, print_listing, print_result, to_rows
from cli.options import PointInTime, connect, examples, home_option, json_option


def _in_short(value: Any) -> str:
    return " ".join(str(name) for name in value) if value else ""


COLUMNS = (
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
DELIVERY_COLUMNS = (
    Column("ID", "id"),
    Column("CHANNEL", "channel"),
    Column("STATUS", "status"),
    Column("TRIES", "attempts", align="right"),
    Column("WHAT", "kind", spare=2),
    Column("AGENT", "agent_name", spare=3),
    Column("ERROR", "error", wide=True),
)


@click.group(
    invoke_without_command=True,
    epilog=examples("agiraph channels", "agiraph channels test phone", "agiraph channels waiting"),
)
@home_option
@json_option("a JSON array: name, kind, where, notices, waiting, delivered, dead, last_error ...")
@click.pass_context
def channels(context: click.Context, home: Path, as_json: bool) -> None:
    """List the channels that notify you, as configured under `channels:` in agiraph.yaml."""
    if context.invoked_subcommand is not None:
        return
    with connect(home) as client:
        rows = to_rows(client.channels())
    print_listing(rows, COLUMNS, as_json=as_json, empty="no channels")


@channels.command(epilog=examples("agiraph channels test phone"))
@click.argument("name")
@home_option
@json_option("one JSON object: channel, delivery, delivered, error")
def test(name: str, home: Path, as_json: bool) -> int:
    """Send a test message over the channel NAME; exits 1 if it is not delivered."""
    with connect(home) as client:
        result = client.test_channel(name)
    if as_json:
        print_json(to_rows([result])[0])
    elif result.delivered:
        click.echo(f"{name}: delivered")
    else:
        click.echo(f"agiraph: {name}: {result.error}", err=True)
    return 0 if result.delivered else 1


@channels.command(epilog=examples("agiraph channels waiting", "agiraph channels waiting --json"))
@home_option
@json_option("a JSON array: id, channel, status, kind, agent, text, attempts, next_at, error")
def waiting(home: Path, as_json: bool) -> None:
    """List notifications that are waiting, and those that were given up (dead)."""
    with connect(home) as client:
        rows = to_rows(client.deliveries())
    print_listing(rows, DELIVERY_COLUMNS, as_json=as_json, empty="no waiting notifications")


@channels.command(epilog=examples("agiraph channels retry dlv_3fa9c1d20b7e"))
@click.argument("delivery")
@home_option
@json_option("one JSON object: the delivery")
def retry(delivery: str, home: Path, as_json: bool) -> None:
    """Retry a DELIVERY that was given up."""
    with connect(home) as client:
        again = client.retry_delivery(delivery)
    print_result(again, f"{again.channel}: will be retried", as_json=as_json)


@click.command(
    epilog=examples(
        "agiraph away --until 18:30",
        "agiraph away --until 2h --channel phone",
        "agiraph away",
    )
)
@click.option(
    "--until",
    type=PointInTime(is_past=False),
    help="18:30, 2026-05-01T09:00 or 2h [default: until `agiraph back`].",
)
@click.option(
    "--channel", help="The channel for urgent notices meanwhile (`agiraph channels` lists them)."
)
@home_option
@json_option("one JSON object: status, since, until, channel")
def away(until: float | None, channel: str | None, home: Path, as_json: bool) -> None:
    """Set yourself away: urgent notices go to one channel, the others wait for you."""
    from agiraph.http.api import SetPresenceRequest

    _set(home, SetPresenceRequest(status="away", until=until, channel=channel), as_json)


@click.command(epilog=examples("agiraph back"))
@home_option
@json_option("one JSON object: status")
def back(home: Path, as_json: bool) -> None:
    """Set yourself available: notices that waited are sent now."""
    from agiraph.http.api import SetPresenceRequest

    _set(home, SetPresenceRequest(status="available"), as_json)


def _set(home: Path, wanted: Any, as_json: bool) -> None:
    with connect(home) as client:
        presence = client.set_me(wanted)
    if as_json:
        print_json(to_rows([presence])[0])
        return
    if presence.status == "available":
        click.echo("you are available")
        return
    until = f"until {format_time(presence.until)}" if presence.until else "until `agiraph back`"
    where = f"; urgent notices go to {presence.channel}" if presence.channel else ""
    click.echo(f"you are away {until}{where}")
