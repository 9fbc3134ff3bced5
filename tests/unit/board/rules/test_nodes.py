"""The states of a node: assigned, started, blocked, ended, and refused commands."""

import pytest

from agiraph.board.commands import (
    AssignNode,
    BlockNode,
    CancelNode,
    CompleteNode,
    FailNode,
    ReserveNode,
    RetireWorker,
    StartNode,
    UnblockNode,
)
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.models import NodeResult
from agiraph.core.results import Evidence
from tests.unit.board.board_driver import BoardDriver


@pytest.fixture
def driver() -> BoardDriver:
    made = BoardDriver()
    made.worker("ada")
    made.worker("ben")
    made.node("one")
    made.node("two", "one")
    return made


def test_node_changes_from_pending_to_completed(driver: BoardDriver) -> None:
    assert driver.do(AssignNode("one", "ada")) == ["node.assigned"]
    assert (driver.at("one").attempt, driver.who("ada").status) == (1, "busy")
    assert driver.do(StartNode("one", "ada", 1)) == ["node.started"]
    assert driver.do(CompleteNode("one", 1, NodeResult(summary="done", files=("a.md",)))) == [
        "node.completed"
    ]
    assert (driver.at("one").status, driver.at("one").published) == ("completed", ("a.md",))
    assert (driver.who("ada").status, driver.who("ada").node) == ("idle", None)
    times = driver.board.times[driver.at("one").id]
    assert times.assigned is not None
    assert times.started is not None
    assert times.created < times.assigned < times.started < (times.ended or 0)


def test_repeated_command_has_no_effect(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    assert driver.do(AssignNode("one", "ada")) == []
    assert driver.do(StartNode("one", "ada", 1)) == []
    driver.done("one")
    assert driver.do(CompleteNode("one", 1, NodeResult(summary="done again", files=("b",)))) == []
    assert driver.at("one").summary == "done"
    driver.do(CancelNode("two", "no"))
    assert driver.do(CancelNode("two", "no")) == []


def test_a_node_with_open_dependencies_is_not_assigned(driver: BoardDriver) -> None:
    with pytest.raises(IllegalTransition, match=r"not ready: it waits for one \(pending\)"):
        driver.assign("two", "ada")


def test_worker_has_at_most_one_node(driver: BoardDriver) -> None:
    driver.node("three")
    driver.run("one", "ada")
    with pytest.raises(IllegalTransition, match=r"'ada' is busy with node 'one' \(idle: ben\)"):
        driver.assign("three", "ada")


def test_an_assigned_node_is_not_given_to_another(driver: BoardDriver) -> None:
    driver.assign("one", "ada")
    with pytest.raises(IllegalTransition, match="is assigned and cannot be assigned"):
        driver.assign("one", "ben")
    driver.refuses(StartNode("one", "ben", 1), "not assigned to worker 'ben'")


def test_a_stale_attempt_is_refused(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    for command in (CompleteNode("one", 2, NodeResult(summary="")), FailNode("one", 0, "x")):
        driver.refuses(command, r"is stale \(now: 1\)")


def test_ended_node_cannot_change(driver: BoardDriver) -> None:
    driver.complete("one", "ada")
    for command in (CancelNode("one"), FailNode("one", 1, "x"), AssignNode("one", "ben")):
        driver.refuses(command, "is completed and cannot be")
    driver.do(CancelNode("two"))
    driver.refuses(FailNode("two", None, "x"), "is cancelled and cannot be failed")


def test_first_report_of_a_worker_implies_its_start(driver: BoardDriver) -> None:
    driver.assign("one", "ada")
    assert driver.do(CompleteNode("one", 1, NodeResult(summary=""))) == [
        "node.started",
        "node.completed",
    ]


def test_a_pending_node_cannot_be_completed(driver: BoardDriver) -> None:
    with pytest.raises(IllegalTransition, match="is pending and cannot be completed"):
        driver.do(CompleteNode("one", 0, NodeResult(summary="")))


def test_a_worker_that_waits_blocks_its_node(driver: BoardDriver) -> None:
    driver.node("child")
    driver.run("one", "ada")
    assert driver.do(BlockNode("one", ("child",))) == ["node.blocked"]
    assert driver.do(BlockNode("one", ("child",))) == []
    assert (driver.at("one").status, driver.who("ada").status) == ("blocked", "waiting_for_nodes")
    assert driver.do(UnblockNode("one")) == ["node.unblocked"]
    assert driver.do(UnblockNode("one")) == []
    assert (driver.at("one").status, driver.who("ada").status) == ("running", "busy")
    assert driver.board.waits == {}


def test_a_blocked_node_may_publish(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    driver.do(BlockNode("one"))
    assert driver.do(CompleteNode("one", 1, NodeResult(summary=""))) == ["node.completed"]
    assert driver.who("ada").status == "idle"


def test_a_cycle_of_waits_is_refused_and_named(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    driver.refuses(BlockNode("one", ("two",)), "one -> two -> one")
    driver.refuses(BlockNode("one", ("one",)), "one -> one")


def test_cancelling_frees_the_worker(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    assert driver.do(CancelNode("one", "not wanted")) == ["node.cancelled"]
    assert driver.who("ada").status == "idle"
    assert driver.at("one").reason == "not wanted"


def test_a_node_may_be_kept_for_a_busy_worker(driver: BoardDriver) -> None:
    driver.run("one", "ada")
    assert driver.do(ReserveNode("two", "ada")) == ["node.reserved"]
    assert driver.do(ReserveNode("two", "ada")) == []
    driver.done("one", summary="")
    driver.refuses(RetireWorker("ada"), "'ada' is wanted by two")
    driver.settle()
    assert driver.at("two").assigned_worker == driver.who("ada").id


def test_unknown_node_or_worker_is_refused_with_the_known_names(driver: BoardDriver) -> None:
    with pytest.raises(InvalidInput, match=r"unknown node 'x' \(known: one, two\)"):
        driver.assign("x", "ada")
    with pytest.raises(InvalidInput, match=r"unknown worker 'x' \(known: ada, ben\)"):
        driver.assign("one", "x")


OUTSIDE = (
    "..", "../../..", "a/../../b", "/etc/passwd", "", ".", "./a", "a//b", "a/", "a\0b", r"a\x00b",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_result_with_a_path_outside_its_folder_is_refused(driver: BoardDriver, name: str) -> None:
    driver.run("one", "ada")
    for named in (
        NodeResult(summary="done", files=("a.md", name)),
        NodeResult(summary="done", evidence=Evidence(artifacts={name: "0"})),
    ):
        with pytest.raises(InvalidInput, match=r"leads out of published/"):
            driver.do(CompleteNode("one", 1, named))
    with pytest.raises(InvalidInput, match=r"leads out of scratch/"):
        driver.do(FailNode("one", 1, "no", (name,)))
    assert driver.at("one").status == "running"
