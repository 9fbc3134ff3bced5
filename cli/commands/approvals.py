"""`agiraph approvals`: standing approvals, revoking one, and the rules in force."""

from pathlib import Path

import click

from agiraph.core.ids import abbreviated
from agiraph.tools.approvals.policy import ApprovalRule
from agiraph.tools.approvals.policy_file import policy_file, read_policy
from agiraph.tools.table import tool_names
from cli.formats import format_time
from cli.listing import Column, JsonObject, print_listing, print_result, to_rows
from cli.options import connect, examples, home_option, json_option

COLUMNS = (
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
    """List what you answered with "allow always", for AGENT or for all agents.

    What is asked for at all is defined in approvals.yaml; see `--rules`.
    """
    if rules:
        file = policy_file(home)
        policy = read_policy(file, tool_names())
        listed = [_row(number, rule) for number, rule in enumerate(policy.rules, start=1)]
        empty = f"no rules in {file}: everything is allowed"
        print_listing(listed, RULES, as_json=as_json, empty=empty)
        return
    with connect(home) as client:
        if revoke is not None:
            taken = client.revoke_approval(revoke)
            print_result(taken, f"revoked: {taken.tool} {taken.pattern}", as_json=as_json)
            return
        found = client.approvals(agent)
    empty = "no standing approvals"
    print_listing(to_rows(found), COLUMNS, as_json=as_json, empty=empty)


def _row(number: int, rule: ApprovalRule) -> JsonObject:
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
