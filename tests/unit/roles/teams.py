"""Teams for tests, and the decisions of their roles."""

from typing import Any

from agiraph.core.roles import RoleTeamSpec, roles_of
from agiraph.roles.decisions import RoleDecision
from agiraph.roles.engine import Failure, Outcome, RoleTeamState, advance

LEAD, ARCHITECT, DEVELOPER = "project_manager", "software_architect", "software_developer"
QA, DEVOPS = "qa_engineer", "devops_engineer"
AGENTS = {LEAD: "claude", ARCHITECT: "gemini", DEVELOPER: "codex", QA: "gemini", DEVOPS: "claude"}


def team(**more: Any) -> RoleTeamSpec:
    return roles_of({"roles": {name: {"agent": agent} for name, agent in AGENTS.items()}, **more})


def to(role: str, message: str) -> RoleDecision:
    return RoleDecision(action="message", to_role=role, message=message)


def finalized(final: str, message: str = "") -> RoleDecision:
    return RoleDecision(action="finalize", message=message, final_response=final)


def play(*results: RoleDecision | Failure, spec: RoleTeamSpec | None = None) -> RoleTeamState:
    """Apply these decisions, each by the agent of the role that has the turn."""
    state = RoleTeamState(spec or team(), "Build it")
    for result in results:
        state = advance(state, Outcome(result, state.spec.agent_of(state.role)))
    return state
