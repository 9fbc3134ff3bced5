"""Failure classes of runs: from how the product begins a reason, as the code writes it."""

import pytest

from agiraph.agent.loop_detection import LoopStuck, RepeatedCalls, judge_loop
from agiraph.board import commands as c
from agiraph.board.failure_class import FailureClass, class_of, failure_class
from agiraph.board.plan_end import end_of_plan
from agiraph.core.roles import roles_of
from agiraph.llm.base import failed_call
from agiraph.roles.decisions import RoleDecision
from agiraph.roles.engine import Failure, Outcome, RoleTeamState, advance
from tests.unit.board.board_driver import BoardDriver

LEAD, QA = "project_manager", "qa_engineer"


def ended(*results: RoleDecision | Failure) -> str:
    """Return why a team of at most two turns with these results has not finished."""
    state = RoleTeamState(
        roles_of({"max_turns": len(results), "roles": {LEAD: {}, QA: {}}}), "Do it"
    )
    for result in results:
        state = advance(state, Outcome(result, "a/b"))
    assert state.end is not None
    return state.end.reason


def test_reasons_of_runs_have_a_class() -> None:
    said = RoleDecision(action="message", to_role=QA, message="Look")
    stuck = judge_loop(RepeatedCalls(count=99, warned_at=3))
    assert isinstance(stuck, LoopStuck)
    driver = BoardDriver()
    driver.fill("nodes: [{id: a, task: Do a}]")
    driver.fail("a")
    stopped = end_of_plan(driver.board)
    assert isinstance(stopped, c.StopRun)
    reasons: dict[str, FailureClass] = {
        failed_call("out_of_budget", "x"): "budget",
        failed_call("bad_key", "x"): "model",
        ended(said): "iterations",
        ended(*[Failure("gone")] * 3): "model",
        stuck.reason: "loop",
        stopped.reason: "plan",
    }
    assert {why: failure_class(why) for why in reasons} == reasons


@pytest.mark.parametrize(
    ("status", "reason", "found"),
    [
        ("completed", "deadlock: a", None),
        ("stopped", "given up", None),
        ("failed", "deadlock: a", "deadlock"),
        ("failed", "a plan of the model: no deadlock: at all", "other"),
        ("failed", None, "process"),
    ],
)
def test_only_a_failure_has_a_class(status: str, reason: str | None, found: str | None) -> None:
    assert class_of(status, reason) == found
