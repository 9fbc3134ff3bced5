"""`agiraph send`, `nudge`, `messages`: write to a team, and list what its members wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from agiraph.core.models import DeliveryMode
from cli.formats import format_time
from cli.listing import Column, print_listing, print_result, to_rows
from cli.options import (
    connect,
    examples,
    home_option,
    json_option,
    run_option,
    text_argument,
)

if TYPE_CHECKING:
    from agiraph.http.client import Client

ID_DIGITS = 8
"""A shorter number is that of a message in the log, anything else the beginning of an id."""

MESSAGES = (
    Column("NO", "seq", align="right"),
    Column("TIME", "ts", format_time),
    Column("FROM", "from"),
    Column("TO", "to"),
    Column("MESSAGE", "content", wide=True),
)


@click.command(
    epilog=examples(
        "agiraph send my-agent 'How far are you?'",
        "agiraph send my-agent 'Only the tables, please' --to alice",
        "agiraph send my-agent 'Stop what you do and publish' --to '*' --mode interrupt",
        "agiraph send my-agent 'Data centers only' --reply-to 12",
        "git log --oneline | agiraph send my-agent -",
    )
)
@click.argument("agent")
@click.argument("text")
@click.option(
    "--to", help="A worker's name or id, `coordinator`, or `*` for all [default: coordinator]."
)
@click.option(
    "--mode",
    type=click.Choice(get_args(DeliveryMode)),
    default="steer",
    show_default=True,
    help="steer: at its next step; interrupt: now, cancelling that step; followup: after the node.",
)
@click.option(
    "--reply-to",
    metavar="MESSAGE",
    help="The message it answers (a number in `agiraph messages`, or an id); goes to its sender.",
)
@home_option
@json_option("one JSON object: id, to, ts")
def send(
    agent: str,
    text: str,
    to: str | None,
    mode: DeliveryMode,
    reply_to: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Send TEXT (- for stdin) to an agent or one of its workers.

    Returns once the message is on disk: it reaches its receiver even if that crashes now. It
    answers the receiver's last message to you, unless --reply-to names another.
    """
    content = text_argument(text, "TEXT")
    with connect(home) as client:
        more = {} if reply_to is None else {"in_reply_to": _message_id(client, agent, reply_to)}
        sent = client.send(agent, content, to=to, mode=mode, **more)
    print_result(sent, f"sent to {', '.join(sent.to)}", as_json=as_json)


@click.command(epilog=examples("agiraph nudge my-agent 'Keep it under two pages'"))
@click.argument("agent")
@click.argument("text")
@home_option
@json_option("one JSON object: id, to, ts")
def nudge(agent: str, text: str, home: Path, as_json: bool) -> None:
    """Give a running agent an instruction (- for stdin), which its coordinator follows.

    The coordinator receives it at its next step, like a message of `agiraph send`; in the events it
    is a `human.nudge`.
    """
    content = text_argument(text, "TEXT")
    with connect(home) as client:
        sent = client.nudge(agent, content)
    print_result(sent, f"sent to {', '.join(sent.to)}", as_json=as_json)


@click.command(
    epilog=examples("agiraph messages my-agent", "agiraph messages my-agent --after 20 --json")
)
@click.argument("agent")
@click.option(
    "--after", default=0, type=click.IntRange(min=0), help="Only messages after this number."
)
@run_option
@home_option
@json_option("a JSON array: seq, id, from, to, content, ts")
def messages(agent: str, after: int, run_id: str | None, home: Path, as_json: bool) -> None:
    """List the messages of an agent's team, oldest first."""
    with connect(home) as client:
        rows = to_rows(client.messages(agent, after=after, run=run_id))
    print_listing(rows, MESSAGES, as_json=as_json, empty="no messages yet")


def _message_id(client: "Client", agent: str, named: str) -> str:
    """Return the id of a message that is named by its number in the message log, or by its id."""
    if not named.isdigit() or len(named) >= ID_DIGITS:
        return named
    found = client.messages(agent, after=int(named) - 1, limit=1)
    if not found or found[0].seq != int(named):
        raise click.UsageError(
            f"there is no message {named} (`agiraph messages {agent}` lists them)"
        )
    return found[0].id
