"""Deadlocks: the cycle is found and described; waits without a cycle are no deadlock."""

import pytest

from actors.coordinator.board_notifications import notice
from agiraph.board.commands import BlockNode, NoteDeadlock, ReserveNode, StopRun
from agiraph.board.deadlock import find_deadlocks
from agiraph.board.plan_end import end_of_plan
from agiraph.board.rules.nodes import WaitCycle
from tests.unit.board.desk import Desk


def crossed() -> Desk:
    """Two workers, each of whom waits for a node that is kept for the other."""
    desk = Desk()
    desk.busy("left", "ada")
    desk.busy("right", "ben")
    desk.node("for-ben", worker="ben")
    desk.do(BlockNode("left", ("for-ben",)))
    desk.node("for-ada", worker="ada")
    return desk


def test_two_who_wait_for_what_the_other_is_to_do_are_found() -> None:
    desk = crossed()
    assert find_deadlocks(desk.board) == (), "ben is still at work"
    desk.do(BlockNode("right", ("for-ada",)))
    [found] = find_deadlocks(desk.board)
    assert set(found.cycle) == {desk.at(n).id for n in ("left", "for-ben", "right", "for-ada")}
    assert "'for-ben' is kept for ben, who holds 'right'" in found.text
    [event] = desk.events(NoteDeadlock(found.cycle, found.text))
    told = notice(desk.board, event, ())
    assert told is not None
    assert "deadlock: " in told
    assert "'left' waits for 'for-ben'" in told
    assert "cancel_node" in told
    assert end_of_plan(desk.board) == StopRun("failed", f"deadlock: {found.text}")


def test_a_cycle_that_is_broken_is_none() -> None:
    desk = crossed()
    desk.do(BlockNode("right", ("for-ada",)))
    desk.worker("cyd")
    desk.do(ReserveNode("for-ada", "cyd"))
    assert find_deadlocks(desk.board) == ()


def test_a_full_team_of_which_everybody_waits_is_found() -> None:
    desk = Desk(max_workers=1)
    desk.busy("top", "ada")
    desk.node("part", parent="top")
    desk.do(BlockNode("top", ("part",)))
    [found] = find_deadlocks(desk.board)
    assert "'part' finds no worker: all 1 are taken (run.max_workers)" in found.text
    assert "'top' waits for 'part'" in found.text


def test_who_waits_for_a_place_or_for_one_at_work_is_not_stuck() -> None:
    desk = Desk(max_workers=2)
    desk.busy("top", "ada")
    desk.busy("other", "ben")
    desk.node("part", parent="top")
    desk.do(BlockNode("top", ("part",)))
    assert find_deadlocks(desk.board) == ()


def test_a_wait_that_would_close_a_cycle_is_refused_with_the_cycle() -> None:
    desk = Desk()
    desk.busy("left", "ada")
    desk.busy("right", "ben")
    desk.do(BlockNode("left", ("right",)))
    with pytest.raises(WaitCycle, match="'right' would wait for itself") as refused:
        desk.do(BlockNode("right", ("left",)))
    [event] = desk.events(NoteDeadlock(refused.value.cycle, "x", is_refused=True))
    told = notice(desk.board, event, ())
    assert told is not None
    assert "was refused (" in told
