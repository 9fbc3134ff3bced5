"""A team's turns on its board: what is kept of earlier ones is what the whole board says."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.agentic_team.on_board import TurnFold, current_turn
from agiraph.board import commands as c
from agiraph.board.commands import OF_TEAM
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec
from agiraph.core.team import team_of
from tests.unit.board.desk import Desk

LEAD, QA = "project_manager", "qa_engineer"
TEAM = team_of({"max_turns": 6, "roles": {LEAD: {"fallback": "a/b"}, QA: {}}})

STEPS = st.lists(st.sampled_from(["to the lead", "to QA", "fails", "again"]), max_size=16)


def take(desk: Desk, step: str, number: int) -> None:
    """Have the turn that is next end so, or the last one that has ended be done again."""
    attempt = current_turn(desk.board, TEAM, "Build it")
    if step == "again":
        ended = [node for node in desk.board.nodes.values() if node.has_ended]
        if ended:
            desk.do(c.RetryNode(ended[-1].id, f"again-{number}"))
        return
    node = desk.board.node_by_cause(attempt.cause)
    if node is None:
        desk.do(c.CreateNode(attempt.cause, NodeSpec(task="x", name=attempt.node)))
    elif node.has_ended:
        return
    node = desk.board.node_by_cause(attempt.cause)
    assert node is not None
    desk.assign(node.id, "ada")
    if step == "fails":
        desk.do(c.FailNode(node.id, None, "no network"))
        return
    role = LEAD if step == "to the lead" else QA
    value = {"action": "message", "to_role": role, "message": f"message {number}"}
    result = NodeResult(summary="said", value=value)
    desk.do(c.CompleteNode(node.id, desk.board.nodes[node.id].attempt, result))


@given(STEPS)
def test_turns_that_are_folded_as_they_end_are_those_of_the_whole_board(steps: list[str]) -> None:
    desk, fold = Desk(), TurnFold(TEAM, "Build it")
    desk.worker("ada")
    for number, step in enumerate(steps):
        take(desk, step, number)
        assert fold.current_turn(desk.board) == current_turn(desk.board, TEAM, "Build it")


def test_a_turn_that_is_done_again_is_taken_as_it_ends_the_second_time() -> None:
    desk, fold = Desk(), TurnFold(TEAM, "Build it")
    desk.worker("ada")
    take(desk, "to QA", 1)
    assert fold.current_turn(desk.board).state.role == QA
    take(desk, "again", 2)
    assert fold.current_turn(desk.board).node == "turn-1"
    take(desk, "to the lead", 3)
    after = fold.current_turn(desk.board)
    assert [turn.message for turn in after.state.turns] == ["message 3"]
    assert after.cause == f"{OF_TEAM}turn-2"
