"""`agiraph send`, `nudge`, `messages`: write to a team, and list its members' messages."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from agiraph.core.errors import InvalidInput
from agiraph.core.models import DeliveryMode
from cli.api_command import api_command
from cli.options.shared import run_option, text_argument
from cli.output.formats import format_time
from cli.output.listing import Column, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.api import SentView
    from agiraph.http.client import Client

MOST_ATTACHED = 1 << 30
"""In bytes; the server may allow less (`http.attachment_bytes`)."""

ID_DIGITS = 8
"""A shorter number is a message's number in the log, any other text the beginning of an id."""

MESSAGES = (
    Column("NO", "seq", align="right"),
    Column("TIME", "ts", format_time),
    Column("FROM", "from"),
    Column("TO", "to"),
    Column("MESSAGE", "content", wide=True),
)


@api_command(
    "agiraph send my-agent 'How far are you?'",
    "agiraph send my-agent 'Only the tables, please' --to alice",
    "agiraph send my-agent 'Publish what you have' --to '*' --mode interrupt",
    "agiraph send my-agent 'Data centers only' --reply-to 12",
    "agiraph send my-agent 'Use these prices' --attach prices.csv",
    "git log --oneline | agiraph send my-agent -",
    json="one JSON object: id, to, ts",
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
@click.option(
    "--attach",
    "files",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A file that the whole team may then read. Several are possible.",
)
def send(
    client: "Client",
    agent: str,
    text: str,
    to: str | None,
    mode: DeliveryMode,
    reply_to: str | None,
    files: tuple[Path, ...],
) -> Shown:
    """Send TEXT (- for stdin) to AGENT, an id or a name, or to one of its workers.

    Returns once the message is on disk: it reaches its receiver even if that crashes now. It
    answers the receiver's last message to you, unless --reply-to names another.
    """
    content = text_argument(text, "TEXT")
    more = {} if reply_to is None else {"in_reply_to": _message_id(client, agent, reply_to)}
    contents = [(file.name, _content_of(file)) for file in files]
    attached = [client.attach(agent, name, data).path for name, data in contents]
    return _sent(client.send(agent, content, to=to, mode=mode, attachments=attached, **more))


def _content_of(file: Path) -> bytes:
    """Return the bytes of a file that the person names; it may be a device without an end."""
    with file.open("rb") as opened:  # plain: named by the person
        content = opened.read(MOST_ATTACHED + 1)
    if len(content) > MOST_ATTACHED:
        raise InvalidInput(f"{file}: has more than {MOST_ATTACHED:,} bytes, and cannot be attached")
    return content


def _sent(sent: "SentView") -> Done:
    return Done(sent, f"sent to {', '.join(sent.to)}")


@api_command("agiraph nudge my-agent 'Keep it under two pages'", json="one JSON object: id, to, ts")
@click.argument("agent")
@click.argument("text")
def nudge(client: "Client", agent: str, text: str) -> Shown:
    """Give the running AGENT an instruction, TEXT (- for stdin), which its coordinator follows.

    The coordinator receives it at its next step, like a message of `agiraph send`; in the events it
    is a `human.nudge`.
    """
    return _sent(client.nudge(agent, text_argument(text, "TEXT")))


@api_command(
    "agiraph messages my-agent",
    "agiraph messages my-agent --after 20 --json",
    json="a JSON array: seq, id, from, to, content, ts",
)
@click.argument("agent")
@click.option(
    "--after", default=0, type=click.IntRange(min=0), help="Only messages after this number."
)
@run_option
def messages(client: "Client", agent: str, after: int, run_id: str | None) -> Shown:
    """List the messages of the team of AGENT, an id or a name, oldest first."""
    found = client.messages(agent, after=after, run=run_id)
    return Listing(found, MESSAGES, "no messages yet")


def _message_id(client: "Client", agent: str, named: str) -> str:
    """Return the id of a message named by its number in the message log, or by its id."""
    if not named.isdigit() or len(named) >= ID_DIGITS:
        return named
    found = client.messages(agent, after=int(named) - 1, limit=1)
    if not found or found[0].seq != int(named):
        raise click.UsageError(
            f"there is no message {named} (`agiraph messages {agent}` lists them)"
        )
    return found[0].id
