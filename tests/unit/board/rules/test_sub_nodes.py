"""Sub-nodes: their depth, forbidden dependencies, and their end."""

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import (
    BlockNode,
    CancelNode,
    LoseWorker,
    ReserveNode,
    StartRun,
)
from agiraph.board.decide import decide
from agiraph.board.rules.sub_nodes import depth, overseer
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import RunId
from tests.unit.board.board_driver import BoardDriver


def family() -> BoardDriver:
    """A node that ada holds, its child that ben holds, and the child's child, pending."""
    driver = BoardDriver()
    for worker in ("ada", "ben", "cyd"):
        driver.worker(worker)
    driver.node("top")
    driver.run("top", "ada")
    driver.node("middle", parent="top")
    driver.run("middle", "ben")
    driver.node("low", parent="middle")
    return driver


def test_sub_node_is_one_level_below_its_parent() -> None:
    driver = family()
    assert [depth(driver.board, driver.at(name)) for name in ("top", "middle", "low")] == [1, 2, 3]


def test_sub_nodes_inherit_the_trigger_of_their_firing() -> None:
    driver = BoardDriver()
    driver.node("top", trigger="t-1")
    driver.node("middle", parent="top")
    driver.node("low", parent="middle")
    assert [driver.at(name).trigger for name in ("top", "middle", "low")] == ["t-1"] * 3


def test_node_beyond_the_depth_limit_is_refused_with_the_alternatives() -> None:
    driver = family()
    driver.node("lower", parent="low")
    with pytest.raises(IllegalTransition, match=r"'lower' stands at depth 4.*suggest_next"):
        driver.node("lowest", parent="lower")


@pytest.mark.parametrize(
    ("needs", "worker", "cycle"),
    [
        (("top",), None, "late -> top -> middle -> late"),
        (("middle",), None, "late -> middle -> late"),
        ((), "ada", r"late -> top -> middle -> late \(worker 'ada' holds it\)"),
        ((), "ben", r"late -> middle -> late \(worker 'ben' holds it\)"),
        (("after",), None, "late -> after -> top -> middle -> late"),
    ],
)
def test_sub_node_cannot_wait_for_its_ancestors(
    needs: tuple[str, ...], worker: str | None, cycle: str
) -> None:
    driver = family()
    driver.node("after", "top")
    with pytest.raises(IllegalTransition, match=f"part of a cycle: {cycle}"):
        driver.node("late", *needs, parent="middle", worker=worker)
    assert "late" not in {node.name for node in driver.board.nodes.values()}


def test_sub_node_cannot_be_reserved_for_the_worker_of_its_parent() -> None:
    driver = family()
    driver.refuses(ReserveNode("low", "ben"), "low -> middle -> low")
    assert driver.do(ReserveNode("low", "cyd")) == ["node.reserved"]


def test_ended_node_accepts_no_sub_nodes() -> None:
    driver = family()
    driver.fail("middle")
    with pytest.raises(IllegalTransition, match="'middle' is failed: nothing can be below it"):
        driver.node("late", parent="middle")


def test_a_sub_node_may_wait_for_its_siblings() -> None:
    driver = family()
    driver.node("next", "low", parent="middle")
    assert driver.at("next").dependencies == (driver.at("low").id,)


def test_failed_parent_cancels_its_sub_nodes() -> None:
    driver = family()
    driver.fail("top")
    assert [driver.at(name).status for name in ("top", "middle", "low")] == [
        "failed",
        "cancelled",
        "cancelled",
    ]
    assert driver.at("low").reason == "its parent node 'top' failed: it went wrong"
    assert driver.board.workers[driver.who("ben").id].status == "idle"


def test_cancelled_or_lost_parent_cancels_its_sub_nodes() -> None:
    for end in (CancelNode("top", "unwanted"), LoseWorker("ada", "killed")):
        driver = family()
        driver.do(end)
        assert driver.at("middle").status == driver.at("low").status == "cancelled"


def test_completed_parent_leaves_its_sub_nodes_to_the_next_ancestor() -> None:
    driver = family()
    assert overseer(driver.board, driver.at("low")) == driver.at("middle")
    driver.done("middle")
    assert driver.at("low").status == "pending"
    assert overseer(driver.board, driver.at("low")) == driver.at("top")
    driver.done("top")
    assert overseer(driver.board, driver.at("low")) is None


def test_a_team_has_a_bounded_number_of_workers_and_the_scheduler_knows() -> None:
    driver = BoardDriver(max_workers=1)
    driver.worker("ada")
    with pytest.raises(
        IllegalTransition, match=r"its 1 workers \(run.max_workers\).*idle now: ada"
    ):
        driver.worker("ben")
    driver.node("one")
    driver.node("two")
    driver.settle()
    assert [worker.name for worker in driver.board.team] == ["ada"]
    assert driver.at("two").status == "pending"


def test_waiting_parents_free_their_places_for_deep_sub_nodes() -> None:
    driver = BoardDriver()
    driver.node("n1")
    for level in (1, 2, 3):
        driver.settle(max_concurrent=1)
        assert driver.at(f"n{level}").status == "assigned"
        driver.node(f"n{level + 1}", parent=f"n{level}")
        driver.do(BlockNode(f"n{level}", (f"n{level + 1}",)))
    driver.settle(max_concurrent=1)
    assert driver.at("n4").status == "assigned"


def test_bounds_below_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_depth must be at least 1"):
        decide(
            Board(),
            StartRun(run_id=RunId("r2"), goal="g", model="m", worker_model="w", max_depth=0),
            0.0,
        )
