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
from tests.unit.board.board_driver import BoardDriver


class History(BoardDriver):
    """A board that records its events."""

    def __init__(self) -> None:
        self.history: list[BoardEvent] = []
        super().__init__()

    def events(self, command: Command) -> tuple[BoardEvent, ...]:
        happened = super().events(command)
        self.history.extend(happened)
        return happened

    def words(self) -> list[tuple[str, str]]:
        """Return the notices, by recipient, after a crash."""
        assert fold(self.history) == self.board
        due = notifications_due(self.board, lambda: self.history)
        return [(node.name, above.name) for node, above in due]


def family() -> History:
    driver = History()
    driver.busy("top", "ada")
    for name in ("one", "two"):
        driver.node(name, parent="top")
    return driver


def test_running_parent_is_notified() -> None:
    driver = family()
    driver.do(FailNode("one", None, "no"))
    assert node_to_notify(driver.board, driver.at("one")) == driver.at("top")
    driver.do(CancelNode("two", "unwanted"))
    assert driver.words() == [("one", "top"), ("two", "top")]


def test_waiting_parent_is_notified_except_for_the_last_sub_node() -> None:
    driver = family()
    driver.do(BlockNode("top", ("one", "two")))
    driver.do(FailNode("one", None, "no"))
    assert node_to_notify(driver.board, driver.at("one")) == driver.at("top")
    driver.do(FailNode("two", None, "no"))
    assert node_to_notify(driver.board, driver.at("two")) is None
    assert driver.words() == [("one", "top")], "the same after a crash"


def test_end_of_a_parent_notifies_once_for_all_its_sub_nodes() -> None:
    driver = family()
    driver.worker("ben")
    driver.run("one", "ben")
    driver.node("low", parent="one")
    driver.do(FailNode("one", 1, "no"))
    assert driver.at("low").status == "cancelled"
    assert driver.words() == [("one", "top")]


def test_ended_parent_is_not_notified() -> None:
    driver = family()
    driver.do(FailNode("one", None, "no"))
    driver.done("top")
    driver.do(FailNode("two", None, "no"))
    assert driver.words() == []
    assert notifications_due(Board(), list) == []
