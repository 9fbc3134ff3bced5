"""The rules of an Agentic Team, each under the name of its section in the description of teams."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.agentic_team.decisions import TeamDecision, parse_decision
from agiraph.agentic_team.engine import (
    ESCALATED,
    LEAD_FAILURES,
    Failure,
    Outcome,
    TeamState,
    advance,
    edges_of,
)
from agiraph.core.errors import InvalidInput
from agiraph.core.team import USER, TeamSpec, agents_of, kind_of, problems_of, team_of

LEAD, DEVELOPER, QA = "project_manager", "software_developer", "qa_engineer"
AGENTS = {LEAD: "claude", DEVELOPER: "codex", QA: "gemini"}


def team(**more: Any) -> TeamSpec:
    return team_of({"roles": {name: {"agent": agent} for name, agent in AGENTS.items()}, **more})


def to(role: str, message: str) -> TeamDecision:
    return TeamDecision(action="message", to_role=role, message=message)


def finalized(final: str, message: str = "") -> TeamDecision:
    return TeamDecision(action="finalize", message=message, final_response=final)


def play(*results: TeamDecision | Failure, spec: TeamSpec | None = None) -> TeamState:
    """Let these decisions be taken, each by the agent of the role whose turn it is."""
    state = TeamState(spec or team(), "Build it")
    for result in results:
        state = advance(state, Outcome(result, state.team.agent_of(state.role)))
    return state


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
    assert state.end is not None
    assert (state.end.how, state.end.output) == ("finalized", "Ready to ship")


def test_example_b_invalid_non_lead_finalize_is_auto_corrected() -> None:
    state = play(
        to(DEVELOPER, "Do it"), parse_decision('{"action":"finalize","final_response":"Done"}')
    )
    turn = state.turns[-1]
    assert (turn.action, turn.to_role, turn.message) == ("message", LEAD, "Done")
    assert state.end is None
    assert state.role == LEAD


def test_example_c_how_graph_edges_aggregate() -> None:
    state = play(
        to(DEVELOPER, "a"),
        to(QA, "Please validate edge cases and regressions."),
        to(DEVELOPER, "b"),
        to(QA, "c"),
        to(LEAD, "d"),
        finalized("e"),
    )
    shown = {(one.from_role, one.to_role): (one.count, one.action) for one in edges_of(state.turns)}
    assert shown[LEAD, DEVELOPER] == (1, "message")
    assert shown[DEVELOPER, QA] == (2, "message")
    assert shown[QA, LEAD] == (1, "message")
    assert shown[LEAD, USER] == (1, "finalize")
    assert [one.to_role for one in edges_of(state.turns) if one.latest] == [USER]


def test_example_d_repetition_escalation_safety() -> None:
    spec = team(repetitions=2)
    state = TeamState(spec, "x")
    for result in (
        to(DEVELOPER, "1"),
        to(QA, "Still implementing."),
        to(DEVELOPER, "2"),
        to(QA, "Still implementing."),
        to(DEVELOPER, "3"),
        to(QA, "Still implementing."),
    ):
        state = advance(state, Outcome(result, "codex"))
    turn = state.turns[-1]
    assert (turn.from_role, turn.to_role) == (DEVELOPER, LEAD)
    assert turn.message == (
        "Still implementing.\n\n[System] Repetition detected in team routing. Escalating to lead "
        "for decision."
    )
    state = advance(state, Outcome(to(DEVELOPER, "4"), "claude"))
    state = advance(state, Outcome(to(QA, "Still implementing."), "codex"))
    assert state.turns[-1].message.endswith(ESCALATED), "also what was escalated counts"
    state = advance(state, Outcome(to(DEVELOPER, "5"), "claude"))
    state = advance(state, Outcome(to(QA, "Implemented."), "codex"))
    assert state.role == QA


# --- Validation and Failure Handling: runtime protections ----------------------------------------


def test_an_invalid_to_role_is_rerouted_to_the_lead() -> None:
    state = play(to(DEVELOPER, "Do it"), to("ceo", "What now?"))
    assert (state.turns[-1].to_role, state.turns[-1].message) == (LEAD, "What now?")
    assert play(to("", "Hm")).role == LEAD


def test_a_failure_of_a_role_goes_to_the_lead_as_a_message() -> None:
    state = play(to(DEVELOPER, "Do it"), Failure("its program is gone"))
    turn = state.turns[-1]
    assert (turn.to_role, turn.success, turn.from_agent) == (LEAD, False, "codex")
    assert (
        turn.message == "[System] software_developer could not take its turn: its program is gone"
    )
    assert state.end is None


def test_without_a_finalize_by_max_turns_the_result_is_a_bounded_fallback() -> None:
    state = play(*[to(DEVELOPER, "Do it"), to(LEAD, "Not yet")] * 3, spec=team(max_turns=4))
    assert len(state.turns) == 4
    assert state.end is not None
    assert state.end.how == "max_turns"
    assert "its 4 turns are used up" in state.end.output
    assert state.end.output.endswith("software_developer to project_manager:\n\nNot yet")


def test_a_lead_that_fails_again_and_again_ends_the_team() -> None:
    state = play(*[Failure("no key")] * (LEAD_FAILURES + 2))
    assert len(state.turns) == LEAD_FAILURES
    assert state.end is not None
    assert state.end.how == "lead_failed"
    assert "no key" in state.end.output


# --- Communication Protocol: what a role returns -------------------------------------------------

GIVEN = {"action": "message", "to_role": QA, "message": "Look", "final_response": ""}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GIVEN),
        f"\n  {json.dumps(GIVEN, indent=2)}\n",
        f"I have looked at {{it}}.\n```json\n{json.dumps(GIVEN)}\n```\nThat is all.",
        f"TeamDecision: {json.dumps(GIVEN)} {json.dumps(GIVEN)}",
        f"{{'not': 'json'}} {json.dumps(GIVEN)}",
        json.dumps(GIVEN | {"to_role": f" {QA} ", "final_response": None, "more": 1}),
    ],
)
def test_a_decision_is_found_in_what_was_written(text: str) -> None:
    assert parse_decision(text) == TeamDecision(action="message", to_role=QA, message="Look")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I will ask QA.", "it is not JSON"),
        ("", "it is not JSON"),
        ('{"action": "delegate", "message": "x"}', "'delegate' is not one of"),
        ('{"message": "x"}', "'action' is a required property"),
        ('{"action": "message", "to_role": ["qa"]}', "to_role"),
        ('{"action": "message", "to_role": "qa_engineer"}', "says nothing"),
        (
            '{"action": "message", "message": "a"} or {"action": "message", "message": "b"}',
            "2 different JSON objects",
        ),
        ('{"action": "message", "message": "a"', "it is not JSON"),
        ("{" * 5000, "it is not JSON"),
    ],
)
def test_what_is_no_decision_is_never_guessed(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_decision(text)


@given(st.text(max_size=200))
def test_no_text_makes_the_parser_fail_otherwise(text: str) -> None:
    try:
        assert parse_decision(text).said
    except InvalidInput:
        pass


# --- Configuration Model, Role Model -------------------------------------------------------------


def test_a_missing_section_is_the_default_team() -> None:
    found = team_of({})
    assert list(found.roles) == [
        *(LEAD, "software_architect", DEVELOPER, QA, "devops_engineer"),
    ]
    assert (found.lead_role, found.max_turns) == (LEAD, 12)
    assert found.roles[LEAD].title == "Project Manager (Team Lead)"
    assert "final approval" in found.roles[LEAD].responsibilities


def test_missing_role_mappings_are_merged_with_the_defaults() -> None:
    found = team_of(
        {"max_turns": 5, "roles": {QA: {"agent": "gemini"}, "writer": {"title": "Writer"}}}
    )
    assert found.roles[QA].agent == "gemini"
    assert found.roles[QA].title == "QA Engineer"
    assert found.roles["writer"].title == "Writer"
    assert len(found.roles) == 6
    assert team_of({"roles": {"tech_lead": None}}).roles["tech_lead"].title == "tech lead"


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "must be a mapping"),
        ({"roles": ["qa"]}, "roles must map names to roles"),
        ({"lead_role": "boss"}, r"unknown role in agentic_team.lead_role 'boss' \(known: "),
        ({"max_turns": 0}, "agentic_team.max_turns: "),
        ({"maxturns": 3}, r"agentic_team.maxturns: unknown \(known: lead_role, max_turns"),
        (
            {"roles": {QA: {"agnt": "x"}}},
            r"agentic_team.roles.qa_engineer.agnt: unknown \(known: t",
        ),
        ({"roles": {QA: "gemini"}}, "agentic_team.roles.qa_engineer"),
        ({"roles": {"user": {}}}, "agentic_team.roles.user: .*not 'user'"),
        ({"roles": {"QA Engineer": {}}}, "agentic_team.roles.QA Engineer: .*at most 32"),
    ],
)
def test_an_invalid_mapping_is_refused_and_named(section: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        team_of(section)


def test_a_role_of_an_unusable_agent_cannot_work_unless_its_fallback_can() -> None:
    spec = team_of(
        {"roles": {QA: {"agent": "gemini", "fallback": "codex"}, LEAD: {"agent": "claude"}}}
    )
    assert agents_of(spec) == ["claude", "gemini", "codex"]
    unusable = {"gemini": "is not installed", "claude": "is not installed"}
    assert problems_of(spec, unusable) == ["role 'project_manager': is not installed"]
    assert len(problems_of(spec, unusable | {"codex": "no"})) == 2


def test_what_an_agents_name_means() -> None:
    assert [kind_of(one) for one in ("", "ollama/qwen3", "text:openai/x")] == ["model"] * 3
    assert [kind_of(one) for one in ("claude", "./agent.sh -x", "/bin/a b/c", "codex -m a/b")] == (
        ["cli"] * 4
    )


# --- properties ----------------------------------------------------------------------------------

ROLES = st.sampled_from([LEAD, DEVELOPER, QA, "nobody", ""])
RESULTS = st.one_of(
    st.builds(Failure, st.text(max_size=5)),
    st.builds(to, ROLES, st.sampled_from(["a", "b", "c"])),
    st.builds(finalized, st.sampled_from(["x", "y"])),
)


@given(st.lists(RESULTS, max_size=30), st.integers(1, 12), st.integers(1, 4))
def test_whatever_roles_decide_a_team_stays_in_its_bounds(
    results: list[TeamDecision | Failure], max_turns: int, repetitions: int
) -> None:
    spec = team(max_turns=max_turns, repetitions=repetitions)
    state = play(*results, spec=spec)
    assert len(state.turns) <= max_turns
    assert [turn.turn for turn in state.turns] == list(range(1, len(state.turns) + 1))
    holder = LEAD
    for turn in state.turns:
        assert turn.from_role == holder, "who was written to has the next turn"
        assert (turn.to_role == USER) == (turn.action == "finalize")
        assert turn.action == "message" or turn.from_role == LEAD, "the lead alone finishes"
        holder = turn.to_role
    assert (holder == USER) == (state.end is not None and state.end.how == "finalized")
    assert sum(edge.count for edge in edges_of(state.turns)) == len(state.turns)
    ways: dict[tuple[str, str, str], int] = {}
    for turn in state.turns:
        if turn.to_role != LEAD:
            way = (turn.from_role, turn.to_role, turn.message)
            ways[way] = ways.get(way, 0) + 1
    assert all(count <= repetitions for count in ways.values())
