"""Rules of a stage: open it, wait for it, end it early, close it.

planning -> running -> reconvening -> completed

A stage is planned while its nodes are being created, and runs from the moment the coordinator waits
for them: only then is a majority of them defined. A stage is over when its policy is met or its
time has passed: its open nodes are cancelled at once, and no node can be added. A stage whose nodes
must all complete accepts new nodes until it is reconvened.
"""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.board.plan_stages import ALL, WHY, suffice
from agiraph.board.rules.runs import require_running
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.models import Stage, StageContract, StageOver, StagePlan, WorkNode
from agiraph.core.specs import StageTerms


def open_stage(
    board: Board, now: float, terms: StageTerms | None = None, cause: str = ""
) -> tuple[int, tuple[BoardEvent, ...]]:
    """Return the stage that a new node joins, and the event that opens it if necessary.

    Raises IllegalTransition if the open stage is over, or if `terms` are given for an open stage.
    """
    run = require_running(board)
    index = board.open_stage
    if index is None:
        _require_another_stage(board, run)
        return len(board.stages), (_opened(board, terms, now, cause),)
    stage = board.stages[index]
    if stage.over or is_late(stage, now):
        why = over_in_words(stage.over or "timeout", stage.contract)
        raise IllegalTransition(
            f"stage '{stage.name}' is over ({why}): `reconvene` with your assessment first, "
            "the next node then opens the next stage"
        )
    if terms is not None and any(value for _, value in terms):
        raise IllegalTransition(
            f"stage '{stage.name}' is open and its contract stands: `reconvene` first "
            "(the terms of a stage are given with its first node)"
        )
    return index, ()


def _require_another_stage(board: Board, run: RunFacts) -> None:
    if run.max_stages is not None and len(board.stages) >= run.max_stages:
        raise IllegalTransition(
            f"this run has its {run.max_stages} stages (contract.max_stages); no other can be "
            "opened (possible: `finish` with the results so far, and name the missing part)"
        )


def _opened(board: Board, terms: StageTerms | None, now: float, cause: str) -> e.StageStarted:
    plan, number = planned_stage(board, terms), len(board.stages) + 1
    if plan.max_stages is not None and plan.max_stages < number:
        raise InvalidInput(f"max_stages is {plan.max_stages}, but this is stage {number}")
    return e.StageStarted(ts=now, stage=len(board.stages), cause=cause, **dict(plan))


def planned_stage(board: Board, terms: StageTerms | None) -> StagePlan:
    """Return the next stage with these terms.

    Missing ones are from the planned stage, or the run.
    """
    run = require_running(board)
    plan = board.planned or StagePlan(name=f"Stage {len(board.stages) + 1}", contract=run.contract)
    if terms is None:
        return plan
    named = " ".join((terms.name or "").split())
    contract = plan.contract.model_copy(update=terms.shared_with(StageContract))
    return StagePlan(
        name=named or plan.name,
        goal=terms.goal or plan.goal,
        brief=terms.brief or plan.brief,
        contract=contract,
        max_stages=terms.max_stages or plan.max_stages,
    )


def node_contract(board: Board, node: WorkNode) -> StageContract:
    """Return the limits of a node: its stage's contract, overridden by its own limits.

    A sub-node's own limits only tighten the contract: a worker cannot extend its own limits.
    """
    contract = board.stages[node.stage].contract
    own: dict[str, float | int] = {}
    if node.max_iterations is not None:
        own["max_iterations_per_node"] = own["max_calls_per_node"] = node.max_iterations
    if node.timeout_seconds is not None:
        own["node_timeout_seconds"] = node.timeout_seconds
    if node.parent_node is not None:
        has = {name: getattr(contract, name) for name in own}
        own = {n: bound if has[n] is None else min(bound, has[n]) for n, bound in own.items()}
    return contract.model_copy(update=own)


# --- the state of a stage -------------------------------------------------------------------------


def nodes_of(board: Board, stage: Stage) -> list[WorkNode]:
    """Return the nodes of a stage, sub-nodes included."""
    return [board.nodes[node_id] for node_id in stage.nodes]


def count_completed(nodes: list[WorkNode]) -> tuple[int, int]:
    """Return the number of completed nodes and of all nodes of the stage.

    Sub-nodes of workers and skipped nodes do not count.
    """
    counted = [n for n in nodes if n.parent_node is None and n.status != "skipped"]
    return sum(node.status == "completed" for node in counted), len(counted)


def is_policy_met(stage: Stage, nodes: list[WorkNode]) -> bool:
    """Whether enough nodes of a stage have completed to close it without the others."""
    policy = stage.contract.checkpoint_policy
    if policy == ALL:
        return all(node.has_ended for node in nodes)
    return suffice(policy, *count_completed(nodes))


def stage_to_meet(board: Board) -> int | None:
    """Return the index of the open stage if its policy lets it end before all nodes, else None."""
    index = board.open_stage
    if index is None or board.stages[index].status != "running":
        return None
    stage = board.stages[index]
    if stage.contract.checkpoint_policy == ALL:
        return None
    return index if is_policy_met(stage, nodes_of(board, stage)) else None


def due_at(board: Board) -> float | None:
    """Return when the time limit of the open stage ends, in seconds since the epoch.

    None if the stage has no limit or is over, or if all its nodes have ended.
    """
    if not board.is_running or board.open_stage is None:
        return None
    stage = board.stages[board.open_stage]
    at = _ends_at(stage)
    if at is None or stage.over or all(node.has_ended for node in nodes_of(board, stage)):
        return None
    return at


def _ends_at(stage: Stage) -> float | None:
    limit = stage.contract.timeout_seconds
    return None if limit is None or stage.started_at is None else stage.started_at + limit


def is_late(stage: Stage, now: float) -> bool:
    """Whether the time limit of a stage has passed."""
    at = _ends_at(stage)
    return at is not None and now >= at


def over_in_words(over: StageOver, contract: StageContract) -> str:
    """Return why a stage is over, in words for people and models."""
    if over == "timeout":
        return f"its time of {contract.timeout_seconds or 0:g} s is up"
    return WHY[over]


# --- commands on a stage --------------------------------------------------------------------------


def begin_wait(board: Board, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that lets the open stage run, as the coordinator waits; () if it runs."""
    index = board.open_stage
    if not board.is_running or index is None or board.stages[index].status != "planning":
        return ()
    return (e.StageLaunched(ts=now, stage=index),)


def end_early(board: Board, command: c.EndStageEarly, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that end the stage early, () unless its policy is met or its time over."""
    index, due = command.stage, due_at(board)
    if index == stage_to_meet(board):
        policy = board.stages[index].contract.checkpoint_policy
        assert policy != ALL
        return _go_on_without(board, index, policy, now)
    if index != board.open_stage or due is None or now < due:
        return ()
    return _go_on_without(board, index, "timeout", now)


def _go_on_without(board: Board, index: int, why: StageOver, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that cancel the open nodes of a stage and end the stage."""
    stage = board.stages[index]
    nodes = nodes_of(board, stage)
    late = [node for node in nodes if not node.has_ended]
    reason = f"stage '{stage.name}' went on without it: {over_in_words(why, stage.contract)}"
    cancelled = (e.NodeCancelled(ts=now, node_id=node.id, reason=reason) for node in late)
    completed, of = count_completed(nodes)
    met = e.StageMet(
        ts=now,
        stage=index,
        why=why,
        completed=completed,
        of=of,
        stragglers=tuple(node.id for node in late),
    )
    return (*cancelled, met)


def reconvene(board: Board, command: c.Reconvene, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that close the open stage, whose contract's policy must be met.

    A repeated cause closes one stage.
    """
    if command.cause and any(stage.closed_by == command.cause for stage in board.stages):
        return ()
    run = require_running(board)
    if not run.may_reconvene:
        raise IllegalTransition(
            "the plan of this run is not to be reconvened (contract.coordinator_reconvenes): "
            "wait for its nodes, then `finish`"
        )
    index = board.open_stage
    if index is None:
        raise IllegalTransition("no stage is open: create a node to open the next one")
    stage, nodes = board.stages[index], nodes_of(board, board.stages[index])
    late = [node for node in nodes if not node.has_ended]
    if late and not is_policy_met(stage, nodes):
        rows = ", ".join(f"{node.name} ({node.status})" for node in late)
        raise IllegalTransition(
            f"{stage.name} cannot be closed yet ({stage.contract.checkpoint_policy}): "
            f"{rows} {'has' if len(late) == 1 else 'have'} not ended; wait or cancel"
        )
    before: tuple[BoardEvent, ...] = ()
    policy = stage.contract.checkpoint_policy
    if late and policy != ALL:
        before = _go_on_without(board, index, policy, now)
    closed = e.StageReconvened(
        ts=now,
        stage=index,
        assessment=command.assessment,
        stragglers=tuple(node.id for node in late) or stage.stragglers,
        decided=command.decided,
        cause=command.cause,
    )
    return (*before, closed)
