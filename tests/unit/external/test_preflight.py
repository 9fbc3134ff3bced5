"""What is checked and said before an external agent starts: rules, and its own sandbox."""

from pathlib import Path

import pytest

from agiraph.core.config import load_config
from agiraph.core.errors import InvalidInput
from agiraph.external.preflight import check_agent_command, warnings_about, why_not_confined
from agiraph.external.preset import AgentPreset, ExternalAgent, RulesHeld, load_agents, meant_by
from agiraph.tools.approvals.policy import ActingEntity, ApprovalPolicy, ApprovalRule
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.sandbox.sandbox import Sandbox

PUSH = ApprovalRule(action="ask", name="no-push", tool=("bash",), pattern="*git push*")
ADA = ActingEntity("ada", "writer", is_sandboxed=True)


def robot(rules: RulesHeld = "sandbox", account: str = "door") -> ExternalAgent:
    preset = AgentPreset.model_validate({"command": ["robot"], "rules": rules, "account": account})
    return ExternalAgent("robot", preset, "/bin/robot")


def warnings(agent: ExternalAgent, *rules: ApprovalRule, who: ActingEntity = ADA) -> list[str]:
    return warnings_about(agent, ApprovalPolicy(rules), who)


def test_the_rules_that_do_not_apply_to_an_agent_are_named() -> None:
    every = ApprovalRule(action="deny", name="nothing-bare", tool=("*",), sandboxed=False)
    rules = (PUSH, every, ApprovalRule(action="allow", tool=("bash",)))
    text = "robot does not ask before it acts: the rule 'no-push' of approvals.yaml does not apply"
    assert warnings(robot(), *rules) == [f"{text} to it; only the sandbox confines it"]
    [bare] = warnings(robot(), *rules, who=ActingEntity("ada", is_sandboxed=False))
    both = "the rules 'no-push', 'nothing-bare' of approvals.yaml do not apply to it"
    assert bare.endswith(f"{both}; and no sandbox of ours does")
    [denied] = warnings(robot("denied"), *rules)
    assert denied == f"{text} to it; its own configuration says what it may not do"


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
def test_there_is_no_warning_of_rules_on_what_it_does_not_do(rule: ApprovalRule) -> None:
    assert warnings(robot(), rule) == []


def test_for_one_that_asks_there_is_a_warning_only_of_spending_and_of_its_own_account() -> None:
    assert warnings(robot("asked"), PUSH) == []
    limit = ApprovalRule(action="ask", name="limit", tool=("spend",), over_usd=5)
    [spending] = warnings(robot("asked"), PUSH, limit)
    text = "the rule 'limit' of approvals.yaml cannot ask before robot calls a model"
    assert spending.startswith(text)
    [own] = warnings(robot("asked", account="own"))
    assert "it can read your keys and settings" in own


def program(folder: Path, text: str, name: str = "codex") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_command_line_does_not_ask(tmp_path: Path) -> None:
    build = program(tmp_path, "#!/bin/sh\n", "build")
    assert warnings(meant_by(f"{build} --all", load_agents(), {"PATH": "/bin"}), PUSH)


# --- its own sandbox -----------------------------------------------------------------------------

CONFIG = load_config().sandbox
MISSING = SandboxProbe(why="bubblewrap is not installed", advice="apt install bubblewrap")
WITHOUT, WITHIN = Sandbox(CONFIG, MISSING), Sandbox(CONFIG, SandboxProbe("/usr/bin/bwrap"))
FORBIDDEN = """\
#!/bin/sh
[ "$*" = "sandbox -c sandbox_mode=workspace-write -- true" ] || exit 9
echo x >> "$0.log"
echo "WARNING: proceeding" >&2
echo "bwrap: No permissions to create a new namespace" >&2
exit 1
"""


def codex(folder: Path, text: str) -> ExternalAgent:
    return ExternalAgent("codex", load_agents()["codex"], str(program(folder, text)))


def test_one_whose_sandbox_does_not_work_is_refused_with_what_can_be_done(tmp_path: Path) -> None:
    agent = codex(tmp_path, FORBIDDEN)
    why = why_not_confined(agent, WITHOUT, {})
    assert "(bwrap: No permissions to create a new namespace)" in why
    assert "bubblewrap is not installed (apt install bubblewrap)" in why
    assert why_not_confined(agent, WITHOUT, {}) == why
    assert (tmp_path / "codex.log").read_text() == "x\n", "it is tried once a process"


def test_in_a_sandbox_of_ours_it_needs_none_of_its_own(tmp_path: Path) -> None:
    assert why_not_confined(codex(tmp_path, FORBIDDEN), WITHIN, {}) == ""
    assert not (tmp_path / "codex.log").exists()


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\nexit 2\n", "no program"])
def test_one_that_works_or_knows_no_such_trial_is_accepted(tmp_path: Path, text: str) -> None:
    assert why_not_confined(codex(tmp_path, text), WITHOUT, {}) == ""


def test_one_without_a_trial_is_accepted_and_one_without_its_helper_is_not() -> None:
    def why(*trial: str) -> str:
        agent = ExternalAgent("x", AgentPreset(command=("x",), trial=trial), "/x")
        return why_not_confined(agent, WITHOUT, {"PATH": ""})

    assert why() == ""
    assert why("no-bwrap", "true").startswith("its own sandbox does not work (no-bwrap is not")


def test_a_worker_with_such_an_agent_is_refused_when_it_is_created(tmp_path: Path) -> None:
    codex(tmp_path, FORBIDDEN)
    config = CONFIG.model_copy(update={"mode": "none"})
    message = "'codex' cannot work here.*No permissions.*sandbox.mode is none"
    with pytest.raises(InvalidInput, match=message):
        check_agent_command("codex", tmp_path, config, {"PATH": str(tmp_path)})
