"""An `agent_command` from a model: its possible values, and the tools that accept one."""

import json
from pathlib import Path
from typing import Any

import pytest

from agiraph.board.commands import (
    OF_PLAN,
    OF_ROLES,
    CreateNode,
    LaunchRoles,
    SpawnWorker,
    agents_hired,
    author_of,
)
from agiraph.board.plans.planner import plan_of_answer
from agiraph.core.errors import InvalidInput
from agiraph.core.specs import NodeSpec, RoleSpec, StageSpec, WorkerSpec
from agiraph.external.launching import AgentLaunch, argv_of, environment_of, files_of
from agiraph.external.preflight import check_agent
from agiraph.external.preset import AgentPreset, ExternalAgent, load_agents, meant_by
from agiraph.settings.config import load_config
from agiraph.tools.table import TOOLS

ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/me"}
HOSTILE = [
    # agent_command, why it is refused
    ("claude-code --allowedTools Bash --settings {}", "unknown parameter '--allowedTools'"),
    ("claude-code --dangerously-skip-permissions", "parameters: effort=low|medium|high"),
    ("claude-code --permission-mode=bypassPermissions", "unknown parameter '--permission-mode="),
    ("claude-code effort=high --settings '{}'", "unknown parameter '--settings'"),
    ("claude-code effort=--dangerously-skip-permissions", "unknown effort of the external agent"),
    ("claude-code 'effort=high --yolo'", "unknown effort of the external agent"),
    ("claude-code effort=low effort=high", "is set twice"),
    ("claude-code effort", "unknown parameter 'effort'"),
    ("claude-code --", "unknown parameter '--'"),
    ("claude-code -p", "unknown parameter '-p'"),
    ("claude-code start=x", "unknown parameter 'start=x'"),
    ("claude-code\n--dangerously-skip-permissions", "unknown parameter"),
    ("codex -c approval_policy=never", "unknown parameter '-c'"),
    ("opencode-acp --config=x.json", "it has no parameters"),
    ("gemini-acp --yolo", "it has no parameters"),
    ("qwen --approval-mode yolo", "it has no parameters"),
    ("copilot --allow-all-tools", "it has no parameters"),
    ("claude --dangerously-skip-permissions", "unknown external agent 'claude'"),
    ("sh -c 'touch x'", "unknown external agent 'sh'.*a command line can only be used as a preset"),
    ("/bin/sh", "unknown external agent '/bin/sh'.*known: "),
    ("./build.sh --all", "unknown external agent './build.sh'"),
    ("env CLAUDE_CODE_X=1 claude-code", "unknown external agent 'env'"),
    ("CLAUDE_CONFIG_DIR=/tmp claude-code", "unknown external agent 'CLAUDE_CONFIG_DIR=/tmp'"),
    ("Claude-Code", "unknown external agent 'Claude-Code'"),
    ("'claude-code --x'", "unknown external agent 'claude-code --x'"),
    ("claude-code; touch x", "unknown external agent 'claude-code;'"),
]


def asked_by_tools(command: str) -> dict[str, Any]:
    """Return the board requests of each tool of a model, with this command."""
    role = {"name": "a", "prompt": "t", "type": "autonomous", "agent_command": command}
    cause = "agent-1/coordinator#call-1"
    node = NodeSpec(name="n", task="t", agent_command=command)
    worker = WorkerSpec(name="a", type="autonomous", agent_command=command)
    stage = StageSpec(roles=(RoleSpec.model_validate(role),))
    return {
        "create_work_node": CreateNode(cause, node),
        "spawn_worker": SpawnWorker(cause, worker),
        "launch_roles": LaunchRoles(cause, stage),
    }


@pytest.mark.parametrize(("command", "message"), HOSTILE)
def test_a_model_can_name_only_a_preset_and_values_of_its_parameters(
    command: str, message: str, tmp_path: Path
) -> None:
    for tool, asked in asked_by_tools(command).items():
        [agent] = agents_hired(asked)
        with pytest.raises(InvalidInput, match=message.replace("|", r"\|")):
            check_agent(agent, tmp_path, load_config().sandbox, ENVIRON)
        assert agent.author == "model", tool


def test_every_tool_by_which_a_model_can_name_an_agent_is_in_the_table_above() -> None:
    naming = {
        tool.name for tool in TOOLS if "agent_command" in json.dumps(tool.schema().parameters)
    }
    assert naming == set(asked_by_tools("x"))


@pytest.mark.parametrize(
    ("cause", "author"),
    [
        (f"{OF_PLAN}worker:ada", "person"),
        (f"{OF_PLAN}scheduler:3", "person"),
        (f"{OF_ROLES}developer", "person"),
        ("scheduler:3", "model"),
        ("agent-1/coordinator#plan:worker:ada", "model"),
        ("agent-1/ada-7f3#team:x", "model"),
        ("", "model"),
    ],
)
def test_only_plans_and_teams_are_written_by_a_person(cause: str, author: str) -> None:
    assert author_of(cause) == author


NODE = {"id": "a", "task": "t", "role": "worker", "deps": []}
OF_STAGE = {"id": "a", "prompt": "t", "node_type": "agentic", "agent": "codex"}
PLANS: list[dict[str, Any]] = [
    {"nodes": [NODE | {"agent_command": "claude-code"}]},
    {"nodes": [NODE | {"type": "autonomous", "agent": "sh -c true"}]},
    {"nodes": [NODE | {"checks": ["touch x"]}]},
    {"stages": [{"name": "s", "roles": [OF_STAGE]}]},
    {"stages": [{"name": "s", "roles": [{"id": "a", "prompt": "t", "checks": ["touch x"]}]}]},
]


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_that_a_model_makes_names_no_programs(plan: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"has (agent_command|checks), which a plan|agent"):
        plan_of_answer(json.dumps(plan), "hybrid", "goal", 9)


# --- the arguments of an agent -------------------------------------------------------------------

ASKING = [name for name, preset in load_agents().items() if preset.rules == "asked"]
SKIPPING = {
    # Variables of the person's environment that tell some agent to skip permissions.
    "CLAUDE_CODE_SIMPLE": "1",
    "CLAUDE_CONFIG_DIR": "/person/claude",
    "CLAUDE_CODE_PERMISSION_MODE": "bypassPermissions",
    "COPILOT_ALLOW_ALL": "true",
    "COPILOT_HOME": "/person/copilot",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/person/settings.json",
    "GEMINI_YOLO": "1",
    "NODE_OPTIONS": "--require /person/x.js",
    "OPENCODE_CONFIG": "/person/opencode.json",
    "OPENCODE_CONFIG_DIR": "/person/opencode",
    "OPENCODE_PERMISSION": '{"*":"allow"}',
    "QWEN_CODE_SYSTEM_SETTINGS_PATH": "/person/settings.json",
    "XDG_CONFIG_HOME": "/person/.config",
    "XDG_DATA_HOME": "/person/.local",
}


def started(name: str, **more: Any) -> AgentLaunch:
    agent = ExternalAgent(name, load_agents()[name], f"/opt/{name}")
    return AgentLaunch(agent, "do it", Path("/work"), Path("/own"), **more)


CLOSED: list[tuple[str, str, str]] = [
    # an agent that asks, a source of settings that could tell it not to, what closes that source
    ("claude-code", "settings in its folder and HOME: hooks, permissions", "--setting-sources||"),
    ("claude-code", ".mcp.json in its folder", "--strict-mcp-config"),
    ("claude-code", "the default mode of its settings", "--permission-mode|default"),
    (
        "claude-code-acp",
        "settings in its folder and HOME: hooks, permissions",
        '"settingSources":[]',
    ),
    ("claude-code-acp", ".mcp.json in its folder", '"strictMcpConfig":true'),
    ("gemini-acp", "hooks in its folder", '"hooksConfig": {"enabled": false}'),
    ("gemini-acp", "tool servers in its folder", '"mcp": {"allowed": ["-"]}'),
    ("gemini-acp", "settings of its folder", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/own/.gemini/system"),
    ("gemini-acp", "extensions in its HOME", "removed:.gemini/extensions"),
    ("gemini-acp", "policies in its HOME", "removed:.gemini/policies"),
    ("opencode-acp", "configuration in its folder", "OPENCODE_DISABLE_PROJECT_CONFIG=1"),
    ("opencode-acp", "plugins", "OPENCODE_PURE=1"),
    ("opencode-acp", "~/.config/opencode", "XDG_CONFIG_HOME=/own/tmp/"),
    ("opencode-acp", "~/.opencode", "removed:.opencode"),
    ("qwen", "hooks in its folder", '"disableAllHooks": true'),
    ("qwen", "tool servers in its folder", '"mcp": {"allowed": ["-"]}'),
    ("qwen", "settings of its folder", "QWEN_CODE_SYSTEM_SETTINGS_PATH=/own/.qwen/system.json"),
    ("qwen", "extensions in its HOME", "removed:.qwen/extensions"),
]


@pytest.mark.parametrize(("name", "source", "closed_by"), CLOSED)
def test_files_of_an_agent_cannot_turn_off_its_permission_requests(
    name: str, source: str, closed_by: str
) -> None:
    for launch in (started(name), started(name, session="s-1", is_sandboxed=True)):
        preset = launch.agent.preset
        given = [
            "|".join(argv_of(launch)) + "|",
            *(f"{key}={value}" for key, value in environment_of(launch, ENVIRON, {}).items()),
            *files_of(launch).values(),
            json.dumps(preset.meta, separators=(",", ":")),
            *(f"removed:{path}" for path in preset.removed),
        ]
        assert any(closed_by in text for text in given), source


def test_every_agent_that_asks_is_in_the_table_above() -> None:
    assert {name for name, *_ in CLOSED} == set(ASKING)


@pytest.mark.parametrize("name", load_agents())
def test_no_variable_of_the_person_reaches_an_agent(name: str) -> None:
    given = environment_of(started(name), ENVIRON | SKIPPING, {})
    assert not [one for one in SKIPPING if given.get(one) == SKIPPING[one]]


@pytest.mark.parametrize("name", load_agents())
@pytest.mark.parametrize("model", ['m","permission":{"*":"allow"},"x":"', "--yolo", "a b", "a\\"])
def test_no_model_name_becomes_an_option_or_a_setting(name: str, model: str) -> None:
    launch = started(name, model=model)
    with pytest.raises(InvalidInput, match="cannot be given to an external agent"):
        argv_of(launch), environment_of(launch, ENVIRON, {}), files_of(launch)


@pytest.mark.parametrize("name", [n for n, preset in load_agents().items() if preset.resume])
def test_no_session_becomes_an_option(name: str) -> None:
    launch = started(name, session="--dangerously-skip-permissions")
    try:
        words = argv_of(launch)
    except InvalidInput:
        return
    assert launch.session not in words


def test_a_value_that_looks_like_a_placeholder_is_not_filled_in(tmp_path: Path) -> None:
    preset = AgentPreset(command=("x",), start=("{folder}", "{prompt}"))
    agent = ExternalAgent("x", preset, "/x")
    launch = AgentLaunch(agent, "{home}", Path("/{token}"), Path("/own"))
    assert argv_of(launch) == ["/x", "/{token}", "{home}"]


def test_shipped_parameters_change_no_permissions() -> None:
    for name, preset in load_agents().items():
        for values in preset.parameters.values():
            for value, words in values.items():
                assert "permission" not in " ".join((value, *words)), name


def test_a_model_can_set_every_parameter_that_is_shipped() -> None:
    presets = load_agents()
    for name, preset in presets.items():
        for parameter, values in preset.parameters.items():
            for value, words in values.items():
                command = f"{name} {parameter}={value}"
                agent = meant_by(command, presets, ENVIRON, "model")
                assert agent.preset.bare[: len(words)] == words
                assert agent.preset.rules == preset.rules
