"""`agiraph events`: the events of an agent, from its log or as they happen."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from agiraph.core.event_types import types_meant
from cli.console.event_text import line_of
from cli.exits import STDOUT, end_when_unread
from cli.options.shared import connect, connect_to_read, examples, home_option, json_option
from cli.output.formats import format_time
from cli.output.listing import print_json
from cli.sanitize import broken_for

if TYPE_CHECKING:
    from agiraph.http.api import EventView
    from agiraph.http.client import Client

PAGE = 1000


class EventSelection(TypedDict):
    """The filter of events that is sent to the API."""

    types: tuple[str, ...]
    entity: str | None
    node: str | None


@click.command(
    epilog=examples(
        "agiraph events my-agent",
        "agiraph events my-agent -f --type tool.called --type 'node.*'",
        "agiraph events my-agent --entity ada --node pricing",
        "agiraph events my-agent --after 120 --json",
    )
)
@click.argument("agent")
@click.option("-f", "--follow", is_flag=True, help="Follow new events until Ctrl-C.")
@click.option(
    "--after", default=0, type=click.IntRange(min=0), help="Only events after this number (seq)."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@click.option(
    "--type",
    "types",
    multiple=True,
    help="Only this type, or a group of types (node.*); repeatable.",
)
@click.option("--entity", help="Only events by or about this entity (name or address).")
@click.option("--node", help="Only events of this node (name or id).")
@home_option
@json_option("a JSON array (with -f: an object a line)")
def events(
    agent: str,
    follow: bool,
    after: int,
    limit: int | None,
    types: tuple[str, ...],
    entity: str | None,
    node: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """List the events of AGENT, an id or a name, oldest first, or follow them with -f."""
    types_meant(types)  # raises for an unknown type
    wanted: EventSelection = {"types": types, "entity": entity, "node": node}
    with (connect if follow else connect_to_read)(home) as client:
        found = (_follow if follow else _log)(client, agent, after, wanted)
        shown = itertools.islice(found, limit)
        if as_json and not follow:
            print_json([event.model_dump(mode="json") for event in shown])
            return
        for event in shown:
            click.echo(_as_line(event) if as_json else _as_text(event))


def _log(client: "Client", agent: str, after: int, wanted: EventSelection) -> "Iterator[EventView]":
    """Yield the events in the log."""
    while True:
        page = client.events(agent, after=after, limit=PAGE, **wanted)
        yield from page.events
        if page.next <= after:
            return
        after = page.next


def _follow(
    client: "Client", agent: str, after: int, wanted: EventSelection
) -> "Iterator[EventView]":
    """Yield the events in the log, then new events as they happen."""
    end_when_unread(STDOUT)
    with client.follow_events(agent, after=after, **wanted) as follower:
        yield from follower


def _as_line(event: "EventView") -> str:
    return json.dumps(event.model_dump(mode="json"), ensure_ascii=True)


def _as_text(event: "EventView") -> str:
    line = line_of(event)
    facts = f"{event.seq:>5}  {format_time(event.ts)}  {event.type:<18}  "
    return facts + broken_for(sys.stdout, f"{line.who}: {line.text}", len(facts))
