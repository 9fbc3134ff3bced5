"""Lessons: the summary of an ended run or cycle for the knowledge database. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.core.ids import NodeId
from agiraph.core.models import Agent, WorkNode
from agiraph.core.roles import RoleTeamTerms
from agiraph.knowledge.learned import (
    FinishedAttempt,
    FinishedNode,
    FinishedRun,
    FinishedTurn,
    RunDecision,
)
from agiraph.knowledge.records import project_of
from agiraph.roles.on_board import current_turn

MOST_NODES: Final = 60
MOST_FILES: Final = 20
LONGEST_TEXT: Final = 4000
LONGEST_RESULT: Final = 32_000

Failures = dict[NodeId, list[FinishedAttempt]]


def lesson_key(run: RunFacts) -> str:
    """Return the key of a run's or cycle's end; each later end has another key."""
    return f"{run.cycle}.{run.cycle_cause if run.is_asleep else run.ended_at}"


def finished_run(
    board: Board, events: Iterable[e.BoardEvent], agent: Agent, roles: RoleTeamTerms | None
) -> FinishedRun:
    """Return the summary of an ended run, or of its cycle if only the cycle has ended.

    `events` are the events of the run's journal.
    """
    run, happened = board.run, list(events)
    assert run is not None
    begun = _begun(happened)
    nodes = [node for node in board.nodes.values() if board.times[node.id].created >= begun]
    turns = current_turn(board, roles, run.goal).state.turns if roles is not None else ()
    failures = _failures(happened, begun)
    told = sorted(nodes, key=lambda node: not failures[node.id])[:MOST_NODES]
    return FinishedRun(
        agent=agent.id,
        run=run.id if run.mode == "finite" else f"{run.id}/{run.cycle}",
        goal=run.goal,
        outcome="completed" if run.status == "running" else run.status,
        result=(run.notes if run.is_asleep else run.summary or "")[:LONGEST_RESULT],
        reason=(run.reason or "")[:LONGEST_TEXT],
        started=begun,
        ended=happened[-1].ts if run.is_asleep else run.ended_at or happened[-1].ts,
        is_of_roles=roles is not None,
        model=run.model,
        project_id=project_of(agent.input, agent.id),
        nodes=tuple(_finished(board, node, failures[node.id]) for node in told),
        turns=tuple(
            FinishedTurn(
                number=turn.turn,
                from_role=turn.from_role,
                to_role=turn.to_role,
                message=turn.message[:LONGEST_TEXT],
                is_success=turn.success,
            )
            for turn in turns
        ),
        decisions=_decisions(happened, begun),
    )


def _begun(happened: Iterable[e.BoardEvent]) -> float:
    """Return when (Unix time) the run, or its last cycle, began."""
    starts = [one.ts for one in happened if isinstance(one, e.RunStarted | e.CycleStarted)]
    return starts[-1]


def _failures(happened: Iterable[e.BoardEvent], begun: float) -> Failures:
    found: Failures = defaultdict(list)
    for one in happened:
        if isinstance(one, e.NodeFailed) and one.ts >= begun:
            attempt = FinishedAttempt(reason=one.reason[:LONGEST_TEXT], at=one.ts)
            found[one.node_id].append(attempt)
    return found


def _finished(board: Board, node: WorkNode, failures: Iterable[FinishedAttempt]) -> FinishedNode:
    times = board.times[node.id]
    worker = board.workers.get(node.assigned_worker) if node.assigned_worker else None
    return FinishedNode(
        id=node.id,
        name=node.name,
        role=node.role,
        task=node.task[:LONGEST_TEXT],
        status=node.status,
        summary=(node.summary or "")[:LONGEST_TEXT],
        worker=worker.name if worker else "",
        seconds=max(0.0, (times.ended or 0.0) - (times.started or times.ended or 0.0)),
        files=node.published[:MOST_FILES],
        failures=tuple(failures),
    )


def _decisions(happened: Iterable[e.BoardEvent], begun: float) -> tuple[RunDecision, ...]:
    """Return the coordinator's decisions at the ends of stages, with their reasons."""
    return tuple(
        RunDecision(
            id=f"stage-{one.stage}", title=one.decided, rationale=one.assessment,
            by="coordinator", at=one.ts,
        )
        for one in happened
        if isinstance(one, e.StageReconvened) and one.decided and one.ts >= begun
    )  # fmt: skip
