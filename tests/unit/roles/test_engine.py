"""The rules of an Agentic Team: decisions, bounds, mappings; not the document."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.roles import USER, agents_of, command_of, kind_of, problems_of, roles_of
from agiraph.roles.decisions import RoleDecision, parse_decision
from agiraph.roles.engine import LEAD_FAILURES, Failure, edges_of
from tests.unit.roles.teams import DEVELOPER, LEAD, QA, finalized, play, team, to

# --- decisions -----------------------------------------------------------------------------------


def test_a_lead_that_fails_again_and_again_ends_the_team() -> None:
    state = play(*[Failure("no key")] * (LEAD_FAILURES + 2))
    assert len(state.turns) == LEAD_FAILURES
    assert state.end is not None
    assert state.end.how == "lead_failed"
    assert "no key" in state.end.output


GIVEN = {"action": "message", "to_role": QA, "message": "Look", "final_response": ""}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GIVEN),
        f"\n  {json.dumps(GIVEN, indent=2)}\n",
        f"I have looked at {{it}}.\n```json\n{json.dumps(GIVEN)}\n```\nThat is all.",
        f"RoleDecision: {json.dumps(GIVEN)} {json.dumps(GIVEN)}",
        f"{{'not': 'json'}} {json.dumps(GIVEN)}",
        json.dumps(GIVEN | {"to_role": f" {QA} ", "final_response": None, "more": 1}),
    ],
)
def test_decision_is_parsed_from_surrounding_text(text: str) -> None:
    assert parse_decision(text) == RoleDecision(action="message", to_role=QA, message="Look")


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
def test_text_without_a_valid_decision_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_decision(text)


@given(st.text(max_size=200))
def test_parser_raises_only_its_own_error(text: str) -> None:
    try:
        assert parse_decision(text).said
    except InvalidInput:
        pass


# --- the section of agents.yaml ------------------------------------------------------------------


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
        roles_of(section)


def test_a_role_of_an_unusable_agent_cannot_work_unless_its_fallback_can() -> None:
    spec = roles_of(
        {"roles": {QA: {"agent": "gemini", "fallback": "codex"}, LEAD: {"agent": "claude"}}}
    )
    assert agents_of(spec) == ["claude", "gemini", "codex"]
    unusable = {"gemini": "is not installed", "claude": "is not installed"}
    assert problems_of(spec, unusable) == ["role 'project_manager': is not installed"]
    assert problems_of(spec, unusable | {"codex": "no"}) == [
        "roles 'project_manager', 'qa_engineer': is not installed"
    ], "roles of which the same is wrong are named together"


def test_agent_name_determines_kind_and_command() -> None:
    assert [kind_of(one) for one in ("", "ollama/qwen3", "text:openai/x")] == ["model"] * 3
    assert [kind_of(one) for one in ("claude", "./agent.sh -x", "/bin/a b/c", "codex -m a/b")] == (
        ["cli"] * 4
    )
    assert command_of("claude") == "claude-code"
    assert command_of("claude --model opus") == "claude-code --model opus"
    assert command_of("claudette") == "claudette"
    assert roles_of({"roles": {QA: {"agent": " claude "}}}).roles[QA].agent == "claude"


# --- properties ----------------------------------------------------------------------------------

ROLES = st.sampled_from([LEAD, DEVELOPER, QA, "nobody", ""])
RESULTS = st.one_of(
    st.builds(Failure, st.text(max_size=5)),
    st.builds(to, ROLES, st.sampled_from(["a", "b", "c"])),
    st.builds(finalized, st.sampled_from(["x", "y"])),
)


@given(st.lists(RESULTS, max_size=30), st.integers(1, 12), st.integers(1, 4))
def test_team_stays_within_its_limits_for_any_decisions(
    results: list[RoleDecision | Failure], max_turns: int, repetitions: int
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
