"""Sub-nodes: how deep they may stand, what they may not wait for, and how they end."""

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
from tests.unit.board.desk import Desk


def family() -> Desk:
    """A node that ada holds, its child that ben holds, and the child's child, pending."""
    desk = Desk()
    for worker in ("ada", "ben", "cyd"):
        desk.worker(worker)
    desk.node("top")
    desk.run("top", "ada")
    desk.node("middle", parent="top")
    desk.run("middle", "ben")
    desk.node("low", parent="middle")
    return desk


def test_a_sub_node_stands_one_deeper_than_its_parent() -> None:
    desk = family()
    assert [depth(desk.board, desk.at(name)) for name in ("top", "middle", "low")] == [1, 2, 3]


def test_what_a_firing_has_put_on_the_board_is_its_triggers_down_to_the_last_sub_node() -> None:
    desk = Desk()
    desk.node("top", trigger="t-1")
    desk.node("middle", parent="top")
    desk.node("low", parent="middle")
    assert [desk.at(name).trigger for name in ("top", "middle", "low")] == ["t-1"] * 3


def test_too_deep_is_refused_with_what_is_possible() -> None:
    desk = family()
    desk.node("lower", parent="low")
    with pytest.raises(IllegalTransition, match=r"'lower' stands at depth 4.*suggest_next"):
        desk.node("lowest", parent="lower")


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
def test_a_sub_node_cannot_wait_for_those_above_it(
    needs: tuple[str, ...], worker: str | None, cycle: str
) -> None:
    desk = family()
    desk.node("after", "top")
    with pytest.raises(IllegalTransition, match=f"part of a cycle: {cycle}"):
        desk.node("late", *needs, parent="middle", worker=worker)
    assert "late" not in {node.name for node in desk.board.nodes.values()}


def test_a_sub_node_cannot_be_kept_for_the_one_who_holds_its_parent() -> None:
    desk = family()
    desk.refuses(ReserveNode("low", "ben"), "low -> middle -> low")
    assert desk.do(ReserveNode("low", "cyd")) == ["node.reserved"]


def test_below_a_node_that_has_ended_nothing_is_created() -> None:
    desk = family()
    desk.fail("middle")
    with pytest.raises(IllegalTransition, match="'middle' is failed: nothing can be below it"):
        desk.node("late", parent="middle")


def test_a_sub_node_may_wait_for_its_siblings() -> None:
    desk = family()
    desk.node("next", "low", parent="middle")
    assert desk.at("next").dependencies == (desk.at("low").id,)


def test_a_parent_that_fails_takes_its_sub_nodes_along() -> None:
    desk = family()
    desk.fail("top")
    assert [desk.at(name).status for name in ("top", "middle", "low")] == [
        "failed",
        "cancelled",
        "cancelled",
    ]
    assert desk.at("low").reason == "its parent node 'top' failed: it went wrong"
    assert desk.board.workers[desk.who("ben").id].status == "idle"


def test_a_parent_that_is_cancelled_or_loses_its_worker_takes_them_along_too() -> None:
    for end in (CancelNode("top", "unwanted"), LoseWorker("ada", "killed")):
        desk = family()
        desk.do(end)
        assert desk.at("middle").status == desk.at("low").status == "cancelled"


def test_a_parent_that_is_completed_leaves_them_to_the_next_above() -> None:
    desk = family()
    assert overseer(desk.board, desk.at("low")) == desk.at("middle")
    desk.done("middle")
    assert desk.at("low").status == "pending"
    assert overseer(desk.board, desk.at("low")) == desk.at("top")
    desk.done("top")
    assert overseer(desk.board, desk.at("low")) is None


def test_a_team_has_a_bounded_number_of_workers_and_the_scheduler_knows() -> None:
    desk = Desk(max_workers=1)
    desk.worker("ada")
    with pytest.raises(
        IllegalTransition, match=r"its 1 workers \(run.max_workers\).*idle now: ada"
    ):
        desk.worker("ben")
    desk.node("one")
    desk.node("two")
    desk.settle()
    assert [worker.name for worker in desk.board.team] == ["ada"]
    assert desk.at("two").status == "pending"


def test_a_waiting_parent_leaves_its_place_to_its_sub_nodes_however_deep() -> None:
    desk = Desk()
    desk.node("n1")
    for level in (1, 2, 3):
        desk.settle(max_concurrent=1)
        assert desk.at(f"n{level}").status == "assigned"
        desk.node(f"n{level + 1}", parent=f"n{level}")
        desk.do(BlockNode(f"n{level}", (f"n{level + 1}",)))
    desk.settle(max_concurrent=1)
    assert desk.at("n4").status == "assigned"


def test_bounds_below_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_depth must be at least 1"):
        decide(
            Board(),
            StartRun(run_id=RunId("r2"), goal="g", model="m", worker_model="w", max_depth=0),
            0.0,
        )
