"""`agiraph events`: what happened in an agent, from its log or as it happens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from actors.console.narrate import Narrator
from agiraph.models import Event
from cli.listing import clock_time, print_json
from cli.options import connect, examples, home_option

if TYPE_CHECKING:
    from agiraph.client import Client

PAGE = 1000


@click.command(
    epilog=examples(
        "agiraph events my-agent",
        "agiraph events my-agent -f --type tool. --type node.",
        "agiraph events my-agent --after 120 --json",
    )
)
@click.argument("agent")
@click.option("-f", "--follow", is_flag=True, help="Go on as things happen, until Ctrl-C.")
@click.option("--after", default=0, type=click.IntRange(min=0), help="Only those after this seq.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@click.option("--type", "types", multiple=True, help="Only types that begin so, such as tool.")
@home_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON array (with -f: an object a line)."
)
def events(
    agent: str,
    follow: bool,
    after: int,
    limit: int | None,
    types: tuple[str, ...],
    home: Path,
    as_json: bool,
) -> None:
    """List what happened in an agent, oldest first, or follow it with -f."""
    with connect(home) as client:
        found = _follow(client, agent, after) if follow else _log(client, agent, after)
        wanted = _first(limit, (e for e in found if not types or e.type.startswith(types)))
        if as_json and not follow:
            print_json([event.model_dump(mode="json") for event in wanted])
            return
        narrator = Narrator()
        for event in wanted:
            click.echo(_as_line(event) if as_json else _as_text(narrator, event))


def _log(client: "Client", agent: str, after: int) -> Iterator[Event]:
    while True:
        page = client.events(agent, after=after, limit=PAGE)
        yield from page.events
        if len(page.events) < PAGE or page.next <= after:
            return
        after = page.next


def _follow(client: "Client", agent: str, after: int) -> Iterator[Event]:
    with client.follow_events(agent, after=after) as follower:
        yield from follower


def _first(limit: int | None, found: Iterator[Event]) -> Iterator[Event]:
    for number, event in enumerate(found, start=1):
        yield event
        if number == limit:
            return


def _as_line(event: Event) -> str:
    return json.dumps(event.model_dump(mode="json"), ensure_ascii=True)


def _as_text(narrator: Narrator, event: Event) -> str:
    line = narrator.tell(event)
    return f"{event.seq:>5}  {clock_time(event.ts)}  {event.type:<18}  {line.who}: {line.text}"
