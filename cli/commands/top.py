"""`agiraph top`: every entity with what it uses and does, refreshed, with keys to steer it."""

import time
from pathlib import Path

import click

from cli.commands.console import is_screen
from cli.console.entities import SORTS, ordered, top_rows
from cli.formats import format_count, format_money, format_percent, format_size, state_label
from cli.listing import Column, print_listing, to_rows
from cli.options import cli_context, examples, home_option, json_option


def _age(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    seconds = int(value)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


COLUMNS = (
    Column("ENTITY", "label"),
    Column("STATE", "state", state_label),
    Column("CPU", "cpu", format_percent, align="right"),
    Column("MEMORY", "memory", format_size, align="right", spare=2),
    Column("MAIL", "mail", format_count, align="right", spare=1),
    Column("AGE", "age", _age, align="right"),
    Column("TOKENS", "tokens", format_count, align="right"),
    Column("COST", "cost", format_money, align="right"),
    Column("DOING", "doing", wide=True),
)


@click.command(
    epilog=examples("agiraph top", "agiraph top my-agent --sort tokens", "agiraph top --once")
)
@click.argument("agent", required=False)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="cpu",
    show_default=True,
    help="The column to sort by.",
)
@click.option(
    "--every", "every_seconds", type=click.FloatRange(min=0.2), default=1.0, show_default=True,
    help="Seconds between refreshes.",
)  # fmt: skip
@click.option(
    "--once", "--plain", is_flag=True, help="Print one table [default: if this is not a terminal]."
)
@home_option
@json_option("a JSON array: the rows of `agiraph ps`, sorted")
def top(
    agent: str | None, sort: str, every_seconds: float, once: bool, home: Path, as_json: bool
) -> None:
    """Watch every entity: state, CPU, memory, mail, age of its step, tokens, cost.

    Left and right change the sorting; Enter opens the console on an entity; p pauses, r resumes,
    i interrupts, s stops, k kills, q quits. With AGENT: only its coordinator and workers.
    """
    connect = cli_context().connect
    with connect(home) as client:
        chosen = client.agent(agent).id if agent else None
        if as_json or once or not is_screen():
            listed = client.entities()
            rows = ordered(top_rows(listed, time.time(), chosen), sort)
            if as_json:
                known = {row["address"]: row for row in to_rows(listed)}
                shown = [known[row.address] for row in rows]
            else:
                shown = [{key: getattr(row, key) for key in row.__slots__} for row in rows]
            print_listing(shown, COLUMNS, as_json=as_json, empty="no entities")
            return
    from cli.console.ui.main import show_top

    show_top(lambda: connect(home), chosen, sort, every_seconds)
