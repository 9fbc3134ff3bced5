"""A run either can continue by itself, or stands still and ends after a limited number of steps."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board.board import Board
from agiraph.board.commands import BlockNode, Command, FailNode, UnblockNode
from agiraph.board.progress import (
    MOST_NOTICES,
    CoordinatorState,
    WorkerState,
    commands_after,
    find_standstill,
)
from agiraph.board.wait_cycles import awaited_by
from agiraph.core.ids import WorkerId
from agiraph.core.models import Standstill
from tests.property.board.test_deadlocks import STEPS, Step, at_rest, do, made

AT_REST = CoordinatorState("for events of its board", since=0.0)
WAITS_AGAIN = 3
STATES = st.builds(
    WorkerState,
    st.sampled_from(["at_work", "waiting", "parked", "stopped", "ended", "without_machine"]),
    st.booleans(),
    st.booleans(),
)
WAITING = st.sampled_from([WorkerState("waiting"), WorkerState("parked")])


def all_wait(board: Board) -> Board:
    """Let every worker with a node that waits for no open node wait for a message."""
    for node in list(board.nodes.values()):
        is_over = all(board.nodes[one].has_ended for one in awaited_by(board, node.id))
        if node.status in ("assigned", "running") or (node.status == "blocked" and is_over):
            board = do(board, BlockNode(node.id))
    return board


def found_on(board: Board, states: dict[WorkerId, WorkerState]) -> Standstill | None:
    return find_standstill(board, states, AT_REST, None)


def react(board: Board, found: Standstill, *, is_led: bool) -> Board:
    for command in commands_after(board, found, is_led=is_led):
        board = do(board, command)
    return board


@given(STEPS, st.integers(1, 4), st.data())
def test_standstill_names_every_open_node_once_and_excludes_progress(
    steps: list[Step], size: int, data: st.DataObject
) -> None:
    board = made(steps, size)
    if data.draw(st.booleans()):
        board = all_wait(board)
    states = {worker: data.draw(STATES) for worker in board.workers}
    found = found_on(board, states)
    left = [n for n in board.waits.values() if n.waits_for]
    is_answered = any(all(board.nodes[one].has_ended for one in wait.waits_for) for wait in left)
    open_nodes = [node.name for node in board.nodes.values() if not node.has_ended]
    held = [n for n in board.nodes.values() if n.status in ("assigned", "running", "blocked")]
    holders = [states[n.assigned_worker] for n in held if n.assigned_worker]
    can_continue = any(
        state.is_held
        or state.process in ("at_work", "stopped")
        or (state.has_mail and state.process in ("waiting", "parked"))
        for state in holders
    )
    if can_continue or not open_nodes:
        assert found is None
    elif not is_answered:
        assert found is not None
        assert [one.node for one in found.waiting] == [*open_nodes, ""]


@given(STEPS, st.integers(1, 4), st.data())
def test_run_of_an_inactive_coordinator_ends_after_its_notices(
    steps: list[Step], size: int, data: st.DataObject
) -> None:
    board = all_wait(made(steps, size))
    states = {worker: data.draw(WAITING) for worker in board.workers}
    for _ in range(MOST_NOTICES + 1):
        if (found := found_on(board, states)) is None:
            break
        board = react(board, found, is_led=True)
    assert not board.is_running or all(node.has_ended for node in board.nodes.values())


@given(STEPS, st.integers(1, 4))
def test_run_without_a_leading_model_ends_after_a_bounded_number_of_steps(
    steps: list[Step], size: int
) -> None:
    """Every worker waits again whenever its wait ends, until it is found to repeat itself."""
    board = made(steps, size)
    waits: dict[str, int] = {}
    for _ in range((WAITS_AGAIN + 2) * (len(board.nodes) + 1)):
        for node in list(board.nodes.values()):
            board = at_rest(do(board, _next(board, node.id, waits)))
        found = found_on(board, {worker: WorkerState("parked") for worker in board.workers})
        if found is not None:
            board = at_rest(react(board, found, is_led=False))
    assert all(node.has_ended for node in board.nodes.values())


def _next(board: Board, node: str, waits: dict[str, int]) -> Command:
    """Return the next command for a node's worker: its wait ends, it waits, or it fails."""
    one = next(n for n in board.nodes.values() if n.id == node)
    awaited = awaited_by(board, one.id)
    if one.status == "blocked" and awaited and all(board.nodes[n].has_ended for n in awaited):
        return UnblockNode(node)
    if one.status in ("assigned", "running"):
        waits[node] = waits.get(node, 0) + 1
        return BlockNode(node) if waits[node] <= WAITS_AGAIN else FailNode(node, None, "a loop")
    return BlockNode("none")
