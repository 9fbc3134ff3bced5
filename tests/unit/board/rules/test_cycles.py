"""Cycles of an infinite run on the board: each ends once and begins once."""

import pytest

from agiraph.board import commands as c
from agiraph.board.board import Board, RunFacts, fold
from agiraph.board.decide import decide
from agiraph.core.errors import IllegalTransition
from agiraph.core.ids import RunId
from agiraph.core.specs import Mode, NodeSpec


def do(board: Board, command: c.Command, now: float = 1.0) -> Board:
    return fold(decide(board, command, now), board)


def started(mode: Mode = "infinite") -> Board:
    return do(
        Board(),
        c.StartRun(
            run_id=RunId("r1"), goal="goal", model="a/b", worker_model="c/d", mode=mode, max_nodes=1
        ),
    )


def facts(board: Board) -> RunFacts:
    assert board.run is not None
    return board.run


def test_a_cycle_ends_once_and_the_next_begins_once() -> None:
    board = do(started(), c.EndCycle("call-1", "seen: a", 60.0, turns=7))
    board = do(board, c.EndCycle("call-1", "seen: a", 99.0))
    run = facts(board)
    assert (run.cycle, run.is_asleep, run.notes, run.next_at) == (1, True, "seen: a", 60.0)
    for _ in range(2):
        board = do(board, c.StartCycle("call-1"))
        assert (facts(board).cycle, facts(board).is_asleep) == (2, False)
    board = do(board, c.EndCycle("call-2", "seen: a, b", 120.0))
    assert facts(do(board, c.StartCycle("call-1"))).is_asleep
    assert facts(do(board, c.StartCycle("call-2"))).cycle == 3


def test_cycle_start_time_is_known() -> None:
    assert facts(started("finite")).cycle_began_at == 0.0
    board = do(started(), c.EndCycle("call-1", "seen: a", 60.0))
    assert facts(board).cycle_began_at == 1.0
    assert facts(do(board, c.StartCycle("call-1"), now=60.0)).cycle_began_at == 60.0


def test_a_cycle_that_has_ended_cannot_end_again() -> None:
    board = do(started(), c.EndCycle("call-1", "x", 60.0))
    with pytest.raises(IllegalTransition, match="cycle 1 of run r1 has ended already"):
        do(board, c.EndCycle("call-2", "x", 60.0))


def test_a_finite_run_has_no_cycles() -> None:
    with pytest.raises(IllegalTransition, match="it has no cycles"):
        do(started("finite"), c.EndCycle("call-1", "x", 60.0))


def test_the_bound_on_nodes_counts_for_each_cycle() -> None:
    board = do(started(), c.CreateNode("n1", NodeSpec(task="look")))
    with pytest.raises(IllegalTransition, match="no more can be created"):
        do(board, c.CreateNode("n2", NodeSpec(task="look again")))
    board = do(do(board, c.EndCycle("call-1", "x", 60.0)), c.StartCycle("call-1"))
    assert len(do(board, c.CreateNode("n2", NodeSpec(task="look again"))).nodes) == 2
