"""`agiraph console`: a person's own terminal as an actor on the bus, talking with one team."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.api import AgentSummary
from agiraph.errors import InvalidInput
from cli.options import connect, examples, home_option

if TYPE_CHECKING:
    from agiraph.client import Client

OVER = frozenset({"completed", "failed", "stopped"})


@click.command(
    epilog=examples(
        "agiraph console my-agent",
        "echo 'How far are you?' | agiraph console my-agent",
        "printf '@alice only the tables\\n/quit\\n' | agiraph console my-agent",
    )
)
@click.argument("agent", required=False)
@click.option(
    "--wait",
    "linger_seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="When a pipe ends: seconds to wait for the team's next word.",
)
@home_option
def console(agent: str | None, linger_seconds: float, home: Path) -> None:
    """Talk with a running team; without AGENT, with the only one that is at work.

    A line goes to the coordinator (or answers the one open question), `@name text` to a worker,
    `@* text` to all, `/answer ID text` answers a question, `/board` shows the work, `/quit` leaves.
    """
    from actors.console.main import converse

    with connect(home) as client:
        chosen = client.agent(agent) if agent else only_one(client)
    if sys.stdin.isatty():
        click.echo("/help says what can be typed, /quit leaves", err=True)
    converse(lambda: connect(home), chosen, click.echo, linger_seconds)


def only_one(client: "Client") -> AgentSummary:
    """Return the only agent there is, or the only one at work; raises InvalidInput."""
    found = client.agents()
    candidates = [agent for agent in found if agent.status not in OVER] or found
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise InvalidInput("there is no agent yet: start one with `agiraph run`")
    names = ", ".join(agent.id for agent in candidates)
    raise InvalidInput(f"which agent? name one: agiraph console AGENT (there are: {names})")
