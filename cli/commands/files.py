"""`agiraph files`: the files of an agent's run: a folder's listing, or one file's content."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.api import FileContentView, FolderView
from cli.formats import format_size, format_time
from cli.listing import Column, print_json, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option, run_option
from cli.sanitize import printable

if TYPE_CHECKING:
    from agiraph.http.client import Client

COLUMNS = (
    Column("KIND", "kind"),
    Column("SIZE", "size", format_size, align="right"),
    Column("CHANGED", "modified_at", format_time),
    Column("PATH", "path", wide=True),
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
            rows = to_rows(found.entries)
            if not as_json:
                rows = [row | {"size": None} if row["kind"] == "folder" else row for row in rows]
            print_listing(rows, COLUMNS, as_json=as_json, empty="empty directory")
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
