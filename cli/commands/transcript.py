"""`agiraph transcript`: the conversation of one entity, as a page for people."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.naming import meant
from agiraph.http.errors import ApiError, NotReachable
from cli.console.event_text import arguments_in_lines
from cli.exits import DONE
from cli.options.everywhere import remark
from cli.options.shared import (
    connect_to_read,
    examples,
    home_option,
    json_option,
    require_writable,
    run_option,
)
from cli.output.formats import entity_name, format_time
from cli.output.listing import print_json, to_rows
from cli.sanitize import one_line, printable

if TYPE_CHECKING:
    from agiraph.core.turns import ToolCall
    from agiraph.http.api import EntityView, TranscriptEntryView
    from agiraph.http.client import Client

PAGE: Final = 1000
FENCE: Final = "```"
PAGER_OPTIONS: Final = "FRX"
"""The options of `less` if LESS is not set: exit at once if the text fits the screen, as in git."""


@click.command(
    epilog=examples(
        "agiraph transcript my-agent",
        "agiraph transcript my-agent/ada",
        "agiraph transcript my-agent/ada --search 'exit code 1'",
        "agiraph transcript ada -o ada.md",
        "agiraph transcript my-agent/ada --json",
    )
)
@click.argument("entity")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it into this file, which must not exist.",
)
@click.option("--search", default="", help="Only entries with these words.")
@run_option
@home_option
@json_option("a JSON array: seq, kind, ts, role, from, content, tool_calls and more")
@click.pass_context
def transcript(
    ctx: click.Context,
    entity: str,
    output: Path | None,
    search: str,
    run_id: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Print the conversation of ENTITY as Markdown, also of a worker that has finished.

    ENTITY is an agent (its coordinator is meant), AGENT/WORKER, or the name of a worker at work.
    On a terminal it is shown with $PAGER. A coordinator has one conversation for all runs of its
    agent; --run is for the workers of an older one.
    """
    if output is not None:
        if output.exists():  # plain: where the person wants it
            raise InvalidInput(f"{output} exists (possible: another name)")
        require_writable(output)
    with connect_to_read(home) as client:
        agent, name = _entity(client, entity)
        entries = _entries(client, agent, name, run_id, search)
        if as_json:
            print_json(to_rows(entries))
        elif output is not None:
            with open(output, "x", encoding="utf-8") as file:  # plain: where the person wants it
                file.writelines(page(f"{agent}/{name}", entries))
            remark(f"transcript: {output}")
        else:
            _show(page(f"{agent}/{name}", entries))
    ctx.exit(DONE)


def _entity(client: "Client", named: str) -> tuple[str, str]:
    """Return the agent's id and the entity's key, named by name, id or beginning.

    Raises ApiError.
    """
    agent, slash, inner = named.partition("/")
    if slash:
        return client.agent(agent).id, inner
    agents = client.agents()
    team = [(one.name, one.address) for one in _team_members(client)]
    home = [(name, f"{a.id}/{COORDINATOR_NAME}") for a in agents for name in (a.name, a.id)]
    known = [f"{one.name} ({one.id})" for one in agents]
    owner, _, member = meant("agent", named, [*home, *team], known=known).partition("/")
    return owner, member


def _team_members(client: "Client") -> "list[EntityView]":
    try:
        return [entity for entity in client.entities() if "/" in entity.address]
    except (ApiError, NotReachable):
        return []  # nothing runs


def _entries(
    client: "Client", agent: str, entity: str, run: str | None, search: str
) -> "Iterator[TranscriptEntryView]":
    """Yield the records of a conversation, oldest first, page by page."""
    after = 0
    while True:
        found = client.transcript(agent, entity, after=after, limit=PAGE, run=run, search=search)
        yield from found.entries
        if len(found.entries) < PAGE:
            return
        after = found.next


# --- as a page -----------------------------------------------------------------------------------


def page(title: str, entries: "Iterable[TranscriptEntryView]") -> Iterator[str]:
    """Yield a conversation as Markdown, part by part."""
    yield f"# {title}\n"
    for entry in entries:
        if part := _part(entry):
            yield f"\n{part}\n"


def _part(entry: "TranscriptEntryView") -> str:
    """Return the text of one record for people, '' if it is only for the runtime."""
    when, text = format_time(entry.ts), printable(entry.content or "").strip()
    match entry.kind:
        case "said":
            return _said(entry, when, text)
        case "tool.finished":
            outcome = "failed" if entry.is_error else "result"
            return f"### {outcome} of {one_line(entry.name)} · {when}\n\n{_block(text)}"
        case "assigned":
            return f"## given a node · {when}\n\n{_quoted(text)}"
        case "run.began":
            return f"## given another goal · {when}\n\n{_quoted(text)}"
        case "compacted":
            return f"## the conversation was shortened · {when}"
        case _ if text:
            who = entity_name(one_line(entry.sender)) or "runtime"
            return f"## {who} · {when}\n\n{_quoted(text)}"
        case _:
            return ""


def _said(entry: "TranscriptEntryView", when: str, text: str) -> str:
    model = f" · {one_line(entry.model)}" if entry.model else ""
    cut = " · interrupted" if entry.interrupted else ""
    parts = [f"## says · {when}{model}{cut}", *([text] if text else [])]
    return "\n\n".join((*parts, *map(_call, entry.tool_calls)))


def _call(call: "ToolCall") -> str:
    arguments = printable(arguments_in_lines(call.arguments))
    return f"### calls {one_line(call.name)}" + (f"\n\n{_block(arguments)}" if arguments else "")


def _block(text: str) -> str:
    """Return text unchanged in a fence that is longer than any fence within the text."""
    fence = FENCE
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _show(parts: Iterator[str]) -> None:
    if not sys.stdout.isatty():
        for part in parts:
            click.echo(part, nl=False)
        return
    os.environ.setdefault("LESS", PAGER_OPTIONS)
    click.echo_via_pager(parts)
