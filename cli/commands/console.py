"""`agiraph console`: a person's terminal on one team."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput, listed
from agiraph.core.models import ENDED_AGENT
from agiraph.http.api import AgentView
from cli.options.everywhere import remark
from cli.options.shared import cli_context, duration, examples, home_option
from cli.run.supervisor_share import shared_supervisor

if TYPE_CHECKING:
    from agiraph.http.client import Client


@click.command(
    epilog=examples(
        "agiraph console my-agent",
        "agiraph console my-agent --to ada",
        "echo 'How far are you?' | agiraph console my-agent",
        "printf '@alice only the tables\\n/quit\\n' | agiraph console my-agent --plain",
    )
)
@click.argument("agent", required=False)
@click.option(
    "--plain",
    is_flag=True,
    help="Plain lines, for pipes and screen readers [default: if this is not a terminal].",
)
@click.option("--to", "entity", help="Show this worker first, or the whole team as '*'.")
@click.option(
    "--wait",
    "linger_seconds",
    type=duration(least=0),
    default="1m",
    show_default=True,
    help="When a pipe ends: how long to wait for the next message of the team.",
)
@home_option
def console(
    agent: str | None, plain: bool, entity: str | None, linger_seconds: float, home: Path
) -> None:
    """Talk with the team of AGENT; without AGENT, with the only agent at work.

    On a terminal: the team at the side, the conversation in the middle, questions on top; F1 or
    /help lists every key. A line goes to the coordinator, `@name text` to a worker, `@* text` to
    all; /quit leaves the console, and the team continues.
    """
    with shared_supervisor(home):
        _show(agent, home, entity, linger_seconds, is_plain=plain or not is_screen())


def _show(
    agent: str | None, home: Path, entity: str | None, linger_seconds: float, *, is_plain: bool
) -> None:
    connect = cli_context().connect  # connected here: threads that reconnect have no click context
    with connect(home) as client:
        chosen = client.agent(agent) if agent else client.agent(only_one(client, "console").id)
    if not is_plain:
        from cli.console.ui.main import show_console

        show_console(lambda: connect(home), chosen, entity)
        return
    from cli.console.session import converse

    if sys.stdin.isatty():
        remark("/help lists the commands, /quit leaves")
    converse(lambda: connect(home), chosen, click.echo, linger_seconds)


def is_screen() -> bool:
    """Whether stdin and stdout are a terminal that can be drawn on."""
    is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "")
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_dumb


def only_one(client: "Client", command: str) -> AgentView:
    """Return the only agent, or the only agent at work. Raises InvalidInput, naming `command`."""
    found = client.agents()
    candidates = [agent for agent in found if agent.status not in ENDED_AGENT] or found
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise InvalidInput("no agents yet; create one with `agiraph run`")
    names = listed([agent.id for agent in candidates])
    raise InvalidInput(f"several agents: name one with `agiraph {command} AGENT` (known: {names})")
