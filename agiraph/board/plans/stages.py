"""The collaboration plan: stages of roles, each role a worker and what it does in that stage."""

from collections.abc import Sequence

from agiraph.board.names import free_name
from agiraph.board.plans.forms import CollaborationFile, ContractForm, RoleForm
from agiraph.board.plans.record import Plan, PlanNode, PlanWorker
from agiraph.board.plans.team import add_worker
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import slug
from agiraph.core.models import StageContract


def plan_of_stages(form: CollaborationFile) -> Plan:
    """Return the plan of stages: every node of a stage needs all nodes of the one before."""
    workers: dict[str, PlanWorker] = {}
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
            added.append(
                PlanNode(
                    name=free_name(slug(role.id, fallback="node"), taken),
                    role=role.title or "worker",
                    task=role.prompt,
                    dependencies=before,
                    worker=worker,
                    model=role.model,
                    stage=name,
                    checks=role.checks,
                )
            )
        nodes += added
        before = tuple(node.name for node in added)
    contract = _contract(form.contract)
    return Plan(
        goal=form.goal, workers=tuple(workers.values()), nodes=tuple(nodes), contract=contract
    )


def _refuse_twins(roles: Sequence[RoleForm], stage: str) -> None:
    seen: dict[str, int] = {}
    for place, role in enumerate(roles):
        if role.id in seen:
            first = f"roles[{seen[role.id]}]"
            raise InvalidInput(f"{stage}.roles[{place}].id: '{role.id}' is already that of {first}")
        seen[role.id] = place


def _worker_of_role(role: RoleForm, where: str) -> PlanWorker:
    is_agentic = role.node_type == "agentic"
    if is_agentic and not role.agent:
        raise InvalidInput(f"{where}.agent: is missing (an agentic role names what to launch)")
    return PlanWorker(
        name=role.name or role.id,
        role=role.title or "worker",
        type="autonomous" if is_agentic else "harnessed",
        model=role.model,
        agent_command=role.agent if is_agentic else None,
    )


def _contract(form: ContractForm) -> StageContract:
    policy = form.checkpoint_policy
    given = {
        "checkpoint_policy": "all_must_complete" if policy == "all_must_checkpoint" else policy,
        "max_iterations_per_node": form.max_iterations_per_node,
        "timeout_seconds": form.timeout_seconds,
    }
    said = {name: given[name] for name in given if name in form.model_fields_set}
    return StageContract.model_validate({k: v for k, v in said.items() if v is not None})
