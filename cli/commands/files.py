"""`agiraph files` and `agiraph memory`: the files of an agent's run, and those of its memory."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.api import FileContentView, FolderView
from cli.api_command import api_command
from cli.deliverables import read_whole
from cli.formats import format_size, format_time
from cli.listing import Column, Done, JsonObject, Listing, Shown, print_json
from cli.options import connect_to_read, examples, home_option, json_option, run_option
from cli.sanitize import printable
from cli.shared_options import remark

if TYPE_CHECKING:
    from agiraph.http.client import Client


def _size(row: JsonObject) -> str:
    return "" if row.get("kind") == "folder" else format_size(row["size"])


FILES = (
    Column("KIND", "kind"),
    Column("SIZE", "", _size, align="right"),
    Column("CHANGED", "modified_at", format_time),
    Column("PATH", "path", wide=True),
)
MEMORY_FILES = FILES[1:]
HITS = (
    Column("SCORE", "score", align="right"),
    Column("PATH", "path"),
    Column("HEADING", "heading"),
    Column("TEXT", "text", wide=True),
)


@click.command(
    epilog=examples(
        "agiraph files my-agent",
        "agiraph files my-agent nodes",
        "agiraph files my-agent _output.md > report.md",
    )
)
@click.argument("agent")
@click.argument("path", default="")
@run_option
@home_option
@json_option("a folder as a JSON array, a file as one JSON object")
def files(agent: str, path: str, run_id: str | None, home: Path, as_json: bool) -> None:
    """List a directory of the run of AGENT, an id or a name, or print a file of it.

    PATH is relative to the run's directory, which is the default.
    """
    with connect_to_read(home) as client:
        found = client.workspace(agent, path, run=run_id)
        if isinstance(found, FolderView):
            Listing(found.entries, FILES, "empty directory").print(as_json=as_json)
            if found.is_truncated:
                remark("not all entries are shown")
            return
        data = read_whole(client, agent, found, run_id)
    if as_json:
        print_json(_whole_file(found, data))
    else:
        _print_file(found, data)


def _whole_file(first: FileContentView, data: bytes) -> dict[str, object]:
    """Return a file of any length as one JSON object."""
    record = first.model_dump(mode="json") | {"returned": len(data), "is_truncated": False}
    try:
        return record | {"content": data.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return record | {"content": base64.b64encode(data).decode(), "encoding": "base64"}


def _print_file(first: FileContentView, data: bytes) -> None:
    """Write a file unchanged into a pipe; show only printable text on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        text = printable(data.decode())
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{first.path} is not text ({format_size(first.size)}); redirect it to a file with >"
        ) from None
    click.echo(text, nl=not text.endswith("\n"))


@api_command(
    "agiraph memory my-agent",
    "agiraph memory my-agent MEMORY.md",
    "agiraph memory my-agent --search 'async patterns'",
    json="a JSON array: path, size, modified_at (--search: path, heading, score, text)",
)
@click.argument("agent")
@click.argument("path", default="")
@click.option("--search", "query", help="Show the sections that match these words, best first.")
def memory(client: "Client", agent: str, path: str, query: str | None) -> Shown:
    """List the files of the memory of AGENT, print the one at PATH, or search all of them."""
    if path and query is not None:
        raise click.UsageError("PATH and --search cannot be used together")
    if query is not None and not query.strip():
        raise click.UsageError("--search is empty")
    if path:
        file = client.memory_file(agent, path)
        text = printable(file.content) if sys.stdout.isatty() else file.content
        return Done(file, text.removesuffix("\n"))
    if query is not None:
        return Listing(client.search_memory(agent, query), HITS, "no matches in its memory")
    return Listing(client.memory(agent), MEMORY_FILES, "its memory is empty")
