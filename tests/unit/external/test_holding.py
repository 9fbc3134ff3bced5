"""What is said of an outside agent before it starts: the rules that do not hold it."""

from pathlib import Path

import pytest

from agiraph.external.preflight import warnings_about
from agiraph.external.preset import AgentPreset, ExternalAgent, RulesHeld, load_agents, meant_by
from agiraph.tools.approvals.policy import ActingEntity, ApprovalPolicy, ApprovalRule

PUSH = ApprovalRule(action="ask", name="no-push", tool=("bash",), pattern="*git push*")
ADA = ActingEntity("ada", "writer", is_sandboxed=True)


def agent(rules: RulesHeld = "sandbox", account: str = "door") -> ExternalAgent:
    preset = AgentPreset.model_validate({"command": ["robot"], "rules": rules, "account": account})
    return ExternalAgent("robot", preset, "/bin/robot")


def test_the_rules_that_an_agent_does_not_ask_about_are_named() -> None:
    every = ApprovalRule(action="deny", name="nothing-bare", tool=("*",), sandboxed=False)
    rules = ApprovalPolicy((PUSH, every, ApprovalRule(action="allow", tool=("bash",))))
    told = (
        "robot does not ask before it acts: the rule 'no-push' of approvals.yaml does not "
        "apply to it"
    )
    assert warnings_about(agent(), rules, ADA) == [f"{told}; only the sandbox confines it"]
    [bare] = warnings_about(agent(), rules, ActingEntity("ada", is_sandboxed=False))
    both = "the rules 'no-push', 'nothing-bare' of approvals.yaml do not apply to it"
    assert bare.endswith(f"{both}; and no sandbox of ours does")
    [denied] = warnings_about(agent("denied"), rules, ADA)
    assert denied == f"{told}; its own configuration says what it may not do"


@pytest.mark.parametrize(
    "rule",
    [
        ApprovalRule(action="allow", tool=("bash",)),
        ApprovalRule(action="ask", tool=("stage",)),
        ApprovalRule(action="deny", tool=("publish",)),
        PUSH.model_copy(update={"worker": ("intern*",)}),
        PUSH.model_copy(update={"sandboxed": False}),
    ],
)
def test_rules_on_what_it_does_not_do_are_none_of_its(rule: ApprovalRule) -> None:
    assert warnings_about(agent(), ApprovalPolicy((rule,)), ADA) == []


def test_of_one_that_asks_nothing_is_said_but_of_spending() -> None:
    assert warnings_about(agent("asked"), ApprovalPolicy((PUSH,)), ADA) == []
    limit = ApprovalRule(action="ask", name="limit", tool=("spend",), over_usd=5)
    [told] = warnings_about(agent("asked"), ApprovalPolicy((PUSH, limit)), ADA)
    assert told.startswith(
        "the rule 'limit' of approvals.yaml cannot ask before robot calls a model"
    )


def test_of_one_with_an_account_of_its_own_it_is_said_what_it_can_read() -> None:
    [told] = warnings_about(agent("asked", account="own"), ApprovalPolicy(), ADA)
    assert "it can read your keys and settings" in told


def test_a_command_line_asks_nobody(tmp_path: Path) -> None:
    program = tmp_path / "build"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    meant = meant_by(f"{program} --all", load_agents(), {"PATH": "/bin"})
    assert warnings_about(meant, ApprovalPolicy((PUSH,)), ADA)
