"""Rules of launching a stage: its workers and nodes together, all of it or nothing.

A role whose name is on the team persists: the same worker, with its conversation and its memory,
gets the new prompt as its next node. Any other role is hired. Workers to retire are retired first.

A worker that may lead opens stages below its own node: their nodes are its sub-nodes, one plan
stage each, inside the coordinator's open stage, and within the run's limits.
"""

from typing import Final

from agiraph.board import commands as c
from agiraph.board.board import Board, fold
from agiraph.board.events import BoardEvent
from agiraph.board.names import find_node, find_worker, free_name, same
from agiraph.board.rules.nodes import create as create_node
from agiraph.board.rules.runs import require_running
from agiraph.board.rules.stages import begin_wait, open_stage
from agiraph.board.rules.workers import retire, spawn
from agiraph.board.wait_cycles import dependencies_first, find_cycle
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import slug
from agiraph.core.models import Worker
from agiraph.core.specs import NodeSpec, NodeTerms, RoleSpec, WorkerSpec

KEPT: Final = (
    *("model", "mode", "tools", "type", "agent_command", "memory", "can_lead", "host"),
    "host_labels",
)
"""Fields that a worker of the team keeps: a role with another value is refused."""


class _Draft:
    """A board with the events drafted so far applied, and these events."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.events: list[BoardEvent] = []

    def add(self, *happened: BoardEvent) -> None:
        self.events.extend(happened)
        self.board = fold(happened, self.board)


def launch(board: Board, command: c.LaunchRoles, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that open a stage: its workers, its nodes, and the retired workers."""
    if any(node.cause.startswith(f"{command.cause}#node:") for node in board.nodes.values()):
        return ()  # it was launched before
    require_running(board)
    roles = command.stage.roles
    _refuse_twins(roles)
    draft = _Draft(board)
    draft.add(*_opened(board, command, now))
    plan_stage = _plan_stage(board, command)
    for name in command.stage.retire:
        _require_hired_by(board, name, command)
        draft.add(*retire(draft.board, c.RetireWorker(name), now))
    for role in roles:
        if _persisting(draft.board, role) is None:
            draft.add(*spawn(draft.board, _hire(command.cause, role), now))
    names = _node_names(draft.board, command, plan_stage.rpartition("/")[2])
    for role in _dependencies_first(roles):
        draft.add(*create_node(draft.board, _node(command, role, names, plan_stage), now))
    if command.parent_node is None:
        draft.add(*begin_wait(draft.board, now))
    return tuple(draft.events)


def _opened(board: Board, command: c.LaunchRoles, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that opens the coordinator's stage; () for the stage of a lead.

    A lead's stage is part of the open stage. Raises IllegalTransition if a stage is open already.
    """
    if command.parent_node is not None:
        return ()
    if board.open_stage is not None:
        name = board.stages[board.open_stage].name
        raise IllegalTransition(
            f"stage '{name}' is still open: `reconvene` with your assessment, then launch the next"
        )
    return open_stage(board, now, command.stage.terms, command.cause)[1]


def _plan_stage(board: Board, command: c.LaunchRoles) -> str:
    """Return the plan stage NODE/STAGE of a lead's nodes; '' for the coordinator's stage.

    Raises IllegalTransition while an earlier stage of the same node has not ended.
    """
    if command.parent_node is None:
        return ""
    if command.stage.terms.max_stages is not None:
        raise InvalidInput("max_stages bounds the stages of the coordinator: leave it out")
    lead = find_node(board, command.parent_node)
    led = [n for n in map(board.nodes.__getitem__, lead.children) if n.plan_stage]
    if late := [node for node in led if not node.has_ended]:
        rows = ", ".join(f"{node.name} ({node.status})" for node in late)
        raise IllegalTransition(
            f"stage '{late[0].plan_stage}' of your node is still open: {rows} (possible: `wait`)"
        )
    stages = {node.plan_stage for node in led}
    named = " ".join((command.stage.name or f"Stage {len(stages) + 1}").replace("/", " ").split())
    return free_name(f"{lead.name}/{named}", stages)


def _require_hired_by(board: Board, named: str, command: c.LaunchRoles) -> None:
    """Raise IllegalTransition if a lead retires the worker `named` that another entity hired."""
    worker, by = find_worker(board, named), command.cause.partition("#")[0]
    if command.parent_node is not None and worker.cause.partition("#")[0] != by:
        raise IllegalTransition(f"worker '{worker.name}' was not hired by you: let it stay")


def _refuse_twins(roles: tuple[RoleSpec, ...]) -> None:
    for number, role in enumerate(roles):
        if any(same(role.name, other.name) for other in roles[:number]):
            raise InvalidInput(
                f"the role '{role.name}' stands twice in the stage (one worker each)"
            )


def _persisting(board: Board, role: RoleSpec) -> Worker | None:
    """Return the worker on the team that continues as this role, None if a worker is to be hired.

    Raises IllegalTransition if the role asks for another value of one of its KEPT fields.
    """
    worker = next((worker for worker in board.team if same(worker.name, role.name)), None)
    if worker is None:
        return None
    for field in KEPT:
        value, has = getattr(role, field), getattr(worker, field)
        if value not in (RoleSpec.model_fields[field].default, has):
            raise IllegalTransition(
                f"worker '{worker.name}' is on the team and keeps its {field} ({has or 'default'}):"
                f" leave {field} out, or retire it and hire another under a new name"
            )
    return worker


def _hire(cause: str, role: RoleSpec) -> c.SpawnWorker:
    spec = WorkerSpec.model_validate(role.shared_with(WorkerSpec))
    return c.SpawnWorker(f"{cause}#worker:{role.name}", spec)


def _node_names(board: Board, command: c.LaunchRoles, stage: str) -> dict[str, str]:
    """Return the node name of each role, by the role's name in lower case; all different."""
    taken = {node.name for node in board.nodes.values()}
    stage = stage or board.stages[-1].name
    names: dict[str, str] = {}
    for role in command.stage.roles:
        name = free_name(slug(role.node or f"{role.name} {stage}", fallback="node"), taken)
        taken.add(name)
        names[role.name.casefold()] = name
    return names


def _node(
    command: c.LaunchRoles, role: RoleSpec, names: dict[str, str], plan_stage: str
) -> c.CreateNode:
    """Return the node of a role; its dependencies may be named by role.

    The contract and the brief of a lead's stage apply to each of its nodes.
    """
    placed: dict[str, object] = {
        "name": names[role.name.casefold()],
        "refs": {ref: _by_role(value, names) for ref, value in role.refs.items()},
        "dependencies": tuple(_by_role(needed, names) for needed in role.dependencies),
        "worker": role.name,
    }
    cause, terms = f"{command.cause}#node:{role.name}", command.stage.terms
    if not plan_stage:
        spec = NodeSpec.model_validate({**role.shared_with(NodeTerms), **placed})
        return c.CreateNode(cause, spec, trigger=command.trigger)
    if brief := command.stage.brief.strip():
        placed["task"] = f"{role.task.rstrip()}\n\n## Brief of the stage\n\n{brief}"
    bounds = {
        "max_iterations": terms.max_iterations_per_node,
        "timeout_seconds": terms.timeout_seconds,
    }
    spec = NodeSpec.model_validate({**bounds, **role.shared_with(NodeTerms), **placed})
    return c.CreateNode(
        cause,
        spec,
        parent_node=command.parent_node,
        plan_stage=plan_stage,
        enough=terms.checkpoint_policy or "all_must_complete",
    )


def _by_role(value: str, names: dict[str, str]) -> str:
    """Return a node's name, or a path in its `published/`; a role's name means its node."""
    head, slash, rest = value.strip().partition("/")
    return f"{names.get(head.casefold(), head)}{slash}{rest}"


def _dependencies_first(roles: tuple[RoleSpec, ...]) -> list[RoleSpec]:
    """Return the roles with each after its dependencies.

    Raises InvalidInput, which names a cycle.
    """
    by_name = {role.name.casefold(): role for role in roles}
    needs = {name: _roles_needed(role, by_name) for name, role in by_name.items()}
    cycle = find_cycle(needs)
    if cycle:
        names = " -> ".join(by_name[name].name for name in cycle)
        raise InvalidInput(f"the roles wait for each other in a cycle: {names}")
    return [by_name[name] for name in dependencies_first(needs)]


def _roles_needed(role: RoleSpec, by_name: dict[str, RoleSpec]) -> tuple[str, ...]:
    heads = (value.strip().partition("/")[0] for value in (*role.dependencies, *role.refs.values()))
    return tuple(head.casefold() for head in heads if head.casefold() in by_name)
