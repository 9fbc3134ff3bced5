"""Checks and warnings before an external agent starts: rules, and its own sandbox."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.specs import AskedAgent, Author
from agiraph.external.preflight import (
    check_agent,
    permitted_agents,
    warnings_about,
    why_not_confined,
)
from agiraph.external.preset import AgentPreset, ExternalAgent, RulesHeld, load_agents, meant_by
from agiraph.settings.config import load_config
from agiraph.tools.approvals.policy import ActingEntity, ApprovalPolicy, ApprovalRule
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.sandbox.sandbox import Sandbox

PUSH = ApprovalRule(action="ask", name="no-push", tool=("bash",), pattern="*git push*")
CONFIG = load_config().sandbox
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
        ApprovalRule(action="deny", tool=("reconvene",)),
        PUSH.model_copy(update={"worker": ("intern*",)}),
        PUSH.model_copy(update={"sandboxed": False}),
    ],
)
def test_rule_on_an_action_the_agent_lacks_gives_no_warning(rule: ApprovalRule) -> None:
    assert warnings(robot(), rule) == []


def test_asking_agent_gets_warnings_only_of_spending_and_its_own_account() -> None:
    assert warnings(robot("asked"), PUSH) == []
    limit = ApprovalRule(action="ask", name="limit", tool=("spend",), over_usd=5)
    [spending] = warnings(robot("asked"), PUSH, limit)
    text = "the rule 'limit' of approvals.yaml cannot ask before robot calls a model"
    assert spending.startswith(text)
    [own] = warnings(robot("asked", account="own"))
    assert "it can read your keys and settings" in own


# --- rules that cannot be enforced ----------------------------------------------------------------


def asked(command: str, author: Author = "model", **more: str) -> AskedAgent:
    return AskedAgent.model_validate({"command": command, "author": author, "name": "ada", **more})


NO_BASH = "{name: no-bash, tool: bash, action: deny}"
SPENDING = "{name: limit, tool: spend, over_usd: 5, action: ask}"
INTERNS = "{name: interns, tool: bash, action: ask, worker: 'intern*'}"
AGENTS = """
asks: {command: [sh], rules: asked, parameters: {depth: {deep: [--deep]}}}
asks-freely: {command: [sh], rules: asked, rule_exempt: true}
denies: {command: [sh], rules: denied}
robot: {command: [sh], parameters: {depth: {deep: [--deep]}}}
free: {command: [sh], rule_exempt: true}
"""
REFUSED, ALLOWED = True, False
ENFORCED: list[tuple[str, Author, str, bool]] = [
    # agent_command, its author, a rule, whether the agent is refused
    ("asks", "model", NO_BASH, ALLOWED),
    ("asks depth=deep", "model", NO_BASH, ALLOWED),
    ("asks --deep", "person", NO_BASH, REFUSED),
    ("asks", "model", SPENDING, REFUSED),
    ("asks", "model", "{name: quiet, tool: send_message, action: ask}", REFUSED),
    ("asks", "model", "{name: all, tool: '*', action: ask}", ALLOWED),
    ("asks-freely", "model", SPENDING, ALLOWED),
    ("denies", "model", NO_BASH, REFUSED),
    ("robot", "model", NO_BASH, REFUSED),
    ("robot depth=deep", "model", NO_BASH, REFUSED),
    ("robot", "person", NO_BASH, REFUSED),
    ("robot", "model", INTERNS, ALLOWED),
    ("robot", "model", "{name: all, action: allow}", ALLOWED),
    ("robot", "model", "not a rule", REFUSED),
    ("free", "model", NO_BASH, ALLOWED),
    ("free --deep", "person", NO_BASH, ALLOWED),
    ("sh -c true", "person", NO_BASH, REFUSED),
    ("sh -c true", "person", INTERNS, ALLOWED),
]


@pytest.mark.parametrize(("command", "author", "rule", "is_refused"), ENFORCED)
def test_agent_without_enforceable_rules_is_refused_unless_a_person_exempts_it(
    command: str, author: Author, rule: str, is_refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "agents.yaml").write_text(AGENTS)
    (tmp_path / "approvals.yaml").write_text(f"rules: [{rule}]\n")
    args = (asked(command, author), tmp_path, CONFIG, {"PATH": "/usr/bin:/bin"})
    if is_refused:
        with pytest.raises(InvalidInput, match="rules cannot be enforced"):
            check_agent(*args)
    else:
        check_agent(*args)
    permitted = permitted_agents(tmp_path, CONFIG, {"PATH": "/usr/bin:/bin"})
    name = command.partition(" ")[0]
    if author == "model":
        assert (name in {agent.name for agent in permitted}) == (not is_refused)


@pytest.mark.parametrize("model", ['p/m","permission":{"*":"allow"}', "p/--yolo", "p/a b", "p/{x}"])
def test_a_model_that_an_agent_could_read_as_a_setting_is_refused(
    model: str, tmp_path: Path
) -> None:
    (tmp_path / "agents.yaml").write_text(AGENTS)
    with pytest.raises(InvalidInput, match="cannot be given to an external agent"):
        check_agent(asked("asks", model=model), tmp_path, CONFIG, {"PATH": "/usr/bin:/bin"})


def program(folder: Path, text: str, name: str = "codex") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_command_line_agent_is_warned_that_it_does_not_ask(tmp_path: Path) -> None:
    build = program(tmp_path, "#!/bin/sh\n", "build")
    assert warnings(meant_by(f"{build} --all", load_agents(), {"PATH": "/bin"}, "person"), PUSH)


# --- its own sandbox -----------------------------------------------------------------------------

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


def test_agent_without_a_working_sandbox_is_refused_with_advice(tmp_path: Path) -> None:
    agent = codex(tmp_path, FORBIDDEN)
    why = why_not_confined(agent, WITHOUT, {})
    assert "(bwrap: No permissions to create a new namespace)" in why
    assert "bubblewrap is not installed (apt install bubblewrap)" in why
    assert why_not_confined(agent, WITHOUT, {}) == why
    assert (tmp_path / "codex.log").read_text() == "x\n", "it is tried once a process"


def test_agent_in_our_sandbox_needs_no_sandbox_of_its_own(tmp_path: Path) -> None:
    assert why_not_confined(codex(tmp_path, FORBIDDEN), WITHIN, {}) == ""
    assert not (tmp_path / "codex.log").exists()


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\nexit 2\n", "no program"])
def test_agent_with_a_working_or_untested_sandbox_is_accepted(tmp_path: Path, text: str) -> None:
    assert why_not_confined(codex(tmp_path, text), WITHOUT, {}) == ""


def test_agent_without_a_sandbox_test_is_accepted_and_one_without_its_helper_is_not() -> None:
    def why(*trial: str) -> str:
        agent = ExternalAgent("x", AgentPreset(command=("x",), trial=trial), "/x")
        return why_not_confined(agent, WITHOUT, {"PATH": ""})

    assert why() == ""
    assert why("no-bwrap", "true").startswith("its own sandbox does not work (no-bwrap is not")


def test_worker_with_an_unconfined_agent_is_refused_at_creation(tmp_path: Path) -> None:
    codex(tmp_path, FORBIDDEN)
    config = CONFIG.model_copy(update={"mode": "none"})
    message = "'codex' cannot work here.*No permissions.*sandbox.mode is none"
    with pytest.raises(InvalidInput, match=message):
        check_agent(asked("codex"), tmp_path, config, {"PATH": str(tmp_path)})
