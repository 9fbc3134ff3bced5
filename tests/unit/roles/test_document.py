"""The description of the Agentic Team, section by section: each row and each example."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from mcp import Client
from pydantic import ValidationError

from agiraph.agent.prompts import render
from agiraph.core.errors import InvalidInput
from agiraph.core.event_types import EVENT_TYPES
from agiraph.core.roles import USER, RoleTeamTerms, agents_of, kind_of, problems_of, roles_of
from agiraph.core.specs import AskedAgent, WorkerSpec
from agiraph.external.preflight import check_agent
from agiraph.external.preset import load_agents
from agiraph.http.api import CheckRolesRequest, CreateAgentRequest, EventView, RoleTeamRunView
from agiraph.http.mcp_server.clients import ApiClients
from agiraph.http.mcp_server.toolset import make_server
from agiraph.models.registry import load_presets, only_writes, preset_of
from agiraph.roles.decisions import SCHEMA, RoleDecision, parse_decision
from agiraph.roles.engine import ESCALATED, Failure, RoleTeamState, RoleTurn, edges_of
from agiraph.roles.on_board import Attempt, worker_for
from agiraph.settings.config import load_config
from cli.options.shared import text_argument
from cli.roles.command import roles as roles_command
from cli.roles.shell import agentic_shell
from cli.roles.shell_words import ABOUT
from cli.run.progress import RunProgress
from tests.unit.cli.fakes import event
from tests.unit.roles.teams import (
    AGENTS,
    ARCHITECT,
    DEVELOPER,
    DEVOPS,
    LEAD,
    QA,
    finalized,
    play,
    team,
    to,
)

Result = RoleDecision | Failure

# --- Role Model ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "title", "responsibility", "outgoing"),
    [
        (LEAD, "Project Manager (Team Lead)", "priorit", "architecture implementation finalize"),
        (ARCHITECT, "Software Architect", "interfaces", "implementation developer manager"),
        (DEVELOPER, "Software Developer", "source code", "QA validate DevOps deployed"),
        (QA, "QA Engineer", "regressions", "bugs developer manager released"),
        (DEVOPS, "DevOps Engineer", "runtime", "operated manager developer"),
    ],
)
def test_role_model_each_default_role_has_its_part_and_its_receivers(
    role: str, title: str, responsibility: str, outgoing: str
) -> None:
    found = roles_of({}).roles[role]
    assert found.title == title
    assert all(word in found.responsibilities for word in (responsibility, *outgoing.split()))


def test_role_model_defaults_are_generated_and_the_manager_leads() -> None:
    found = roles_of({})
    assert list(found.roles) == [LEAD, ARCHITECT, DEVELOPER, QA, DEVOPS]
    assert (found.lead_role, found.max_turns) == (LEAD, 12)


# --- Execution Lifecycle -------------------------------------------------------------------------


def test_execution_lifecycle_begins_at_the_lead_and_loops_until_it_finalizes() -> None:
    assert play().role == LEAD
    state = play(to(DEVELOPER, "1"), to(LEAD, "2"))
    assert (state.role, state.end) == (LEAD, None)
    ended = play(to(DEVELOPER, "1"), to(LEAD, "2"), finalized("All"), to(DEVELOPER, "more"))
    assert ended.end is not None
    assert (ended.end.how, ended.end.output, len(ended.turns)) == ("finalized", "All", 3)


def test_execution_lifecycle_the_normalized_turn_payload() -> None:
    said = "Implementation complete. Validate edge cases and regressions."
    turn = play(to(ARCHITECT, "a"), to(DEVELOPER, "b"), to(QA, said)).turns[2]
    told = """
turn: 3
action: message
from_role: software_developer
to_role: qa_engineer
from_agent: codex
to_agent: gemini
message: "Implementation complete. Validate edge cases and regressions."
communication_type: inter_role
success: true
"""
    assert list(turn.payload().items()) == list(yaml.safe_load(told).items())
    assert turn.model_dump(mode="json") == turn.payload(), "in answers of the API, too"


# --- Communication Protocol ----------------------------------------------------------------------


def role_prompt_of(state: RoleTeamState) -> str:
    """Return the facts that a role needs in all of its turns."""
    role = state.spec.roles[state.role]
    about = {"named": state.role, "role": role, "team": state.spec, "earlier": ()}
    return render("role", **about, can_act=True)


def prompt_of(state: RoleTeamState, seen: int = 0) -> str:
    """Return a role's prompt in its turn, if its conversation contains the first `seen` turns."""
    return render(
        "role_turn",
        named=state.role,
        number=state.number,
        most=state.spec.max_turns,
        about="",
        said=[],
        window=state.window(seen),
        incoming=state.incoming,
        files=[],
    )


def test_communication_protocol_each_role_receives_its_prompt() -> None:
    spec = team(transcript_turns=2)
    state = play(to(DEVELOPER, "one"), to(QA, "two"), to(DEVELOPER, "three"), spec=spec)
    prompt, about = prompt_of(state), role_prompt_of(state)
    for role, agent in AGENTS.items():
        assert f"- `{role}`: {spec.roles[role].title} ({agent})" in about, "the roster, bound"
    assert "2. software_developer to qa_engineer: two" in prompt, "the last turns"
    assert "one" not in prompt.split("## The last turns")[1].split("##")[0], "and no others"
    assert "From `qa_engineer`:\n\nthree" in prompt, "the message to it"
    assert "## The last turns" not in prompt_of(state, seen=2), "it has them in its conversation"


def test_communication_protocol_each_role_returns_strict_json() -> None:
    written = {"action": "message", "to_role": QA, "message": "m", "final_response": ""}
    assert list(SCHEMA["properties"]) == list(written)
    assert SCHEMA["properties"]["action"]["enum"] == ["message", "finalize"]
    assert parse_decision(json.dumps(written)) == RoleDecision.model_validate(written)
    for shown in (play(), play(to(DEVELOPER, "x"))):
        assert '"action": "message", "to_role": ' in role_prompt_of(shown)


@pytest.mark.parametrize(
    ("before", "decided", "action", "to_role"),
    [
        ([], to(DEVELOPER, "m"), "message", DEVELOPER),
        ([], to("ceo", "m"), "message", LEAD),
        ([], finalized("m"), "finalize", USER),
        ([to(DEVELOPER, "x")], to(QA, "m"), "message", QA),
        ([to(DEVELOPER, "x")], to("user", "m"), "message", LEAD),
        ([to(DEVELOPER, "x")], to("", "m"), "message", LEAD),
        ([to(DEVELOPER, "x")], finalized("m"), "message", LEAD),
    ],
)
def test_communication_protocol_route_semantics(
    before: Sequence[Result], decided: RoleDecision, action: str, to_role: str
) -> None:
    turn = play(*before, decided).turns[-1]
    assert (turn.action, turn.to_role, turn.message) == (action, to_role, "m")


# --- Communication Examples ----------------------------------------------------------------------


def test_example_a_normal_implementation_handoff() -> None:
    state = play(
        to(DEVELOPER, "Implement endpoint + tests"),
        to(QA, "Implementation complete, validate"),
        to(LEAD, "Validation passed"),
        finalized("Ready to ship", "Validation complete and approved"),
    )
    assert state.turns[0].payload() == {
        "turn": 1,
        "action": "message",
        "from_role": "project_manager",
        "to_role": "software_developer",
        "from_agent": "claude",
        "to_agent": "codex",
        "message": "Implement endpoint + tests",
        "communication_type": "inter_role",
        "success": True,
    }
    assert state.turns[3].payload() == {
        "turn": 4,
        "action": "finalize",
        "from_role": "project_manager",
        "to_role": "user",
        "from_agent": "claude",
        "to_agent": "user",
        "message": "Validation complete and approved",
        "success": True,
    }
    for turn in state.turns:
        assert RoleTurn.model_validate(turn.payload()) == turn, "what was sent is read back so"
    assert state.end is not None
    assert (state.end.how, state.end.output) == ("finalized", "Ready to ship")


def test_example_b_invalid_non_lead_finalize_is_auto_corrected() -> None:
    given = parse_decision('{"action": "finalize", "final_response": "Done"}')
    state = play(to(DEVELOPER, "Do it"), given)
    turn = state.turns[-1]
    assert (turn.action, turn.to_role, turn.message) == ("message", "project_manager", "Done")
    assert (state.end, state.role) == (None, LEAD)


def test_example_c_live_event_has_the_fields_of_a_ui() -> None:
    shown = play(to(DEVELOPER, "x"), to(QA, "Please validate edge cases and regressions."))
    told = role_turn(shown.turns[1].payload())
    assert told.ts > 0
    assert {key: value for key, value in told.data.items() if key != "communication_type"} == {
        "turn": 2,
        "action": "message",
        "from_role": "software_developer",
        "to_role": "qa_engineer",
        "from_agent": "codex",
        "to_agent": "gemini",
        "message": "Please validate edge cases and regressions.",
        "success": True,
    }


def test_example_c_how_graph_edges_aggregate() -> None:
    state = play(
        to(DEVELOPER, "a"),
        to(QA, "b"),
        to(DEVELOPER, "c"),
        to(QA, "d"),
        to(LEAD, "e"),
        finalized("f"),
    )
    shown = {(one.from_role, one.to_role): (one.count, one.action) for one in edges_of(state.turns)}
    assert shown[LEAD, DEVELOPER] == (1, "message")
    assert shown[DEVELOPER, QA] == (2, "message")
    assert shown[QA, LEAD] == (1, "message")
    assert shown[LEAD, USER] == (1, "finalize")
    assert [one.to_role for one in edges_of(state.turns) if one.latest] == [USER]


def test_example_d_repetition_escalation_safety() -> None:
    rounds = [
        one for number in "123" for one in (to(DEVELOPER, number), to(QA, "Still implementing."))
    ]
    back = (to(DEVELOPER, "again"), to(QA, "Still implementing."))
    state = play(*rounds, spec=team(repetitions=3))
    assert state.role == QA, "as often as the threshold is no more than it"
    state = play(*rounds, spec=team(repetitions=2))
    turn = state.turns[-1]
    assert (turn.action, turn.from_role, turn.to_role) == ("message", DEVELOPER, LEAD)
    assert turn.message == (
        "Still implementing.\n\n[System] Repetition detected in team routing. Escalating to lead "
        "for decision."
    )
    state = play(*rounds, *back, spec=team(repetitions=2))
    assert state.turns[-1].message.endswith(ESCALATED), "also what was escalated counts"
    state = play(*rounds, to(DEVELOPER, "again"), to(QA, "Done."), spec=team(repetitions=2))
    assert state.role == QA, "something else is no repetition"


# --- Configuration Model -------------------------------------------------------------------------

AS_WRITTEN = """
agentic_team:
  lead_role: "project_manager"
  max_turns: 12
  roles:
    project_manager:
      title: "Project Manager (Team Lead)"
      agent: "claude"
      responsibilities: "Initiate work, route subtasks, and perform final approval."
    software_architect:
      title: "Software Architect"
      agent: "gemini"
      responsibilities: "Define architecture and technical design."
    software_developer:
      title: "Software Developer"
      agent: "codex"
      responsibilities: "Implement and update source code."
    qa_engineer:
      title: "QA Engineer"
      agent: "gemini"
      responsibilities: "Validate behavior and identify regressions."
    devops_engineer:
      title: "DevOps Engineer"
      agent: "claude"
      responsibilities: "Handle deployment, runtime, and operational concerns."
"""


def test_configuration_model_documented_section_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(AS_WRITTEN + "\nmine: {command: [mine]}\n")
    section = yaml.safe_load(AS_WRITTEN)["agentic_team"]
    found = roles_of(section)
    assert {name: role.agent for name, role in found.roles.items()} == AGENTS
    for name, role in section["roles"].items():
        assert found.roles[name].responsibilities == role["responsibilities"]
    assert "mine" in load_agents(tmp_path), "the file's agents stand beside it"


def test_configuration_model_missing_role_mappings_are_merged() -> None:
    found = roles_of({"max_turns": 5, "roles": {QA: {"agent": "gemini"}, "writer": None}})
    assert (found.max_turns, found.lead_role) == (5, LEAD)
    assert (found.roles[QA].agent, found.roles[QA].title) == ("gemini", "QA Engineer")
    assert (len(found.roles), found.roles["writer"].title) == (6, "writer")
    assert roles_of({"roles": {"tech_lead": {}}}).roles["tech_lead"].title == "tech lead"


def test_configuration_model_invalid_mappings_are_named() -> None:
    missing = {"gemini": "agent 'gemini': is not installed"}
    assert problems_of(team(), missing) == [
        "roles 'software_architect', 'qa_engineer': agent 'gemini': is not installed"
    ]
    assert problems_of(team(), {}) == []


# --- CLI: Agentic Team REPL ----------------------------------------------------------------------


def test_cli_repl_has_the_supported_commands() -> None:
    supported = (
        *("/help", "/agents", "/team", "/maxturns", "/followup", "/history", "/save", "/load"),
        *("/reset", "/reload", "/validate", "/clear", "/info", "/exit"),
    )
    assert tuple(ABOUT) == supported


# --- Local Model Integration and Limits ----------------------------------------------------------


def bound_to(agent: str, **role: Any) -> WorkerSpec:
    """Return the worker of the lead, if this agent does its work."""
    spec = roles_of({"roles": {LEAD: {"agent": agent, **role}}})
    presets = load_presets()
    attempt = Attempt(RoleTeamState(spec, "x"))
    return worker_for(attempt, (), agent, only_writes=only_writes(agent, presets))


@pytest.mark.parametrize("adapter", ["ollama", "llamacpp", "localai", "lmstudio", "vllm", "local"])
def test_local_models_a_local_adapter_returns_text_only(adapter: str) -> None:
    preset = preset_of(f"{adapter}/x", load_presets())
    assert preset is not None
    assert preset.local
    assert bound_to(f"{adapter}/x").mode == "single_inference"
    assert bound_to(f"{adapter}/x", may_write=True).mode == "multi_turn", "unless it is allowed"


def test_local_models_an_openai_compatible_service_is_a_model() -> None:
    assert preset_of("compatible/x", load_presets()) is not None
    assert kind_of("compatible/x") == "model"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot", "./agent.sh -v"])
def test_local_models_a_cli_works_by_itself(agent: str) -> None:
    found = bound_to(agent)
    assert found.type == "autonomous"
    assert found.agent_command == agent.replace("claude", "claude-code")


# --- Validation and Failure Handling -------------------------------------------------------------


def test_validation_a_task_must_not_be_empty() -> None:
    with pytest.raises(click.UsageError, match="TASK is empty"):
        text_argument(" \n", "TASK")
    with pytest.raises(ValidationError):
        CreateAgentRequest.model_validate({"goal": "", "roles": {}})


def test_validation_at_least_one_agent_and_one_for_each_role() -> None:
    none = dict.fromkeys(AGENTS.values(), "is not installed")
    [problem] = problems_of(team(), none)
    assert all(f"'{role}'" in problem for role in AGENTS)
    assert problems_of(team(), {"codex": "no"}) == ["role 'software_developer': no"]


def test_validation_the_lead_must_be_a_role() -> None:
    with pytest.raises(InvalidInput, match=r"unknown role in agentic_team.lead_role 'boss' \("):
        roles_of({"lead_role": "boss"})


def test_protection_a_finalize_of_another_role_goes_to_the_lead() -> None:
    turn = play(to(QA, "Look"), finalized("It is fine")).turns[-1]
    assert (turn.action, turn.to_role, turn.message) == ("message", LEAD, "It is fine")


def test_protection_an_invalid_to_role_goes_to_the_lead() -> None:
    turn = play(to(QA, "Look"), to("tester", "What now?")).turns[-1]
    assert (turn.to_role, turn.message) == (LEAD, "What now?")


def test_protection_a_failure_of_a_role_goes_to_the_lead_as_a_message() -> None:
    state = play(to(DEVELOPER, "Do it"), Failure("its program is gone"))
    turn = state.turns[-1]
    assert (turn.to_role, turn.success, turn.from_agent) == (LEAD, False, "codex")
    told = "[System] software_developer could not take its turn: its program is gone"
    assert (turn.message, state.end) == (told, None)


def test_protection_without_a_finalize_the_result_is_a_bounded_fallback() -> None:
    state = play(*[to(DEVELOPER, "Do it"), to(LEAD, "Not yet")] * 3, spec=team(max_turns=4))
    assert state.end is not None
    assert (len(state.turns), state.end.how) == (4, "max_turns")
    assert "its 4 turns are used up" in state.end.output
    assert state.end.output.endswith("software_developer to project_manager:\n\nNot yet")


@pytest.mark.parametrize(
    ("agent", "fallback", "type", "does"),
    [
        ("codex", "claude", "autonomous", "claude-code"),
        ("codex", "openai/gpt-4o", "harnessed", "openai/gpt-4o"),
        ("openai/gpt-4o", "ollama/qwen3", "harnessed", "ollama/qwen3"),
        ("ollama/qwen3", "gemini", "autonomous", "gemini"),
    ],
)
def test_fallback_of_every_kind_of_agent_to_every_other(
    agent: str, fallback: str, type: str, does: str
) -> None:
    spec = roles_of({"roles": {LEAD: {"agent": agent, "fallback": fallback}}})
    attempt = Attempt(RoleTeamState(spec, "x"), is_fallback=True)
    found = worker_for(attempt, (), attempt.agent, only_writes=fallback.startswith("ollama"))
    assert (found.name, found.type) == (f"{LEAD}-fallback", type)
    assert does in (found.model, found.agent_command)
    assert agents_of(spec) == [agent, fallback]
    assert problems_of(spec, {agent: "is gone"}) == [], "the role can work all the same"


# --- Observability -------------------------------------------------------------------------------


def role_turn(data: dict[str, Any]) -> EventView:
    return event("role.turn", **data)


def test_observability_a_turn_is_an_event_with_its_payload() -> None:
    [kind] = [one for one in EVENT_TYPES if one.name == "role.turn"]
    assert tuple(play(to(QA, "x")).turns[0].payload()) == kind.fields


def test_observability_progress_shows_messages_between_roles_and_the_current_turn() -> None:
    progress = RunProgress()
    assert progress.talk() == []
    state = play(to(DEVELOPER, "a"), to(QA, "b"), to(DEVELOPER, "c"), to(QA, "d"))
    lines = [progress.see(role_turn(turn.payload())) for turn in state.turns]
    assert [(line.who, line.text) for line in lines if line] == [
        (LEAD, "to software_developer: a"),
        (DEVELOPER, "to qa_engineer: b"),
        (QA, "to software_developer: c"),
        (DEVELOPER, "to qa_engineer: d"),
    ]
    assert progress.talk() == [
        "project_manager    -> software_developer  1x",
        "software_developer -> qa_engineer         2x  <- the last",
        "qa_engineer        -> software_developer  1x",
        "turn 5: qa_engineer",
    ]
    progress.see(role_turn(play(finalized("f")).turns[0].payload() | {"turn": 5}))
    assert progress.talk()[-1] == "project_manager    -> user                finalize  <- the last"


def test_observability_the_nodes_of_turns_have_no_lines_of_their_own() -> None:
    made = [
        event("node.created", name="turn-1", task="x"),
        event("node.created", name="turn-1-fallback", task="x"),
        event("node.completed", name="turn-1", summary="x"),
    ]
    assert [RunProgress(has_roles=True).see(one) for one in made] == [None] * 3
    assert all(RunProgress().see(one) for one in made), "of another run they have"
    assert RunProgress(has_roles=True).see(event("node.created", name="facts", task="x"))


def test_observability_a_snapshot_has_status_turns_edges_and_the_last_output() -> None:
    assert {"status", "turns", "edges", "role", "task", "final_output"} <= {
        *RoleTeamRunView.model_fields
    }
    assert "earlier" in RoleTeamTerms.model_fields, "what was asked before, for a follow-up"


# --- Security and Safety -------------------------------------------------------------------------


@pytest.mark.parametrize("section", [[], "x", {"roles": []}, {"unknown": 1}, {"roles": {QA: 1}}])
def test_security_a_wrong_section_is_refused(section: Any) -> None:
    with pytest.raises(InvalidInput, match="agentic_team"):
        roles_of(section)
    if isinstance(section, dict):
        assert CheckRolesRequest(section=section), "what is wrong with it is an answer, no refusal"


# --- Extension Guide -----------------------------------------------------------------------------


def test_extension_guide_a_new_role_is_a_mapping_with_its_own_fallback() -> None:
    role = {"title": "Writer", "agent": "ollama/qwen3", "responsibilities": "Write the docs."}
    spec = roles_of({"roles": {"writer": role | {"fallback": "codex"}}})
    state = play(to("writer", "Describe it"), spec=spec)
    assert (state.role, state.turns[0].to_agent) == ("writer", "ollama/qwen3")
    assert "You are Writer (`writer`)" in role_prompt_of(state)
    assert "Write the docs." in role_prompt_of(state)


def test_extension_guide_an_agent_is_added_and_enabled_by_configuration(tmp_path: Path) -> None:
    table = tmp_path / "agents.yaml"
    environ = {"PATH": "/usr/bin:/bin"}

    def check() -> None:
        asked = AskedAgent(command="mine", author="model", name="ada")
        check_agent(asked, tmp_path, load_config().sandbox, environ)

    table.write_text("mine: {command: [sh], enabled: true}\n")
    check()
    table.write_text("mine: {command: [sh], enabled: false}\n")
    with pytest.raises(InvalidInput, match="'mine' is disabled: "):
        check()


# --- Operational Commands ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["agentic-shell"],
        ["agentic-shell", "--max-turns", "16"],
        ["agentic-shell", "--offline"],
        ["roles", "validate"],
        ["roles", "agents"],
    ],
)
def test_operational_commands(words: list[str]) -> None:
    command: click.Command = agentic_shell if words[0] == "agentic-shell" else roles_command
    if isinstance(command, click.Group):
        command = command.commands[words[1]]
    options = [word for word in words[1:] if word.startswith("--")]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {*options} <= known


# --- MCP Integration -----------------------------------------------------------------------------


async def test_mcp_integration_tools_declare_if_they_only_read(tmp_path: Path) -> None:
    async with Client(make_server(ApiClients(tmp_path, None, is_shared=False), "0")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    only_reads = {
        name.removeprefix("agentic_team_"): tool.annotations and tool.annotations.read_only_hint
        for name, tool in tools.items()
        if name.startswith("agentic_team_")
    }
    assert only_reads == {
        "execute": False,
        "list_agents": True,
        "config": True,
        "validate": True,
        "health": True,
        "turns": True,
    }
    assert {"task", "max_turns"} <= {*tools["agentic_team_execute"].input_schema["properties"]}
