"""Rules of a run and its stages: start, reconvene, finish, stop."""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.errors import IllegalTransition, InvalidInput
from agiraph.models import Stage, WorkNode


def require_running(board: Board) -> RunFacts:
    """Return the run's facts; IllegalTransition if it has not begun or has ended."""
    if board.run is None:
        raise IllegalTransition("no run has been started on this board")
    if board.run.status != "running":
        raise IllegalTransition(f"run {board.run.id} has ended: it is {board.run.status}")
    return board.run


def start(board: Board, command: c.StartRun, now: float) -> tuple[BoardEvent, ...]:
    """Begin the run; a board holds one."""
    if board.run is not None:
        if board.run.id == command.run_id:
            return ()
        raise IllegalTransition(f"this board belongs to run {board.run.id}")
    for bound in ("max_nodes", "max_workers", "max_depth"):
        if getattr(command, bound) < 1:
            raise InvalidInput(f"{bound} must be at least 1, not {getattr(command, bound)}")
    return (
        e.RunStarted(
            ts=now,
            run_id=command.run_id,
            goal=command.goal,
            model=command.model,
            worker_model=command.worker_model,
            mode=command.mode,
            max_nodes=command.max_nodes,
            max_workers=command.max_workers,
            max_depth=command.max_depth,
            contract=command.contract,
        ),
    )


def open_stage(board: Board, now: float) -> tuple[int, tuple[BoardEvent, ...]]:
    """Return the stage that a new node joins, and the event that opens it if need be."""
    run = require_running(board)
    if board.open_stage is not None:
        return board.open_stage, ()
    index = len(board.stages)
    opened = e.StageStarted(ts=now, stage=index, name=f"Stage {index + 1}", contract=run.contract)
    return index, (opened,)


def reconvene(board: Board, command: c.Reconvene, now: float) -> tuple[BoardEvent, ...]:
    """Close the open stage once its contract's policy is met."""
    require_running(board)
    index = board.open_stage
    if index is None:
        raise IllegalTransition("no stage is open: create a node to open the next one")
    stage = board.stages[index]
    nodes = [board.nodes[node_id] for node_id in stage.nodes]
    unfinished = [node for node in nodes if not node.has_ended]
    if unfinished and not is_policy_met(stage, nodes):
        rows = ", ".join(f"{node.name} ({node.status})" for node in unfinished)
        raise IllegalTransition(
            f"{stage.name} cannot be closed yet ({stage.contract.checkpoint_policy}): "
            f"{rows} {'has' if len(unfinished) == 1 else 'have'} not ended; wait or cancel"
        )
    return (
        e.StageReconvened(
            ts=now,
            stage=index,
            assessment=command.assessment,
            stragglers=tuple(node.id for node in unfinished),
        ),
    )


def is_policy_met(stage: Stage, nodes: list[WorkNode]) -> bool:
    """Whether enough nodes of a stage have completed to close it over the others."""
    completed = sum(node.status == "completed" for node in nodes)
    match stage.contract.checkpoint_policy:
        case "any":
            return completed >= 1
        case "majority":
            return completed * 2 > len(nodes)
        case "all_must_complete":
            return all(node.has_ended for node in nodes)


def finish(board: Board, command: c.FinishRun, now: float) -> tuple[BoardEvent, ...]:
    """End the run with its result; nodes that have not ended are cancelled."""
    if board.run is not None and board.run.status == "completed":
        return ()
    require_running(board)
    cancelled = _cancel_unfinished(board, "the run was finished", now)
    return (*cancelled, e.RunFinished(ts=now, summary=command.summary))


def stop(board: Board, command: c.StopRun, now: float) -> tuple[BoardEvent, ...]:
    """End the run without its result; nodes that have not ended are cancelled."""
    if board.run is not None and board.run.status == command.status:
        return ()
    require_running(board)
    cancelled = _cancel_unfinished(board, command.reason or "the run was stopped", now)
    return (*cancelled, e.RunStopped(ts=now, status=command.status, reason=command.reason))


def _cancel_unfinished(board: Board, reason: str, now: float) -> tuple[BoardEvent, ...]:
    return tuple(
        e.NodeCancelled(ts=now, node_id=node.id, reason=reason)
        for node in board.nodes.values()
        if not node.has_ended
    )
