"""`agiraph ps`: every entity with its process, state, tokens and cost."""

from pathlib import Path

import click

from agiraph.storage.disk_space import has_room
from cli.formats import format_count, format_money, format_percent, format_size, state_label
from cli.listing import Column, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option

WAITING = "processes that write wait until there is room"
COLUMNS = (
    Column("ADDRESS", "address"),
    Column("KIND", "kind", spare=5),
    Column("STATE", "state", state_label),
    Column("PID", "pid", align="right"),
    Column("INC", "incarnation", align="right", spare=2),
    Column("CPU", "cpu", format_percent, align="right", spare=4),
    Column("MEMORY", "memory_bytes", format_size, align="right", spare=3),
    Column("MAIL", "mailbox", format_count, align="right", spare=1),
    Column("TOKENS", "tokens", format_count, align="right"),
    Column("COST", "cost_usd", format_money, align="right"),
    Column("DOING", "doing", wide=True),
)


@click.command(epilog=examples("agiraph ps", "agiraph ps my-agent", "agiraph ps --json"))
@click.argument("agent", required=False)
@home_option
@json_option("a JSON array: address, kind, name, state, pid, cpu, tokens and more")
def ps(agent: str | None, home: Path, as_json: bool) -> None:
    """List every entity: services, coordinators and workers.

    With AGENT (an id or a name): only its coordinator and workers.
    """
    with connect(home) as client:
        rows = to_rows(client.entities())
        if agent is not None:
            prefix = f"{client.agent(agent).id}/"
            rows = [row for row in rows if row["address"].startswith(prefix)]
    print_listing(rows, COLUMNS, as_json=as_json, empty="no entities")
    if not has_room(home):
        click.echo(f"agiraph: the disk of {home} is full: {WAITING}", err=True)
