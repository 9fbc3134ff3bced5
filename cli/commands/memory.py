"""`agiraph memory`: the files of an agent's memory, one of them, or a search in all."""

import sys
from pathlib import Path

import click

from cli.formats import format_size, format_time
from cli.listing import Column, print_json, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option
from cli.sanitize import printable

FILES = (
    Column("SIZE", "size", format_size, align="right"),
    Column("CHANGED", "modified_at", format_time),
    Column("PATH", "path", wide=True),
)

HITS = (
    Column("SCORE", "score", align="right"),
    Column("PATH", "path"),
    Column("HEADING", "heading"),
    Column("TEXT", "text", wide=True),
)


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
            _print_text(client.memory_file(agent, path).model_dump(mode="json"), as_json=as_json)
        elif query is not None:
            hits = to_rows(client.search_memory(agent, query))
            print_listing(hits, HITS, as_json=as_json, empty="no matches in its memory")
        else:
            rows = to_rows(client.memory(agent))
            print_listing(rows, FILES, as_json=as_json, empty="its memory is empty")


def _print_text(file: "dict[str, object]", *, as_json: bool) -> None:
    if as_json:
        print_json(file)
        return
    text = str(file["content"])
    shown = printable(text) if sys.stdout.isatty() else text
    click.echo(shown, nl=not shown.endswith("\n"))
