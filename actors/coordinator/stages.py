"""Stages for the coordinator's tools: launch a stage with its roles, describe a closed stage."""

import os
from collections.abc import Callable

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.entity.mcp_tools import require_worker
from actors.runtime.runtime import Runtime
from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.board.rules.stages import node_contract
from agiraph.board.view import node_row
from agiraph.core.errors import Refused
from agiraph.core.models import WorkNode
from agiraph.core.specs import AskedAgent, StageSpec
from agiraph.core.turns import JsonObject


def warnings_of(runtime: Runtime, asked: AskedAgent) -> list[str]:
    """Return the warnings about an external agent; [] if it can no longer be used."""
    from agiraph.external.preflight import check_agent  # few teams need it

    try:
        return check_agent(asked, runtime.home.path, runtime.config.sandbox, os.environ)
    except Refused:
        return []


async def launch_roles(
    context: CoordinatorContext,
    board_service: BoardService,
    cause: str,
    stage: StageSpec,
    trigger: str,
) -> JsonObject:
    """Open a stage and return its description; a repeated call after a crash returns the same.

    Every model and tool is checked before any change. `trigger` is the trigger whose firing caused
    the call, or ''.
    """
    is_open = any(known.cause == cause for known in board_service.board.stages)
    for role in () if is_open else stage.roles:
        await require_worker(context.runtime, role, context.spec.worker_models)
    command = c.LaunchRoles(cause, stage, trigger)
    board_service.execute(command)
    launched = launched_stage(board_service.board, cause)
    warnings = [
        f"{asked.name}: {text}"
        for asked in c.agents_hired(command)
        for text in warnings_of(context.runtime, asked)
    ]
    return launched | ({"warnings": warnings} if warnings else {})


def launched_stage(board: Board, cause: str) -> JsonObject:
    """Return {"stage", "number", "contract", "nodes", "workers"} of the stage that `cause` opened.

    `workers` contains for each worker whether it is new or continues from an earlier stage.
    """
    nodes = [node for node in board.nodes.values() if node.cause.startswith(f"{cause}#node:")]
    first = nodes[0]
    stage = board.stages[first.stage]
    contract = node_contract(board, first) if first.plan_stage else stage.contract
    workers = [
        board.workers[node.wanted_worker] for node in nodes if node.wanted_worker is not None
    ]
    return {
        "stage": first.plan_stage or stage.name,
        "number": first.stage + 1,
        "contract": contract.model_dump(mode="json", exclude_none=True),
        "nodes": [node_row(board, node) for node in nodes],
        "workers": [
            {
                "id": worker.id,
                "name": worker.name,
                "is_new": worker.cause.startswith(f"{cause}#"),
            }
            for worker in workers
        ],
    }


def hired_worker(board: Board, cause: str) -> JsonObject:
    """Return {"worker_id", "name"} of the worker that `cause` hired."""
    worker = board.worker_by_cause(cause)
    assert worker is not None
    return {"worker_id": worker.id, "name": worker.name}


def closed_stage(board: Board, cause: str, row: Callable[[WorkNode], JsonObject]) -> JsonObject:
    """Return {"stage", "nodes", "went_on_without", "next"} of the stage that `cause` closed.

    `row` returns the line of a node.
    """
    stage = next(stage for stage in board.stages if stage.closed_by == cause)
    return {
        "stage": stage.name,
        "nodes": [row(board.nodes[node]) for node in stage.nodes],
        "went_on_without": [board.nodes[node].name for node in stage.stragglers],
        "next": _next_stage(board),
    }


def _next_stage(board: Board) -> str | None:
    """Return the name of the open or planned stage, None without one."""
    if board.open_stage is not None:
        return board.stages[board.open_stage].name
    return board.planned.name if board.planned else None
