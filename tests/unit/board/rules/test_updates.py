"""A node is changed before it has ended: its terms, its worker, the acceptance of its result."""

from typing import Any

from agiraph.board import commands as c
from agiraph.board.events import BoardEvent, NodeUpdated
from agiraph.core.errors import InvalidInput
from agiraph.core.node_changes import NodeChanges
from agiraph.core.specs import NodeSpec
from tests.unit.board.board_driver import BoardDriver


def change(node: str, cause: str = "u1", *, accepted: str = "", **new: Any) -> c.UpdateNode:
    """Return the command with these new terms; `worker` is another worker."""
    worker = new.pop("worker", None)
    return c.UpdateNode(node, cause, NodeChanges(**new), worker, accepted)


def terms_of(events: tuple[BoardEvent, ...]) -> dict[str, tuple[Any, Any]]:
    """Return the old and the new value of each term that the only event changes."""
    [event] = events
    assert isinstance(event, NodeUpdated)
    names = event.new.named
    return {name: (getattr(event.old, name), getattr(event.new, name)) for name in names}


def at_work(**asked: Any) -> BoardDriver:
    """Return a board on which ada works on `a`, and ben is idle."""
    driver = BoardDriver()
    driver.worker("ada")
    driver.worker("ben")
    driver.node("a", **asked)
    driver.run("a", "ada")
    return driver


def test_running_node_gets_new_terms_once_for_a_cause() -> None:
    driver = at_work(checks=("make test",))
    asked = change("a", task="do it well", checks=("true",), max_iterations=5)
    assert terms_of(driver.events(asked)) == {
        "task": ("do a", "do it well"),
        "checks": (("make test",), ("true",)),
        "max_iterations": (None, 5),
    }
    assert driver.do(asked) == []
    a = driver.at("a")
    assert (a.task, a.checks, a.max_iterations) == ("do it well", ("true",), 5)
    assert (a.update.number, a.status) == (1, "running")
    assert driver.do(change("a", "u2", task="do it well")) == [], "nothing changes"


def test_ended_node_is_not_changed() -> None:
    driver = at_work()
    driver.done("a")
    driver.refuses(change("a", task="x"), "node 'a' is completed and cannot be changed")
    driver.node("b")
    driver.do(c.CancelNode("b", "not needed"))
    driver.refuses(change("b", "u2", task="x"), "node 'b' is cancelled and cannot be changed")


def test_pending_node_waits_for_its_new_refs_instead_of_the_old_ones() -> None:
    driver = at_work()
    driver.node("b")
    driver.node("c", "a", refs={"b": "b"})
    driver.do(change("c", refs={"other": "a/published/x.md"}))
    c_node = driver.at("c")
    assert c_node.refs == {"other": f"nodes/{driver.at('a').folder}/published/x.md"}
    assert c_node.dependencies == (driver.at("a").id,)


def test_refs_that_close_a_cycle_are_refused() -> None:
    driver = at_work()
    driver.node("b", "a")
    driver.node("c", "b")
    driver.refuses(change("b", refs={"c": "c"}), "'b' would wait for itself: b -> c -> b")
    driver.refuses(change("b", refs={"b": "b"}), "'b' would wait for itself")


def test_running_node_refers_only_to_completed_nodes() -> None:
    driver = at_work()
    driver.node("b")
    driver.refuses(change("a", refs={"b": "b"}), r"must lead to completed nodes, not to b \(pend")
    driver.complete("b", "ben")
    driver.do(change("a", refs={"b": "b"}))
    assert list(driver.at("a").refs) == ["b"]
    assert driver.at("a").dependencies == ()


def test_worker_of_a_changed_node_releases_it_first() -> None:
    driver = at_work()
    asked = change("a", task="better", worker="ben")
    assert driver.do(asked) == ["node.updated", "node.moved"]
    assert driver.do(asked) == []
    assert driver.do(c.ReleaseNode("a", 1)) == ["node.released"]
    driver.settle()
    a = driver.at("a")
    assert (a.assigned_worker, a.task) == (driver.who("ben").id, "better")


def test_acceptance_needs_checks_and_ends_with_new_checks() -> None:
    driver = at_work(checks=("make test",))
    driver.do(change("a", accepted="the test is wrong"))
    assert driver.at("a").update.accepted == "the test is wrong"
    driver.do(change("a", "u2", max_iterations=3))
    assert driver.at("a").update.accepted == "the test is wrong"
    driver.do(change("a", "u3", checks=("true",)))
    assert driver.at("a").update.accepted == ""
    driver.node("b")
    driver.refuses(change("b", accepted="fine"), "node 'b' has no checks", InvalidInput)


def test_work_of_a_plan_and_of_another_worker_is_kept() -> None:
    driver = at_work()
    driver.node("part", parent="a")
    driver.refuses(change("part", task="x"), "the worker above it manages it")
    spec = NodeSpec(name="planned", task="as written", checks=("true",))
    driver.do(c.CreateNode("plan:planned", spec))
    driver.refuses(change("planned", checks=()), "of the plan, so its checks cannot be changed")
    driver.refuses(change("planned", accepted="ok"), "of the plan, so its accept cannot")
    assert driver.do(change("planned", max_iterations=9)) == ["node.updated"]


def test_single_call_that_has_begun_is_not_changed() -> None:
    driver = at_work()
    driver.node("one", mode="single_inference")
    driver.do(change("one", task="now"))
    driver.settle()
    driver.refuses(change("one", "u2", task="late"), "a single model call, which has begun")
