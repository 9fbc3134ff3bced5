"""`agiraph files` and `agiraph memory`: the files of an agent's run, and those of its memory."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.api import FileContentView, FolderView
from cli.formats import format_size, format_time
from cli.listing import Column, JsonObject, Listing, print_json
from cli.options import connect, examples, home_option, json_option, run_option
from cli.sanitize import printable

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
    """List a directory of an agent's run, or print a file of it.

    PATH is relative to the run's directory, which is the default.
    """
    with connect(home) as client:
        found = client.workspace(agent, path, run=run_id)
        if isinstance(found, FolderView):
            Listing(found.entries, FILES, "empty directory").print(as_json=as_json)
            if found.is_truncated:
                click.echo("not all entries are shown", err=True)
        elif as_json:
            print_json(whole_file(client, agent, found, run_id))
        else:
            _print_file(client, agent, found, run_id)


def whole_file(
    client: "Client", agent: str, first: FileContentView, run: str | None = None
) -> dict[str, object]:
    """Return a file of any length as one JSON object."""
    data = b"".join(pieces(client, agent, first, run))
    record = first.model_dump(mode="json") | {"returned": len(data), "is_truncated": False}
    try:
        return record | {"content": data.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return record | {"content": base64.b64encode(data).decode(), "encoding": "base64"}


def pieces(
    client: "Client", agent: str, first: FileContentView, run: str | None = None
) -> "list[bytes]":
    """Return a file's bytes, read on from its first piece."""
    read = [_bytes_of(first)]
    piece = first
    while piece.is_truncated and piece.returned:
        piece = client.read_file(agent, first.path, offset=piece.offset + piece.returned, run=run)
        read.append(_bytes_of(piece))
    return read


def _bytes_of(piece: FileContentView) -> bytes:
    if piece.encoding == "base64":
        return base64.b64decode(piece.content)
    return piece.content.encode()


def _print_file(client: "Client", agent: str, first: FileContentView, run: str | None) -> None:
    """Write a file unchanged into a pipe; show only printable text on a terminal."""
    data = b"".join(pieces(client, agent, first, run))
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


@click.command(
    epilog=examples(
        "agiraph memory my-agent",
        "agiraph memory my-agent MEMORY.md",
        "agiraph memory my-agent --search 'async patterns'",
    )
)
@click.argument("agent")
@click.argument("path", default="")
@click.option("--search", "query", help="Show the sections that match these words, best first.")
@home_option
@json_option("a JSON array: path, size, modified_at (--search: path, heading, score, text)")
def memory(agent: str, path: str, query: str | None, home: Path, as_json: bool) -> None:
    """List the files of an agent's memory, print one, or search all of them."""
    if path and query is not None:
        raise click.UsageError("PATH and --search cannot be used together")
    if query is not None and not query.strip():
        raise click.UsageError("--search is empty")
    with connect(home) as client:
        if path:
            file = client.memory_file(agent, path)
            if as_json:
                print_json(file.model_dump(mode="json"))
            else:
                _print_text(file.content)
        elif query is not None:
            hits = client.search_memory(agent, query)
            Listing(hits, HITS, "no matches in its memory").print(as_json=as_json)
        else:
            found = client.memory(agent)
            Listing(found, MEMORY_FILES, "its memory is empty").print(as_json=as_json)


def _print_text(text: str) -> None:
    shown = printable(text) if sys.stdout.isatty() else text
    click.echo(shown, nl=not shown.endswith("\n"))
