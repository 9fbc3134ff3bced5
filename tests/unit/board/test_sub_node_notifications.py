"""Notifications to a parent's worker that a sub-node ended: when of use, again after a crash."""

from agiraph.board.board import Board, fold
from agiraph.board.commands import (
    BlockNode,
    CancelNode,
    Command,
    FailNode,
)
from agiraph.board.events import BoardEvent
from agiraph.board.rules.sub_nodes import node_to_notify, notifications_due
from tests.unit.board.desk import Desk


class History(Desk):
    """A desk that keeps what happened."""

    def __init__(self) -> None:
        self.history: list[BoardEvent] = []
        super().__init__()

    def events(self, command: Command) -> tuple[BoardEvent, ...]:
        happened = super().events(command)
        self.history.extend(happened)
        return happened

    def words(self) -> list[tuple[str, str]]:
        """Return who would be told of what after a crash."""
        assert fold(self.history) == self.board
        due = notifications_due(self.board, lambda: self.history)
        return [(node.name, above.name) for node, above in due]


def family() -> History:
    desk = History()
    desk.busy("top", "ada")
    for name in ("one", "two"):
        desk.node(name, parent="top")
    return desk


def test_a_parent_at_work_is_told() -> None:
    desk = family()
    desk.do(FailNode("one", None, "no"))
    assert node_to_notify(desk.board, desk.at("one")) == desk.at("top")
    desk.do(CancelNode("two", "unwanted"))
    assert desk.words() == [("one", "top"), ("two", "top")]


def test_a_parent_that_waits_for_others_too_is_told_and_the_last_is_its_waits_answer() -> None:
    desk = family()
    desk.do(BlockNode("top", ("one", "two")))
    desk.do(FailNode("one", None, "no"))
    assert node_to_notify(desk.board, desk.at("one")) == desk.at("top")
    desk.do(FailNode("two", None, "no"))
    assert node_to_notify(desk.board, desk.at("two")) is None
    assert desk.words() == [("one", "top")], "the same after a crash"


def test_what_went_along_with_its_parent_is_told_by_the_parents_end() -> None:
    desk = family()
    desk.worker("ben")
    desk.run("one", "ben")
    desk.node("low", parent="one")
    desk.do(FailNode("one", 1, "no"))
    assert desk.at("low").status == "cancelled"
    assert desk.words() == [("one", "top")]


def test_who_has_ended_is_told_nothing() -> None:
    desk = family()
    desk.do(FailNode("one", None, "no"))
    desk.done("top")
    desk.do(FailNode("two", None, "no"))
    assert desk.words() == []
    assert notifications_due(Board(), list) == []
