"""A node is given to another worker or model: at once, or when its worker has let go of it."""

import pytest

from agiraph.board import commands as c
from agiraph.core.errors import InvalidInput
from agiraph.core.models import NodeResult
from agiraph.core.specs import WorkerSpec
from tests.unit.board.desk import Desk


def at_work() -> Desk:
    """Return a desk on which ada works on `a`, and ben is idle."""
    desk = Desk()
    desk.busy("a", "ada")
    desk.worker("ben")
    return desk


def move(worker: str | None = None, model: str | None = None, cause: str = "m1") -> c.MoveNode:
    return c.MoveNode("a", cause, worker, model, "too slow")


def test_a_held_node_goes_when_its_worker_has_let_go_of_it() -> None:
    desk = at_work()
    assert desk.do(move("ben")) == ["node.moved"]
    a = desk.at("a")
    assert (a.status, a.assigned_worker, a.attempt) == ("running", desk.who("ada").id, 1)
    assert desk.do(move("ben")) == []
    assert desk.plan() == ()
    assert desk.do(c.ReleaseNode("a", 1)) == ["node.released"]
    assert desk.do(c.ReleaseNode("a", 1)) == []
    assert (desk.who("ada").status, desk.who("ada").node) == ("idle", None)
    desk.settle()
    a = desk.at("a")
    assert (a.status, a.assigned_worker, a.attempt) == ("assigned", desk.who("ben").id, 2)
    assert (a.failed_before, a.move) == ("it was taken from ada: too slow", None)
    desk.refuses(c.FailNode("a", 1, "late"), "attempt 1 of node 'a' is stale")
    assert desk.do(move("ben")) == [], "it is there"


def test_another_model_has_a_new_worker_hired() -> None:
    desk = at_work()
    desk.do(move(model="x/strong"))
    desk.do(c.ReleaseNode("a", 1))
    desk.settle()
    holder = desk.board.workers[desk.at("a").assigned_worker or desk.who("ada").id]
    assert (holder.model, holder.name) == ("x/strong", "worker-1")


def test_a_pending_node_goes_there_when_it_starts() -> None:
    desk = at_work()
    desk.node("b", "a")
    assert desk.do(c.MoveNode("b", "m1", "ben")) == ["node.moved"]
    assert desk.do(c.MoveNode("b", "m2", "ben")) == []
    assert desk.at("b").wanted_worker == desk.who("ben").id
    desk.do(c.MoveNode("b", "m3", None, "x/strong"))
    desk.done("a")
    desk.settle()
    holder = desk.board.workers[desk.at("b").assigned_worker or desk.who("ada").id]
    assert holder.model == "x/strong"


@pytest.mark.parametrize("ends", [c.FailNode("a", 1, "no network"), c.LoseWorker("ada", "it died")])
def test_what_its_worker_fails_meanwhile_is_tried_by_the_other(ends: c.Command) -> None:
    desk = at_work()
    desk.do(move("ben"))
    assert "node.released" in desk.do(ends)
    desk.settle()
    a = desk.at("a")
    assert (a.status, a.assigned_worker) == ("assigned", desk.who("ben").id)
    assert "taken" not in a.failed_before


def test_what_its_worker_completes_meanwhile_is_completed() -> None:
    desk = at_work()
    desk.do(move("ben"))
    desk.do(c.CompleteNode("a", 1, NodeResult(summary="done")))
    assert desk.do(c.ReleaseNode("a", 1)) == []
    assert (desk.at("a").status, desk.at("a").move) == ("completed", None)
    desk.refuses(move("ben", cause="m2"), "'a' is completed and cannot be moved")


def test_a_failed_node_is_tried_again_elsewhere() -> None:
    desk = at_work()
    desk.fail("a")
    assert desk.do(move("ben")) == ["node.retried", "node.moved"]
    assert desk.do(move("ben")) == []
    desk.settle()
    assert desk.at("a").assigned_worker == desk.who("ben").id


def test_sub_nodes_are_cancelled_with_the_attempt_that_made_them() -> None:
    desk = at_work()
    desk.node("a1", parent="a")
    desk.do(c.BlockNode("a", ("a1",)))
    desk.do(move("ben"))
    assert desk.do(c.ReleaseNode("a", 1)) == ["node.released", "node.cancelled"]
    assert (desk.board.waits, desk.at("a1").status) == ({}, "cancelled")


def test_who_cannot_do_it_is_refused() -> None:
    desk = Desk(max_workers=2)
    desk.busy("a", "ada")
    desk.do(c.SpawnWorker("w", WorkerSpec(name="solo", mode="single_inference")))
    desk.refuses(move("solo"), "cannot take node 'a', which asks for mode")
    desk.refuses(move("nobody"), "unknown worker 'nobody'", InvalidInput)
    desk.refuses(move(), "name a worker", InvalidInput)
    desk.refuses(move(model="x/strong"), "the team is full")
    desk.do(c.CancelNode("a"))
    desk.refuses(move("ada"), "'a' is cancelled and cannot be moved")
