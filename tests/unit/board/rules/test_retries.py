"""A failed node is tried again: what comes back with it, and when that is refused."""

from agiraph.board import commands as c
from agiraph.board.scheduler import Schedule, SchedulingLimits, plan
from agiraph.core.models import NodeResult
from tests.unit.board.desk import Desk


def failed() -> Desk:
    """Return a desk on which `a` has failed, and `b`, which needs it, because of that."""
    desk = Desk()
    desk.node("a")
    desk.node("b", "a")
    desk.settle()
    desk.do(c.FailNode("a", 1, "no network"))
    desk.settle()
    return desk


def statuses(desk: Desk) -> dict[str, str]:
    """Return the status of each node by its name."""
    return {node.name: node.status for node in desk.board.nodes.values()}


def test_a_failed_node_comes_back_with_those_that_failed_for_it() -> None:
    desk = failed()
    assert statuses(desk) == {"a": "failed", "b": "failed"}
    assert desk.do(c.RetryNode("a", "m1", "it is back")) == ["node.retried", "node.retried"]
    assert statuses(desk) == {"a": "pending", "b": "pending"}
    assert desk.do(c.RetryNode("a", "m1")) == []
    desk.settle()
    [a, b] = desk.board.nodes.values()
    assert (a.status, a.attempt, a.failed_before, a.reason) == ("assigned", 2, "no network", None)
    assert b.status == "pending"


def test_what_an_attempt_before_says_is_stale() -> None:
    desk = failed()
    desk.do(c.RetryNode("a", "m1"))
    desk.refuses(c.FailNode("a", 1, "late"), "attempt 1 of node 'a' is stale")


def test_a_run_that_failed_goes_on_with_what_was_cancelled_at_its_end() -> None:
    desk = failed()
    desk.node("c")
    desk.settle()
    desk.do(c.StopRun("failed", "the model cannot be asked"))
    assert statuses(desk) == {"a": "failed", "b": "failed", "c": "cancelled"}
    told = desk.do(c.RetryNode("a", "m1"))
    assert told == ["run.reopened", *["node.retried"] * 3]
    assert desk.board.is_running
    assert desk.board.open_stage == 0
    desk.settle()
    assert statuses(desk) == {"a": "assigned", "b": "pending", "c": "assigned"}


def test_only_a_failed_node_of_an_open_stage_is_tried_again() -> None:
    desk = failed()
    desk.refuses(c.RetryNode("x", "m"), "unknown node 'x'", Exception)
    desk.node("c")
    desk.refuses(c.RetryNode("c", "m"), "'c' is pending and cannot be tried again")
    desk.do(c.CancelNode("c"))
    desk.do(c.Reconvene("all is said"))
    desk.refuses(c.RetryNode("a", "m"), "stage 'Stage 1' of node 'a' is over")
    desk.do(c.FinishRun("done"))
    desk.refuses(c.RetryNode("a", "m"), "the run is completed")


def test_a_sub_node_needs_its_parent() -> None:
    desk = Desk()
    desk.node("a")
    desk.settle()
    desk.node("a1", parent="a")
    desk.settle()
    desk.do(c.FailNode("a1", 1, "why not"))
    assert desk.do(c.RetryNode("a1", "m1")) == ["node.retried"]
    desk.settle()
    desk.do(c.FailNode("a1", 2, "again"))
    desk.do(c.FailNode("a", 1, "all is lost"))
    desk.refuses(c.RetryNode("a1", "m2"), "a part of node 'a', which is failed")


def completed() -> Desk:
    """Return a desk on which `a` is completed, `b` needs it and has not begun, `c` refers to it."""
    desk = Desk()
    desk.worker("ada")
    desk.node("a")
    desk.complete("a", "ada")
    desk.node("wait")
    desk.assign("wait", "ada")
    desk.node("b", "a", "wait")
    desk.node("c", "wait", refs={"it": "a"})
    return desk


def test_a_completed_node_is_done_once_more_while_nobody_has_begun_with_its_result() -> None:
    desk = completed()
    assert desk.do(c.RetryNode("a", "m1", "with sources")) == ["node.retried"]
    assert desk.do(c.RetryNode("a", "m1")) == []
    a = desk.at("a")
    assert (a.status, a.completed_before, a.published, a.summary) == ("pending", 1, (), None)
    assert a.failed_before.startswith("it was completed, and is wanted once more: with sources")
    assert desk.at("c").dependencies == (desk.at("wait").id, a.id), "it waits for it again"
    desk.settle()
    assert desk.at("a").attempt == 2
    desk.done("wait")
    desk.settle()
    assert {desk.at(name).status for name in "bc"} == {"pending"}
    desk.do(c.CompleteNode("a", 2, NodeResult(summary="better")))
    desk.settle()
    assert {desk.at(name).status for name in "bc"} == {"assigned"}
    desk.refuses(c.RetryNode("a", "m2"), "b, c began with its result: it stands")


def test_a_completed_node_whose_result_was_handed_over_stays() -> None:
    desk = completed()
    desk.do(c.CancelNode("wait"))
    desk.settle()
    desk.do(c.Reconvene("all is said"))
    desk.refuses(c.RetryNode("a", "m"), "stage 'Stage 1' of node 'a' is over")
    desk.do(c.FinishRun("done"))
    desk.refuses(c.RetryNode("a", "m"), "the run is completed: its result stands")
    desk = Desk()
    desk.busy("a", "ada")
    desk.node("a1", parent="a")
    desk.worker("ben")
    desk.complete("a1", "ben")
    desk.refuses(c.RetryNode("a1", "m"), "the worker of 'a' has been given its result")


def test_a_node_with_retries_is_done_again_by_the_board_before_others_fail_for_it() -> None:
    desk = Desk()
    desk.node("a", retries=2, retry_delay_seconds=60)
    desk.node("b", "a")
    desk.settle()
    for attempt in (1, 2):
        desk.do(c.FailNode("a", attempt, "no network"))
        [again] = plan(desk.board, SchedulingLimits(4), desk.now)
        assert desk.do(again) == ["node.retried"]
        assert desk.do(again) == []
        due = Schedule().retry_due(desk.board, desk.now)
        assert due == desk.now - 1 + 60
        schedule = Schedule()
        assert schedule.plan(desk.board, SchedulingLimits(4), desk.now) == ()
        assert schedule.retry_due(desk.board, desk.now) == due, "it has looked at all, and kept it"
        assert schedule.retry_due(desk.board, due) is None
        [assign] = plan(desk.board, SchedulingLimits(4), due)
        desk.do(assign)
        assert desk.at("a").attempt == attempt + 1
    desk.do(c.FailNode("a", 3, "no network"))
    desk.settle()
    assert statuses(desk) == {"a": "failed", "b": "failed"}


def test_a_node_whose_worker_was_lost_is_done_again_by_another() -> None:
    desk = Desk()
    desk.node("a", retries=1)
    desk.settle()
    [worker] = desk.board.team
    desk.do(c.LoseWorker(worker.id, "killed"))
    desk.settle()
    assert (desk.at("a").status, desk.at("a").attempt) == ("assigned", 2)
