"""The life of a node: assigned, started, blocked, ended, and what is refused on the way."""

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
from tests.unit.board.desk import Desk


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.worker("ada")
    made.worker("ben")
    made.node("one")
    made.node("two", "one")
    return made


def test_a_node_goes_from_pending_to_completed(desk: Desk) -> None:
    assert desk.do(AssignNode("one", "ada")) == ["node.assigned"]
    assert (desk.at("one").attempt, desk.who("ada").status) == (1, "busy")
    assert desk.do(StartNode("one", "ada", 1)) == ["node.started"]
    assert desk.do(CompleteNode("one", 1, NodeResult(summary="done", files=("a.md",)))) == [
        "node.completed"
    ]
    assert (desk.at("one").status, desk.at("one").published) == ("completed", ("a.md",))
    assert (desk.who("ada").status, desk.who("ada").node) == ("idle", None)
    times = desk.board.times[desk.at("one").id]
    assert times.assigned is not None
    assert times.started is not None
    assert times.created < times.assigned < times.started < (times.ended or 0)


def test_what_was_said_twice_happens_once(desk: Desk) -> None:
    desk.run("one", "ada")
    assert desk.do(AssignNode("one", "ada")) == []
    assert desk.do(StartNode("one", "ada", 1)) == []
    desk.done("one")
    assert desk.do(CompleteNode("one", 1, NodeResult(summary="done again", files=("b",)))) == []
    assert desk.at("one").summary == "done"
    desk.do(CancelNode("two", "no"))
    assert desk.do(CancelNode("two", "no")) == []


def test_a_node_with_open_dependencies_is_not_assigned(desk: Desk) -> None:
    with pytest.raises(IllegalTransition, match=r"not ready: it waits for one \(pending\)"):
        desk.assign("two", "ada")


def test_a_worker_holds_one_node(desk: Desk) -> None:
    desk.node("three")
    desk.run("one", "ada")
    with pytest.raises(IllegalTransition, match=r"'ada' is busy with node 'one' \(idle: ben\)"):
        desk.assign("three", "ada")


def test_an_assigned_node_is_not_given_to_another(desk: Desk) -> None:
    desk.assign("one", "ada")
    with pytest.raises(IllegalTransition, match="is assigned and cannot be assigned"):
        desk.assign("one", "ben")
    desk.refuses(StartNode("one", "ben", 1), "not assigned to worker 'ben'")


def test_a_stale_attempt_is_refused(desk: Desk) -> None:
    desk.run("one", "ada")
    for command in (CompleteNode("one", 2, NodeResult(summary="")), FailNode("one", 0, "x")):
        desk.refuses(command, r"is stale \(now: 1\)")


def test_an_ended_node_stays_as_it_is(desk: Desk) -> None:
    desk.complete("one", "ada")
    for command in (CancelNode("one"), FailNode("one", 1, "x"), AssignNode("one", "ben")):
        desk.refuses(command, "is completed and cannot be")
    desk.do(CancelNode("two"))
    desk.refuses(FailNode("two", None, "x"), "is cancelled and cannot be failed")


def test_the_first_word_of_a_worker_implies_that_it_began(desk: Desk) -> None:
    desk.assign("one", "ada")
    assert desk.do(CompleteNode("one", 1, NodeResult(summary=""))) == [
        "node.started",
        "node.completed",
    ]


def test_a_pending_node_cannot_be_completed(desk: Desk) -> None:
    with pytest.raises(IllegalTransition, match="is pending and cannot be completed"):
        desk.do(CompleteNode("one", 0, NodeResult(summary="")))


def test_a_worker_that_waits_blocks_its_node(desk: Desk) -> None:
    desk.node("child")
    desk.run("one", "ada")
    assert desk.do(BlockNode("one", ("child",))) == ["node.blocked"]
    assert desk.do(BlockNode("one", ("child",))) == []
    assert (desk.at("one").status, desk.who("ada").status) == ("blocked", "waiting_for_nodes")
    assert desk.do(UnblockNode("one")) == ["node.unblocked"]
    assert desk.do(UnblockNode("one")) == []
    assert (desk.at("one").status, desk.who("ada").status) == ("running", "busy")
    assert desk.board.waits == {}


def test_a_blocked_node_may_publish(desk: Desk) -> None:
    desk.run("one", "ada")
    desk.do(BlockNode("one"))
    assert desk.do(CompleteNode("one", 1, NodeResult(summary=""))) == ["node.completed"]
    assert desk.who("ada").status == "idle"


def test_a_cycle_of_waits_is_refused_and_named(desk: Desk) -> None:
    desk.run("one", "ada")
    desk.refuses(BlockNode("one", ("two",)), "one -> two -> one")
    desk.refuses(BlockNode("one", ("one",)), "one -> one")


def test_cancelling_frees_the_worker(desk: Desk) -> None:
    desk.run("one", "ada")
    assert desk.do(CancelNode("one", "not wanted")) == ["node.cancelled"]
    assert desk.who("ada").status == "idle"
    assert desk.at("one").reason == "not wanted"


def test_a_node_may_be_kept_for_a_busy_worker(desk: Desk) -> None:
    desk.run("one", "ada")
    assert desk.do(ReserveNode("two", "ada")) == ["node.reserved"]
    assert desk.do(ReserveNode("two", "ada")) == []
    desk.done("one", summary="")
    desk.refuses(RetireWorker("ada"), "'ada' is wanted by two")
    desk.settle()
    assert desk.at("two").assigned_worker == desk.who("ada").id


def test_an_unknown_node_or_worker_is_told_with_the_known(desk: Desk) -> None:
    with pytest.raises(InvalidInput, match=r"unknown node 'x' \(known: one, two\)"):
        desk.assign("x", "ada")
    with pytest.raises(InvalidInput, match=r"unknown worker 'x' \(known: ada, ben\)"):
        desk.assign("one", "x")


OUTSIDE = (
    "..", "../../..", "a/../../b", "/etc/passwd", "", ".", "./a", "a//b", "a/", "a\0b", r"a\x00b",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_node_ends_with_no_name_that_leads_out_of_its_folder(desk: Desk, name: str) -> None:
    desk.run("one", "ada")
    for named in (
        NodeResult(summary="done", files=("a.md", name)),
        NodeResult(summary="done", evidence=Evidence(artifacts={name: "0"})),
    ):
        with pytest.raises(InvalidInput, match=r"leads out of published/"):
            desk.do(CompleteNode("one", 1, named))
    with pytest.raises(InvalidInput, match=r"leads out of scratch/"):
        desk.do(FailNode("one", 1, "no", (name,)))
    assert desk.at("one").status == "running"
