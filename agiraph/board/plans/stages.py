"""The collaboration plan: stages of roles, each role a worker and what it does in that stage."""

from collections.abc import Sequence

from agiraph.board.names import free_name
from agiraph.board.plans.forms import CollaborationFile, ContractForm, RoleForm
from agiraph.board.plans.record import Plan, PlanNode
from agiraph.board.plans.team import add_worker
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import slug
from agiraph.core.models import StageContract
from agiraph.core.specs import ContractTerms, NodeTerms, WorkerSpec


def plan_of_stages(form: CollaborationFile) -> Plan:
    """Return the plan of stages: every node of a stage needs all nodes of the one before."""
    workers: dict[str, WorkerSpec] = {}
    nodes: list[PlanNode] = []
    before: tuple[str, ...] = ()
    for number, stage in enumerate(form.stages):
        _refuse_twins(stage.roles, f"stages[{number}]")
        name = stage.name or f"Stage {number + 1}"
        if any(node.stage == name for node in nodes):
            name = f"{name} ({number + 1})"
        added: list[PlanNode] = []
        for place, role in enumerate(stage.roles):
            where = f"stages[{number}].roles[{place}]"
            worker = add_worker(_worker_of_role(role, where), workers, where)
            taken = {node.name for node in (*nodes, *added)}
            named = {
                "name": free_name(slug(role.id, fallback="node"), taken),
                "dependencies": before,
                "refs": {name: name for name in before},
                "worker": worker,
                "stage": name,
            }
            added.append(PlanNode.model_validate({**role.shared_with(NodeTerms), **named}))
        nodes += added
        before = tuple(node.name for node in added)
    return Plan(
        goal=form.goal,
        workers=tuple(workers.values()),
        nodes=tuple(nodes),
        contract=_contract(form.contract),
        max_stages=_stages_on_the_board(form),
        may_reconvene=form.contract.coordinator_reconvenes is not False,
        is_reconvened=bool(form.contract.coordinator_reconvenes),
    )


def _stages_on_the_board(form: CollaborationFile) -> int | None:
    """Return how many stages the board may have; all of the plan's are one, if not reconvened."""
    limit, own = form.contract.max_stages, len(form.stages)
    if limit is None:
        return None
    if own > limit:
        raise InvalidInput(f"contract.max_stages: is {limit}, and the plan has {own} stages")
    return limit if form.contract.coordinator_reconvenes else 1 + limit - own


def _refuse_twins(roles: Sequence[RoleForm], stage: str) -> None:
    seen: dict[str, int] = {}
    for place, role in enumerate(roles):
        if role.id in seen:
            first = f"roles[{seen[role.id]}]"
            raise InvalidInput(f"{stage}.roles[{place}].id: '{role.id}' is already that of {first}")
        seen[role.id] = place


def _worker_of_role(role: RoleForm, where: str) -> WorkerSpec:
    is_external = role.type == "autonomous"
    if is_external and not role.agent_command:
        raise InvalidInput(f"{where}.agent: is missing (an agentic role names what to launch)")
    asked = role.shared_with(WorkerSpec) | {"name": role.name or role.id}
    if not is_external:
        asked.pop("agent_command", None)
    return WorkerSpec.model_validate(asked)


def _contract(form: ContractForm) -> StageContract:
    """Return what the plan says of its contract, and only that in its `model_fields_set`."""
    return StageContract.model_validate(form.shared_with(ContractTerms))
