"""`agiraph questions` and `agiraph respond`: what agents ask the human, and the answers."""

from collections.abc import Sequence
from pathlib import Path

import click

from agiraph.core.ids import abbreviated, ids_meant
from agiraph.http.api import QuestionView
from cli.formats import format_time
from cli.listing import Column, JsonObject, print_listing, print_result, to_rows
from cli.options import connect, examples, home_option, json_option, text_argument

CHANNEL = "cli"
SHORT = 2
COLUMNS = (
    Column("ID", "id", abbreviated),
    Column("AGENT", "agent", spare=3),
    Column("FROM", "from"),
    Column("ASKED", "asked_at", format_time, spare=2),
    Column("UNTIL", "deadline_at", lambda at: format_time(at) if at else "", spare=1),
    Column("STATUS", "status"),
    Column("QUESTION", "shown", wide=True),
    Column("ANSWER", "answer"),
)


@click.command(epilog=examples("agiraph questions", "agiraph questions --all --json"))
@click.argument("agent", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="Include questions that are no longer open."
)
@home_option
@json_option(
    "a JSON array: id, kind, agent, from, question, options, urgency, deadline_at, default, "
    "asked_at, status, answer, answered_by, answered_at, answered_via"
)
def questions(agent: str | None, everything: bool, home: Path, as_json: bool) -> None:
    """List the open questions of AGENT, or of all agents, oldest first.

    The options of a question are numbered: `agiraph respond ID 1` chooses the first.
    """
    with connect(home) as client:
        found = client.questions(status=None if everything else "open")
        if agent is not None:
            wanted = client.agent(agent).id
            found = [question for question in found if question.agent == wanted]
    rows = to_rows(found)
    if not as_json:
        rows = [row | {"shown": _shown(row)} for row in rows]
    columns = COLUMNS if everything else COLUMNS[:-1]
    print_listing(rows, columns, as_json=as_json, empty="no open questions")


@click.command(
    epilog=examples(
        "agiraph questions",
        "agiraph respond q-3fa9c1d0 'Use SQLite'",
        "agiraph respond q-3fa9c1d0 2",
        "agiraph respond a-81cc07e2 deny --reason 'not on a Friday'",
    )
)
@click.argument("question")
@click.argument("text")
@click.option("--reason", default="", help="A reason, added to the answer as in 'deny: REASON'.")
@home_option
@json_option("one JSON object: the question with its answer")
def respond(question: str, text: str, reason: str, home: Path, as_json: bool) -> None:
    """Answer QUESTION, an id or its beginning as `agiraph questions` lists it, with TEXT.

    TEXT `-` is read from stdin. A number chooses the option of that number, if the question has
    options. An approval is answered with `allow once`, `allow always`, `deny` or `deny: REASON`.
    The first answer counts; a second one is refused, with who answered first, when and from where.
    """
    answer = text_argument(text, "TEXT")
    with connect(home) as client:
        if answer.isdigit():
            answer = _option(client.questions(), question, answer)
        answer = f"{answer}: {reason}" if reason.strip() else answer
        answered = client.answer(question, answer, via=CHANNEL)
    print_result(
        answered, f"{answered.sender} gets your answer to: {answered.question}", as_json=as_json
    )


def _option(found: Sequence[QuestionView], id: str, number: str) -> str:
    """Return the option of a number; the number itself where it cannot be one."""
    meant = ids_meant(id, (question.id for question in found))
    options = next((one.options for one in found if meant == [one.id]), ())
    if 1 <= int(number) <= len(options):
        return options[int(number) - 1]
    if options and len(number) < SHORT:
        listed = ", ".join(f"{n}: {option}" for n, option in enumerate(options, start=1))
        raise click.UsageError(f"question '{id}' has no option {number} ({listed})")
    return number


def _shown(row: JsonObject) -> str:
    """Return a question with its options and its default."""
    listed = ", ".join(f"{n}: {text}" for n, text in enumerate(row["options"], start=1))
    default = "" if row["default"] is None else f"default: {row['default']}"
    more = "; ".join(part for part in (listed, default) if part)
    urgent = "(urgent) " if row["urgency"] == "urgent" else ""
    return f"{urgent}{row['question']}" + (f" [{more}]" if more else "")
