"""`agiraph dead`: dead letters, and sending one to its receiver again."""

from pathlib import Path

import click

from cli.formats import format_time
from cli.listing import Column, print_listing, print_result, to_rows
from cli.options import connect, examples, home_option, json_option

COLUMNS = (
    Column("ID", "id"),
    Column("TO", "to"),
    Column("FROM", "from", spare=2),
    Column("TYPE", "type"),
    Column("SINCE", "at", format_time, spare=1),
    Column("CAUSE", "cause", wide=True),
)


@click.group(invoke_without_command=True, epilog=examples("agiraph dead", "agiraph dead retry ID"))
@home_option
@json_option("a JSON array: id, agent, to, from, type, cause, at, size")
@click.pass_context
def dead(context: click.Context, home: Path, as_json: bool) -> None:
    """List the dead letters: messages that each crashed their receiver three times."""
    if context.invoked_subcommand is not None:
        return
    with connect(home) as client:
        rows = to_rows(client.dead_letters())
    print_listing(rows, COLUMNS, as_json=as_json, empty="no dead letters")


@dead.command(epilog=examples("agiraph dead retry d-3fa9c1d20b7e"))
@click.argument("letter")
@home_option
@json_option("one JSON object: the letter that was sent back")
def retry(letter: str, home: Path, as_json: bool) -> None:
    """Send LETTER to its receiver again, with three new attempts."""
    with connect(home) as client:
        sent = client.retry_dead_letter(letter)
    print_result(sent, f"sent to {sent.to} again", as_json=as_json)
