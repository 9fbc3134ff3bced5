"""Teams for tests, and what their roles decide."""

from typing import Any

from agiraph.agentic_team.decisions import TeamDecision
from agiraph.agentic_team.engine import Failure, Outcome, TeamState, advance
from agiraph.core.team import TeamSpec, team_of

LEAD, ARCHITECT, DEVELOPER = "project_manager", "software_architect", "software_developer"
QA, DEVOPS = "qa_engineer", "devops_engineer"
AGENTS = {LEAD: "claude", ARCHITECT: "gemini", DEVELOPER: "codex", QA: "gemini", DEVOPS: "claude"}


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
