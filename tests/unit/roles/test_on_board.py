"""A team's turns on its board: the fold of earlier turns equals the whole board."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board import commands as c
from agiraph.board.commands import OF_ROLES
from agiraph.core.models import NodeResult
from agiraph.core.roles import roles_of
from agiraph.core.specs import NodeSpec
from agiraph.roles.on_board import TurnFold, current_turn
from tests.unit.board.board_driver import BoardDriver

LEAD, QA = "project_manager", "qa_engineer"
TEAM = roles_of({"max_turns": 6, "roles": {LEAD: {"fallback": "a/b"}, QA: {}}})

STEPS = st.lists(st.sampled_from(["to the lead", "to QA", "fails", "again"]), max_size=16)


def take(driver: BoardDriver, step: str, number: int) -> None:
    """End the next turn like this, or order the last ended turn to be repeated."""
    attempt = current_turn(driver.board, TEAM, "Build it")
    if step == "again":
        ended = [node for node in driver.board.nodes.values() if node.has_ended]
        if ended:
            driver.do(c.RetryNode(ended[-1].id, f"again-{number}"))
        return
    node = driver.board.node_by_cause(attempt.cause)
    if node is None:
        driver.do(c.CreateNode(attempt.cause, NodeSpec(task="x", name=attempt.node)))
    elif node.has_ended:
        return
    node = driver.board.node_by_cause(attempt.cause)
    assert node is not None
    driver.assign(node.id, "ada")
    if step == "fails":
        driver.do(c.FailNode(node.id, None, "no network"))
        return
    role = LEAD if step == "to the lead" else QA
    value = {"action": "message", "to_role": role, "message": f"message {number}"}
    result = NodeResult(summary="said", value=value)
    driver.do(c.CompleteNode(node.id, driver.board.nodes[node.id].attempt, result))


@given(STEPS)
def test_incrementally_folded_turns_equal_turns_of_the_whole_board(steps: list[str]) -> None:
    driver, fold = BoardDriver(), TurnFold(TEAM, "Build it")
    driver.worker("ada")
    for number, step in enumerate(steps):
        take(driver, step, number)
        assert fold.current_turn(driver.board) == current_turn(driver.board, TEAM, "Build it")


def test_repeated_turn_counts_with_its_second_result() -> None:
    driver, fold = BoardDriver(), TurnFold(TEAM, "Build it")
    driver.worker("ada")
    take(driver, "to QA", 1)
    assert fold.current_turn(driver.board).state.role == QA
    take(driver, "again", 2)
    assert fold.current_turn(driver.board).node == "turn-1"
    take(driver, "to the lead", 3)
    after = fold.current_turn(driver.board)
    assert [turn.message for turn in after.state.turns] == ["message 3"]
    assert after.cause == f"{OF_ROLES}turn-2"
