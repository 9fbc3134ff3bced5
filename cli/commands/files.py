"""`agiraph files` and `agiraph memory`: the files of an agent's run and of its memory."""

import base64
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.api import ApiError, FileContentView, FolderView
from cli.api_command import api_command
from cli.options.everywhere import remark
from cli.options.shared import connect_to_read, examples, home_option, json_option, run_option
from cli.output.formats import format_size, format_time
from cli.output.listing import Column, Done, JsonObject, Listing, Shown, print_json
from cli.run.deliverables import read_whole
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
VERSIONS = (
    Column("NO", "number", align="right"),
    Column("TIME", "at", format_time),
    Column("BY", "by"),
    Column("CHANGE", "change"),
    Column("SIZE", "size", align="right"),
)
NOT_FOUND = 404
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
    "agiraph memory my-agent preferences/reports.md --edit",
    "agiraph memory my-agent knowledge/prices.md --write prices.md",
    "agiraph memory my-agent MEMORY.md --history",
    json="a JSON array: path, size, modified_at (--search: path, heading, score, text; --history:"
    " number, at, by, change, size), or the file as one JSON object",
)
@click.argument("agent")
@click.argument("path", default="")
@click.option("--search", "query", help="Show the sections that match these words, best first.")
@click.option("--edit", "way", flag_value="edit", help="Edit the file at PATH in $EDITOR.")
@click.option("--remove", "way", flag_value="remove", help="Remove the file at PATH.")
@click.option("--history", "way", flag_value="history", help="List the texts that PATH has had.")
@click.option("--version", "number", type=click.IntRange(min=1), help="Print that text of PATH.")
@click.option("--write", "source", metavar="FILE", help="Write FILE (- for stdin) to PATH.")
def memory(
    client: "Client",
    agent: str,
    path: str,
    query: str | None,
    way: str | None,
    number: int | None,
    source: str | None,
) -> Shown:
    """List the memory files of AGENT; print, edit or write the file at PATH, or search all files.

    Earlier texts are kept. A coordinator at work is notified of your change.
    """
    asked = [one for one in (query, way, number, source) if one is not None]
    if path and query is not None:
        raise click.UsageError("PATH and --search cannot be used together")
    if len(asked) > 1:
        raise click.UsageError("--search, --edit, --remove, --history, --version, --write: use one")
    if asked and query is None and not path:
        raise click.UsageError("name the PATH of the memory file")
    if query is not None:
        if not query.strip():
            raise click.UsageError("--search is empty")
        return Listing(client.search_memory(agent, query), HITS, "no matches in its memory")
    if not path:
        return Listing(client.memory(agent), MEMORY_FILES, "its memory is empty")
    if way == "history":
        return Listing(client.memory_history(agent, path), VERSIONS, "no earlier texts of it")
    if number is not None:
        version = client.memory_version(agent, path, str(number))
        return Done(version, _shown_text(version.content or ""))
    if way is None and source is None:
        file = client.memory_file(agent, path)
        return Done(file, _shown_text(file.content))
    return _changed_memory(client, agent, path, way, source)


def _changed_memory(
    client: "Client", agent: str, path: str, way: str | None, source: str | None
) -> Done:
    """Remove, edit or write a memory file as `way` and `source` say; return the outcome."""
    if way == "remove":
        removed = client.remove_memory(agent, path)
        return Done(removed, f"removed {removed.path}")
    if source is not None:
        text = sys.stdin.read() if source == "-" else _text_of(Path(source))
        written = client.edit_memory(agent, path, text)
        return Done(written, f"wrote {written.path}")
    return _edited_memory(client, agent, path)


def _edited_memory(client: "Client", agent: str, path: str) -> Done:
    """Let the person edit a memory file in an editor; return the outcome.

    A refused text stays in a file that the error names.
    """
    try:
        old = client.memory_file(agent, path)
        before, etag = old.content, old.etag
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        before, etag = "", ""
    handle, name = tempfile.mkstemp(suffix=".md", prefix="agiraph-")  # plain: a draft
    draft = Path(name)
    with open(handle, "w", encoding="utf-8") as file:  # plain: a draft
        file.write(before)
    click.edit(filename=name)
    after = draft.read_text("utf-8")  # plain: a draft
    if after.strip() == before.strip():
        draft.unlink()  # plain: a draft
        return Done({"path": path, "changed": False}, f"{path} is unchanged")
    try:
        written = client.edit_memory(agent, path, after, etag=etag)
    except ApiError as error:
        raise ApiError(error.status, f"{error.detail}; your text is in {name}") from None
    draft.unlink()  # plain: a draft
    return Done(written, f"wrote {written.path}")


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")  # plain: named by the person
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as text ({error})") from None


def _shown_text(text: str) -> str:
    return (printable(text) if sys.stdout.isatty() else text).removesuffix("\n")
