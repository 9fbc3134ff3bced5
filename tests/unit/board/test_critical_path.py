"""The critical path: the entities that delayed the run, from end to start, without a gap."""

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board.board import Board, NodeTimes
from agiraph.board.critical_path import CriticalStretch, critical_path, divided
from agiraph.core.ids import NodeId, WorkerId
from agiraph.core.models import WorkNode

LEAD = None


class TimedBoard:
    """A board of nodes with their times."""

    def __init__(self) -> None:
        self.board = Board()

    def node(
        self,
        id: str,
        times: tuple[float, float | None, float | None],
        *after: str,
        parent: str | None = None,
        worker: str = "",
    ) -> None:
        node = WorkNode(
            id=NodeId(id),
            name=id,
            task="x",
            dependencies=tuple(map(NodeId, after)),
            parent_node=NodeId(parent) if parent else None,
            assigned_worker=WorkerId(worker or f"w-{id}"),
        )
        created, started, ended = times
        when = NodeTimes(created=created, started=started, ended=ended)
        nodes, known = self.board.nodes, self.board.times
        self.board = replace(
            self.board, nodes=nodes.having(node.id, node), times=known.having(node.id, when)
        )

    def path(self, end: float = 100.0) -> list[tuple[str | None, float, float]]:
        found = critical_path(self.board, 0.0, end)
        return [(one.node, one.start, one.end) for one in found]


def test_path_of_a_run_without_nodes_is_the_coordinator() -> None:
    assert TimedBoard().path() == [(LEAD, 0.0, 100.0)]


def test_wait_for_the_human_is_a_separate_part() -> None:
    stretch = CriticalStretch(None, 0.0, 100.0)
    parts = divided(
        stretch, [("paused", 85.0, 120.0), ("human", 10.0, 80.0), ("human", 20.0, 30.0)]
    )
    assert [(one.wait, one.start, one.end) for one in parts] == [
        (None, 0.0, 10.0),
        ("human", 10.0, 80.0),
        (None, 80.0, 85.0),
        ("paused", 85.0, 100.0),
    ]
    assert list(divided(stretch, [])) == [stretch]


def test_path_follows_the_node_that_ended_later_and_its_dependencies() -> None:
    team = TimedBoard()
    team.node("facts", (5.0, 10.0, 40.0))
    team.node("quick", (5.0, 10.0, 20.0))
    team.node("report", (5.0, 45.0, 90.0), "facts", "quick")
    team.node("aside", (5.0, 10.0, 80.0))
    assert team.path() == [
        (LEAD, 0.0, 10.0),
        ("facts", 10.0, 40.0),
        (LEAD, 40.0, 45.0),
        ("report", 45.0, 90.0),
        (LEAD, 90.0, 100.0),
    ]


def test_a_node_that_waits_for_its_sub_node_or_for_its_worker_hands_the_path_over() -> None:
    team = TimedBoard()
    team.node("big", (0.0, 10.0, 90.0))
    team.node("sub", (30.0, 50.0, 70.0), parent="big", worker="w-busy")
    team.node("other", (0.0, 5.0, 48.0), worker="w-busy")
    assert team.path() == [
        (LEAD, 0.0, 5.0),
        ("other", 5.0, 48.0),
        (LEAD, 48.0, 50.0),
        ("sub", 50.0, 70.0),
        ("big", 70.0, 90.0),
        (LEAD, 90.0, 100.0),
    ]


def test_path_ends_with_the_running_node() -> None:
    team = TimedBoard()
    team.node("one", (0.0, 10.0, None))
    team.node("two", (0.0, 20.0, None))
    team.node("later", (0.0, None, None), "one")
    assert team.path() == [(LEAD, 0.0, 10.0), ("one", 10.0, 100.0)]


@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(0, 120), min_size=3, max_size=3).map(sorted),
            st.lists(st.integers(0, 8), max_size=3),
            st.integers(0, 8),
            st.integers(0, 2),
        ),
        max_size=9,
    )
)
def test_path_covers_the_run_for_any_node_times(
    nodes: list[tuple[list[float], list[int], int, int]],
) -> None:
    team = TimedBoard()
    for number, ((created, started, ended), after, parent, worker) in enumerate(nodes):
        known = [f"n{other}" for other in after if other < number]
        above = f"n{parent}" if parent < number else None
        times = (created, started, ended)
        team.node(f"n{number}", times, *known, parent=above, worker=f"w{worker}")
    path: list[CriticalStretch] = critical_path(team.board, 0.0, 100.0)
    assert [path[0].start, path[-1].end] == [0.0, 100.0]
    assert all(one.end == other.start for one, other in itertools.pairwise(path))
    assert all(one.start < one.end for one in path)
