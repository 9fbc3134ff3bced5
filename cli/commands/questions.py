"""`agiraph questions`, `respond`, `approvals`: the questions of agents, and the answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.ids import abbreviated, ids_meant, open_ids_meant
from agiraph.http.api import QuestionView
from cli.api_command import api_command
from cli.options.shared import connect_to_read, examples, home_option, json_option, text_argument
from cli.output.formats import format_time
from cli.output.listing import Column, Done, JsonObject, Listing, Shown
from cli.sanitize import one_line, printable

if TYPE_CHECKING:
    from agiraph.http.client import Client
    from agiraph.tools.approvals.policy import ApprovalRule

CHANNEL = "cli"
SHORT = 2


def _asked(row: JsonObject) -> str:
    """Return a question with its options and its default."""
    listed = ", ".join(f"{n}: {text}" for n, text in enumerate(row["options"], start=1))
    default = "" if row["default"] is None else f"default: {row['default']}"
    more = "; ".join(part for part in (listed, default) if part)
    urgent = "(urgent) " if row["urgency"] == "urgent" else ""
    return f"{urgent}{row['question']}" + (f" [{more}]" if more else "")


QUESTIONS = (
    Column("ID", "id", abbreviated),
    Column("AGENT", "agent", spare=3),
    Column("FROM", "from"),
    Column("ASKED", "asked_at", format_time, spare=2),
    Column("UNTIL", "deadline_at", format_time, spare=1),
    Column("STATUS", "status"),
    Column("QUESTION", "", _asked, wide=True),
    Column("ANSWER", "answer"),
)
APPROVALS = (
    Column("ID", "id", abbreviated),
    Column("AGENT", "agent_name"),
    Column("TOOL", "tool"),
    Column("PATTERN", "pattern", wide=True),
    Column("BY", "by", spare=1),
    Column("SINCE", "at", format_time, spare=2),
)
RULES = (
    Column("NO", "number", align="right"),
    Column("NAME", "name"),
    Column("ACTION", "action"),
    Column("TOOL", "tool"),
    Column("IF", "condition", wide=True),
)


@api_command(
    "agiraph questions",
    "agiraph questions --all --json",
    json="a JSON array: id, kind, agent, from, question, options, urgency, deadline_at, default, "
    "asked_at, status, answer, answered_by, answered_at, answered_via",
)
@click.argument("agent", required=False)
@click.option(
    "-a", "--all", "everything", is_flag=True, help="Include questions that are no longer open."
)
def questions(client: "Client", agent: str | None, everything: bool) -> Shown:
    """List the open questions of AGENT, or of all agents, oldest first.

    The options of a question are numbered: `agiraph respond ID 1` chooses the first.
    """
    found = client.questions(status=None if everything else "open")
    if agent is not None:
        wanted = client.agent(agent).id
        found = [question for question in found if question.agent == wanted]
    return Listing(found, QUESTIONS if everything else QUESTIONS[:-1], "no open questions")


@api_command(
    "agiraph questions",
    "agiraph respond q-3fa9c1d0 'Use SQLite'",
    "agiraph respond q-3fa9c1d0 2",
    "agiraph respond a-81cc07e2 deny --reason 'not on a Friday'",
    json="one JSON object: the question with its answer",
)
@click.argument("question")
@click.argument("text")
@click.option("--reason", default="", help="A reason, added to the answer as in 'deny: REASON'.")
def respond(client: "Client", question: str, text: str, reason: str) -> Shown:
    """Answer QUESTION, an id or its beginning as `agiraph questions` lists it, with TEXT.

    TEXT `-` is read from stdin. A number chooses the option of that number, if the question has
    options. An approval is answered with `allow once`, `allow always`, `deny` or `deny: REASON`.
    The first answer counts; a second one is refused, with the author, time and place of the first.
    """
    answer = text_argument(text, "TEXT")
    if answer.isdigit():
        answer = _option(client.questions(), question, answer)
    answer = f"{answer}: {reason}" if reason.strip() else answer
    answered = client.answer(question, answer, via=CHANNEL)
    asked = printable(f"{answered.sender} gets your answer to: {answered.question}")
    return Done(answered, asked)


def _option(found: Sequence[QuestionView], id: str, number: str) -> str:
    """Return the option of a typed number; the number itself if no option has it."""
    is_open = (question.id for question in found if question.status == "open")
    meant = open_ids_meant(id, is_open) or ids_meant(id, (question.id for question in found))
    options = next((one.options for one in found if meant == [one.id]), ())
    if 1 <= int(number) <= len(options):
        return options[int(number) - 1]
    if options and len(number) < SHORT:
        listed = ", ".join(f"{n}: {option}" for n, option in enumerate(options, start=1))
        raise click.UsageError(f"question '{id}' has no option {number} ({listed})")
    return number


@click.command(
    epilog=examples(
        "agiraph approvals",
        "agiraph approvals my-agent",
        "agiraph approvals --revoke a-3fa9c1d0",
        "agiraph approvals --rules",
    )
)
@click.argument("agent", required=False)
@click.option(
    "--revoke",
    metavar="ID",
    help="Revoke this approval (an id or its beginning): the action is asked for again.",
)
@click.option(
    "--rules", is_flag=True, help="List the rules in force, in the order in which they are matched."
)
@home_option
@json_option("a JSON array: id, agent, agent_name, tool, pattern, rule, by, via, at")
def approvals(
    agent: str | None, revoke: str | None, rules: bool, home: Path, as_json: bool
) -> None:
    """List your standing answers ("allow always"), for AGENT or for all agents.

    The rules are in approvals.yaml; see `--rules`.
    """
    if rules:
        _rules(home).print(as_json=as_json)
        return
    shown: Shown
    with connect_to_read(home) as client:
        if revoke is not None:
            taken = client.revoke_approval(revoke)
            shown = Done(taken, f"revoked: {one_line(f'{taken.tool} {taken.pattern}')}")
        else:
            shown = Listing(client.approvals(agent), APPROVALS, "no standing approvals")
    shown.print(as_json=as_json)


def _rules(home: Path) -> Listing:
    from agiraph.tools.approvals.policy_file import policy_file, read_policy
    from agiraph.tools.table import tool_names

    file = policy_file(home)
    rules = read_policy(file, tool_names()).rules
    rows = [_rule_row(number, rule) for number, rule in enumerate(rules, start=1)]
    return Listing(rows, RULES, f"no rules in {file}: everything is allowed")


def _rule_row(number: int, rule: "ApprovalRule") -> JsonObject:
    conditions = [rule.pattern] if rule.pattern != "*" else []
    conditions += [f"worker {', '.join(rule.worker)}"] if rule.worker != ("*",) else []
    conditions += ["outside its directories"] if rule.outside else []
    conditions += [f"over {rule.over_usd:g} USD"] if rule.over_usd is not None else []
    return {
        "number": number,
        "name": rule.name,
        "action": rule.action,
        "tool": ", ".join(rule.tool),
        "condition": "; ".join(conditions) or "always",
        "reason": rule.reason,
    }
