"""What is to be known before an outside agent starts: which rules do not hold it; pure."""

from collections.abc import Sequence

from agiraph.external.preset import ExternalAgent
from agiraph.tools.approvals.policy import SPEND, ActingEntity, ApprovalPolicy, ApprovalRule

ITS_TOOLS = ("bash", "read_file", "write_file", "web_fetch", "web_search")
"""The tools of Agiraph's that the tools of an outside agent count as."""


def warnings_about(agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity) -> list[str]:
    """Return what a person who wrote these rules has to know of this agent; mostly nothing.

    `who` is the worker that it works in.
    """
    found: list[str] = []
    if unheld := rules_not_held(agent, policy, who):
        found.append(_unheld(agent, unheld, is_sandboxed=who.is_sandboxed))
    if spending := policy.strict((SPEND,), who):
        held = "a budget stops it" if agent.preset.account == "door" else "nothing stops it"
        found.append(
            f"{_named(spending)} of approvals.yaml cannot ask before {agent.name} calls a model "
            f"({held}: `agiraph budget`)"
        )
    if agent.preset.account == "own":
        found.append(
            f"{agent.name} works with your own login and HOME: it can read your keys and settings "
            "there, and what it spends is not counted here"
        )
    return found


def rules_not_held(
    agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity | None = None
) -> list[ApprovalRule]:
    """Return the rules that would ask for or deny what this agent does, and cannot."""
    return [] if agent.preset.rules == "asked" else policy.strict(ITS_TOOLS, who)


def _unheld(agent: ExternalAgent, rules: Sequence[ApprovalRule], *, is_sandboxed: bool) -> str:
    if agent.preset.rules == "denied":
        held = "its own configuration says what it may not do"
    else:
        held = "only the sandbox holds it" if is_sandboxed else "and no sandbox of ours does"
    verb = "does" if len(rules) == 1 else "do"
    text = f"{agent.name} asks nobody before it acts: {_named(rules)} of approvals.yaml"
    return f"{text} {verb} not hold it; {held}"


def _named(rules: Sequence[ApprovalRule]) -> str:
    shown = ", ".join(f"'{rule.name}'" for rule in rules)
    return f"the rule {shown}" if len(rules) == 1 else f"the rules {shown}"
