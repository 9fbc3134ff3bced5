"""Deadlocks: the cycle is found and described; waits without a cycle are no deadlock."""

import pytest

from actors.coordinator.board_notifications import notice
from agiraph.board.commands import BlockNode, NoteDeadlock, ReserveNode, StopRun
from agiraph.board.deadlock import find_deadlocks
from agiraph.board.plan_end import end_of_plan
from agiraph.board.rules.nodes import WaitCycle
from tests.unit.board.board_driver import BoardDriver


def crossed_waits() -> BoardDriver:
    """Two workers, each waiting for a node that is reserved for the other."""
    driver = BoardDriver()
    driver.busy("left", "ada")
    driver.busy("right", "ben")
    driver.node("for-ben", worker="ben")
    driver.do(BlockNode("left", ("for-ben",)))
    driver.node("for-ada", worker="ada")
    return driver


def test_two_workers_that_wait_for_each_other_are_a_deadlock() -> None:
    driver = crossed_waits()
    assert find_deadlocks(driver.board) == (), "ben is still at work"
    driver.do(BlockNode("right", ("for-ada",)))
    [found] = find_deadlocks(driver.board)
    assert set(found.cycle) == {driver.at(n).id for n in ("left", "for-ben", "right", "for-ada")}
    assert "'for-ben' is kept for ben, who holds 'right'" in found.text
    [event] = driver.events(NoteDeadlock(found.cycle, found.text))
    told = notice(driver.board, event, ())
    assert told is not None
    assert "deadlock: " in told
    assert "'left' waits for 'for-ben'" in told
    assert "cancel_node" in told
    assert end_of_plan(driver.board) == StopRun("failed", f"deadlock: {found.text}")


def test_broken_cycle_is_not_a_deadlock() -> None:
    driver = crossed_waits()
    driver.do(BlockNode("right", ("for-ada",)))
    driver.worker("cyd")
    driver.do(ReserveNode("for-ada", "cyd"))
    assert find_deadlocks(driver.board) == ()


def test_full_team_whose_members_all_wait_is_a_deadlock() -> None:
    driver = BoardDriver(max_workers=1)
    driver.busy("top", "ada")
    driver.node("part", parent="top")
    driver.do(BlockNode("top", ("part",)))
    [found] = find_deadlocks(driver.board)
    assert "'part' finds no worker: all 1 are taken (run.max_workers)" in found.text
    assert "'top' waits for 'part'" in found.text


def test_wait_for_a_place_or_a_busy_worker_is_not_a_deadlock() -> None:
    driver = BoardDriver(max_workers=2)
    driver.busy("top", "ada")
    driver.busy("other", "ben")
    driver.node("part", parent="top")
    driver.do(BlockNode("top", ("part",)))
    assert find_deadlocks(driver.board) == ()


def test_a_wait_that_would_close_a_cycle_is_refused_with_the_cycle() -> None:
    driver = BoardDriver()
    driver.busy("left", "ada")
    driver.busy("right", "ben")
    driver.do(BlockNode("left", ("right",)))
    with pytest.raises(WaitCycle, match="'right' would wait for itself") as refused:
        driver.do(BlockNode("right", ("left",)))
    [event] = driver.events(NoteDeadlock(refused.value.cycle, "x", is_refused=True))
    told = notice(driver.board, event, ())
    assert told is not None
    assert "was refused (" in told
