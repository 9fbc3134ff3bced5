"""`agiraph archive`, `restore` and `delete`."""

from pathlib import Path

import click

from agiraph.http.errors import ApiError
from cli.commands.agents import COLUMNS
from cli.listing import print_listing, print_record, to_rows
from cli.options import connect, examples, home_option, json_option

NOT_FOUND = 404


@click.command(epilog=examples("agiraph archive my-agent", "agiraph archive", "agiraph restore x"))
@click.argument("agent", required=False)
@home_option
@json_option("one JSON object: id, path (without AGENT: an array of agents)")
def archive(agent: str | None, home: Path, as_json: bool) -> None:
    """Stop AGENT and move it to the archive; without AGENT, list the archive.

    Its questions are withdrawn. `agiraph restore` restores it, `agiraph delete` deletes it.
    """
    with connect(home) as client:
        if agent is None:
            rows = to_rows(client.archived())
            print_listing(rows, COLUMNS, as_json=as_json, empty="the archive is empty")
            return
        record = client.archive(agent)
    print_record(to_rows([record])[0], as_json=as_json)


@click.command(epilog=examples("agiraph restore my-agent", "agiraph resume my-agent"))
@click.argument("agent")
@home_option
@json_option("one JSON object: id, name, status and more")
def restore(agent: str, home: Path, as_json: bool) -> None:
    """Restore AGENT from the archive; `agiraph resume` then starts it again."""
    with connect(home) as client:
        record = client.restore(agent)
    print_record(to_rows([record])[0], as_json=as_json)


@click.command(epilog=examples("agiraph delete my-agent", "agiraph delete my-agent --yes"))
@click.argument("agent")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@home_option
@json_option("one JSON object: id, name")
def delete(agent: str, yes: bool, home: Path, as_json: bool) -> None:
    """Delete AGENT with all its files; it is archived first if necessary.

    This cannot be undone.
    """
    with connect(home) as client:
        if not yes:
            click.confirm(f"Delete '{agent}' and all its files permanently?", abort=True, err=True)
        try:
            agent = client.archive(agent).id
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
        record = client.delete(agent)
    print_record(to_rows([record])[0], as_json=as_json)
