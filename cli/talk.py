"""`agiraph send`, `questions`, `respond`: a person talks with a team, one line at a time."""

from pathlib import Path
from typing import get_args

import click

from agiraph.models import DeliveryMode
from cli.listing import Column, clock_time, print_json, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option, text_argument

COLUMNS = (
    Column("ID", "id"),
    Column("AGENT", "agent", spare=2),
    Column("FROM", "from"),
    Column("ASKED", "asked_at", clock_time, spare=1),
    Column("STATUS", "status"),
    Column("QUESTION", "question", wide=True),
    Column("ANSWER", "answer"),
)


@click.command(
    epilog=examples(
        "agiraph send my-agent 'How far are you?'",
        "agiraph send my-agent 'Only the tables, please' --to alice",
        "agiraph send my-agent 'Stop what you do and publish' --to '*' --mode interrupt",
        "git log --oneline | agiraph send my-agent -",
    )
)
@click.argument("agent")
@click.argument("text")
@click.option(
    "--to", help="A worker's name or id, coordinator, or * for all [default: coordinator]."
)
@click.option(
    "--mode",
    type=click.Choice(get_args(DeliveryMode)),
    default="steer",
    show_default=True,
    help="At the next step, at once, or after the current node.",
)
@home_option
@json_option("one JSON object: id, to, ts")
def send(
    agent: str, text: str, to: str | None, mode: DeliveryMode, home: Path, as_json: bool
) -> None:
    """Send TEXT (- for stdin) to an agent or one of its workers.

    Returns once the message is safe on disk: it reaches its receiver even if that dies now.
    """
    content = text_argument(text, "TEXT")
    with connect(home) as client:
        sent = client.send(agent, content, to=to, mode=mode)
    if as_json:
        print_json(to_rows([sent])[0])
    else:
        click.echo(f"sent to {', '.join(sent.to)}")


@click.command(epilog=examples("agiraph questions", "agiraph questions --all --json"))
@click.argument("agent", required=False)
@click.option("--all", "everything", is_flag=True, help="Also those that were answered.")
@home_option
@json_option("a JSON array: id, agent, from, question, asked_at, status, answer")
def questions(agent: str | None, everything: bool, home: Path, as_json: bool) -> None:
    """List the open questions to you, oldest first; of one AGENT, or of all."""
    with connect(home) as client:
        found = client.questions(status=None if everything else "open")
        if agent is not None:
            wanted = client.agent(agent).id
            found = [question for question in found if question.agent == wanted]
    columns = COLUMNS if everything else COLUMNS[:-1]
    print_listing(to_rows(found), columns, as_json=as_json, empty="no open question")


@click.command(epilog=examples("agiraph questions", "agiraph respond q-3fa9c1 'Use SQLite'"))
@click.argument("question")
@click.argument("text")
@home_option
@json_option("one JSON object: the question with its answer")
def respond(question: str, text: str, home: Path, as_json: bool) -> None:
    """Answer QUESTION (its id, as `agiraph questions` lists it) with TEXT (- for stdin)."""
    answer = text_argument(text, "TEXT")
    with connect(home) as client:
        answered = client.answer(question, answer)
    if as_json:
        print_json(to_rows([answered])[0])
    else:
        click.echo(f"{answered.sender} gets your answer to: {answered.question}")
