"""A node is given to another worker or model: at once, or when its worker has released it."""

import pytest

from agiraph.board import commands as c
from agiraph.core.errors import InvalidInput
from agiraph.core.models import NodeResult
from agiraph.core.specs import WorkerSpec
from tests.unit.board.board_driver import BoardDriver


def at_work() -> BoardDriver:
    """Return a board on which ada works on `a`, and ben is idle."""
    driver = BoardDriver()
    driver.busy("a", "ada")
    driver.worker("ben")
    return driver


def move(worker: str | None = None, model: str | None = None, cause: str = "m1") -> c.MoveNode:
    return c.MoveNode("a", cause, worker, model, "too slow")


def test_running_node_moves_after_its_worker_releases_it() -> None:
    driver = at_work()
    assert driver.do(move("ben")) == ["node.moved"]
    a = driver.at("a")
    assert (a.status, a.assigned_worker, a.attempt) == ("running", driver.who("ada").id, 1)
    assert driver.do(move("ben")) == []
    assert driver.plan() == ()
    assert driver.do(c.ReleaseNode("a", 1)) == ["node.released"]
    assert driver.do(c.ReleaseNode("a", 1)) == []
    assert (driver.who("ada").status, driver.who("ada").node) == ("idle", None)
    driver.settle()
    a = driver.at("a")
    assert (a.status, a.assigned_worker, a.attempt) == ("assigned", driver.who("ben").id, 2)
    assert (a.failed_before, a.move) == ("it was taken from ada: too slow", None)
    driver.refuses(c.FailNode("a", 1, "late"), "attempt 1 of node 'a' is stale")
    assert driver.do(move("ben")) == [], "it is there"


def test_move_to_another_model_hires_a_new_worker() -> None:
    driver = at_work()
    driver.do(move(model="x/strong"))
    driver.do(c.ReleaseNode("a", 1))
    driver.settle()
    holder = driver.board.workers[driver.at("a").assigned_worker or driver.who("ada").id]
    assert (holder.model, holder.name) == ("x/strong", "worker-1")


def test_pending_node_moves_when_it_starts() -> None:
    driver = at_work()
    driver.node("b", "a")
    assert driver.do(c.MoveNode("b", "m1", "ben")) == ["node.moved"]
    assert driver.do(c.MoveNode("b", "m2", "ben")) == []
    assert driver.at("b").wanted_worker == driver.who("ben").id
    driver.do(c.MoveNode("b", "m3", None, "x/strong"))
    driver.done("a")
    driver.settle()
    holder = driver.board.workers[driver.at("b").assigned_worker or driver.who("ada").id]
    assert holder.model == "x/strong"


@pytest.mark.parametrize("ends", [c.FailNode("a", 1, "no network"), c.LoseWorker("ada", "it died")])
def test_node_failed_during_its_move_is_retried_by_the_other_worker(ends: c.Command) -> None:
    driver = at_work()
    driver.do(move("ben"))
    assert "node.released" in driver.do(ends)
    driver.settle()
    a = driver.at("a")
    assert (a.status, a.assigned_worker) == ("assigned", driver.who("ben").id)
    assert "taken" not in a.failed_before


def test_node_completed_during_its_move_stays_completed() -> None:
    driver = at_work()
    driver.do(move("ben"))
    driver.do(c.CompleteNode("a", 1, NodeResult(summary="done")))
    assert driver.do(c.ReleaseNode("a", 1)) == []
    assert (driver.at("a").status, driver.at("a").move) == ("completed", None)
    driver.refuses(move("ben", cause="m2"), "'a' is completed and cannot be moved")


def test_a_failed_node_is_tried_again_elsewhere() -> None:
    driver = at_work()
    driver.fail("a")
    assert driver.do(move("ben")) == ["node.retried", "node.moved"]
    assert driver.do(move("ben")) == []
    driver.settle()
    assert driver.at("a").assigned_worker == driver.who("ben").id


def test_sub_nodes_are_cancelled_with_their_attempt() -> None:
    driver = at_work()
    driver.node("a1", parent="a")
    driver.do(c.BlockNode("a", ("a1",)))
    driver.do(move("ben"))
    assert driver.do(c.ReleaseNode("a", 1)) == ["node.released", "node.cancelled"]
    assert (driver.board.waits, driver.at("a1").status) == ({}, "cancelled")


def test_move_to_an_unsuitable_worker_is_refused() -> None:
    driver = BoardDriver(max_workers=2)
    driver.busy("a", "ada")
    driver.do(c.SpawnWorker("w", WorkerSpec(name="solo", mode="single_inference")))
    driver.refuses(move("solo"), "cannot take node 'a', which asks for mode")
    driver.refuses(move("nobody"), "unknown worker 'nobody'", InvalidInput)
    driver.refuses(move(), "name a worker", InvalidInput)
    driver.refuses(move(model="x/strong"), "the team is full")
    driver.do(c.CancelNode("a"))
    driver.refuses(move("ada"), "'a' is cancelled and cannot be moved")
