"""A failed node is retried with its dependents, or the retry is refused."""

from agiraph.board import commands as c
from agiraph.board.scheduler import Schedule, SchedulingLimits, plan
from agiraph.core.models import NodeResult
from tests.unit.board.board_driver import BoardDriver


def failed() -> BoardDriver:
    """Return a board on which `a` has failed, and `b`, which needs it, because of that."""
    driver = BoardDriver()
    driver.node("a")
    driver.node("b", "a")
    driver.settle()
    driver.do(c.FailNode("a", 1, "no network"))
    driver.settle()
    return driver


def statuses(driver: BoardDriver) -> dict[str, str]:
    """Return the status of each node by its name."""
    return {node.name: node.status for node in driver.board.nodes.values()}


def test_retried_node_restores_the_nodes_that_failed_with_it() -> None:
    driver = failed()
    assert statuses(driver) == {"a": "failed", "b": "failed"}
    assert driver.do(c.RetryNode("a", "m1", "it is back")) == ["node.retried", "node.retried"]
    assert statuses(driver) == {"a": "pending", "b": "pending"}
    assert driver.do(c.RetryNode("a", "m1")) == []
    driver.settle()
    [a, b] = driver.board.nodes.values()
    assert (a.status, a.attempt, a.failed_before, a.reason) == ("assigned", 2, "no network", None)
    assert b.status == "pending"


def test_report_of_an_earlier_attempt_is_stale() -> None:
    driver = failed()
    driver.do(c.RetryNode("a", "m1"))
    driver.refuses(c.FailNode("a", 1, "late"), "attempt 1 of node 'a' is stale")


def test_retry_reopens_a_failed_run_and_its_cancelled_nodes() -> None:
    driver = failed()
    driver.node("c")
    driver.settle()
    driver.do(c.StopRun("failed", "the model cannot be asked"))
    assert statuses(driver) == {"a": "failed", "b": "failed", "c": "cancelled"}
    told = driver.do(c.RetryNode("a", "m1"))
    assert told == ["run.reopened", *["node.retried"] * 3]
    assert driver.board.is_running
    assert driver.board.open_stage == 0
    driver.settle()
    assert statuses(driver) == {"a": "assigned", "b": "pending", "c": "assigned"}


def test_only_failed_nodes_of_an_open_stage_are_retried() -> None:
    driver = failed()
    driver.refuses(c.RetryNode("x", "m"), "unknown node 'x'", Exception)
    driver.node("c")
    driver.refuses(c.RetryNode("c", "m"), "'c' is pending and cannot be tried again")
    driver.do(c.CancelNode("c"))
    driver.do(c.Reconvene("all is said"))
    driver.refuses(c.RetryNode("a", "m"), "stage 'Stage 1' of node 'a' is over")
    driver.do(c.FinishRun("done"))
    driver.refuses(c.RetryNode("a", "m"), "the run is completed")


def test_a_sub_node_needs_its_parent() -> None:
    driver = BoardDriver()
    driver.node("a")
    driver.settle()
    driver.node("a1", parent="a")
    driver.settle()
    driver.do(c.FailNode("a1", 1, "why not"))
    assert driver.do(c.RetryNode("a1", "m1")) == ["node.retried"]
    driver.settle()
    driver.do(c.FailNode("a1", 2, "again"))
    driver.do(c.FailNode("a", 1, "all is lost"))
    driver.refuses(c.RetryNode("a1", "m2"), "a part of node 'a', which is failed")


def completed() -> BoardDriver:
    """Return a board: `a` is completed, `b` needs it and has not begun, `c` refers to it."""
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("a")
    driver.complete("a", "ada")
    driver.node("wait")
    driver.assign("wait", "ada")
    driver.node("b", "a", "wait")
    driver.node("c", "wait", refs={"it": "a"})
    return driver


def test_completed_node_can_be_retried_before_its_result_is_used() -> None:
    driver = completed()
    assert driver.do(c.RetryNode("a", "m1", "with sources")) == ["node.retried"]
    assert driver.do(c.RetryNode("a", "m1")) == []
    a = driver.at("a")
    assert (a.status, a.completed_before, a.published, a.summary) == ("pending", 1, (), None)
    assert a.failed_before.startswith("it was completed, and is wanted once more: with sources")
    assert driver.at("c").dependencies == (driver.at("wait").id, a.id), "it waits for it again"
    driver.settle()
    assert driver.at("a").attempt == 2
    driver.done("wait")
    driver.settle()
    assert {driver.at(name).status for name in "bc"} == {"pending"}
    driver.do(c.CompleteNode("a", 2, NodeResult(summary="better")))
    driver.settle()
    assert {driver.at(name).status for name in "bc"} == {"assigned"}
    driver.refuses(c.RetryNode("a", "m2"), "b, c began with its result: it stands")


def test_completed_node_with_a_used_result_is_not_retried() -> None:
    driver = completed()
    driver.do(c.CancelNode("wait"))
    driver.settle()
    driver.do(c.Reconvene("all is said"))
    driver.refuses(c.RetryNode("a", "m"), "stage 'Stage 1' of node 'a' is over")
    driver.do(c.FinishRun("done"))
    driver.refuses(c.RetryNode("a", "m"), "the run is completed: its result stands")
    driver = BoardDriver()
    driver.busy("a", "ada")
    driver.node("a1", parent="a")
    driver.worker("ben")
    driver.complete("a1", "ben")
    driver.refuses(c.RetryNode("a1", "m"), "the worker of 'a' has been given its result")


def test_node_with_retries_is_retried_before_its_dependents_fail() -> None:
    driver = BoardDriver()
    driver.node("a", retries=2, retry_delay_seconds=60)
    driver.node("b", "a")
    driver.settle()
    for attempt in (1, 2):
        driver.do(c.FailNode("a", attempt, "no network"))
        [again] = plan(driver.board, SchedulingLimits(4), driver.now)
        assert driver.do(again) == ["node.retried"]
        assert driver.do(again) == []
        due = Schedule().retry_due(driver.board, driver.now)
        assert due == driver.now - 1 + 60
        schedule = Schedule()
        assert schedule.plan(driver.board, SchedulingLimits(4), driver.now) == ()
        assert schedule.retry_due(driver.board, driver.now) == due, (
            "it has looked at all, and kept it"
        )
        assert schedule.retry_due(driver.board, due) is None
        [assign] = plan(driver.board, SchedulingLimits(4), due)
        driver.do(assign)
        assert driver.at("a").attempt == attempt + 1
    driver.do(c.FailNode("a", 3, "no network"))
    driver.settle()
    assert statuses(driver) == {"a": "failed", "b": "failed"}


def test_node_of_a_lost_worker_is_retried_by_another_worker() -> None:
    driver = BoardDriver()
    driver.node("a", retries=1)
    driver.settle()
    [worker] = driver.board.team
    driver.do(c.LoseWorker(worker.id, "killed"))
    driver.settle()
    assert (driver.at("a").status, driver.at("a").attempt) == ("assigned", 2)
