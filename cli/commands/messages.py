"""`agiraph messages`: the messages of a team."""

from pathlib import Path

import click

from cli.formats import format_time
from cli.listing import Column, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option, run_option

COLUMNS = (
    Column("NO", "seq", align="right"),
    Column("TIME", "ts", format_time),
    Column("FROM", "from"),
    Column("TO", "to"),
    Column("MESSAGE", "content", wide=True),
)


@click.command(
    epilog=examples("agiraph messages my-agent", "agiraph messages my-agent --after 20 --json")
)
@click.argument("agent")
@click.option(
    "--after", default=0, type=click.IntRange(min=0), help="Only messages after this number."
)
@run_option
@home_option
@json_option("a JSON array: seq, id, from, to, content, ts")
def messages(agent: str, after: int, run_id: str | None, home: Path, as_json: bool) -> None:
    """List the messages of an agent's team, oldest first."""
    with connect(home) as client:
        rows = to_rows(client.messages(agent, after=after, run=run_id))
    print_listing(rows, COLUMNS, as_json=as_json, empty="no messages yet")
