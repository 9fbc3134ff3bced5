"""Plans: read a plan file into a checked `Plan`, and make the board's first commands from it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from agiraph.board.commands import OF_PLAN, CreateNode, SpawnWorker
from agiraph.board.names import check_worker_name, free_name, named_after
from agiraph.board.plans.flow import flow_mistakes
from agiraph.board.plans.reading import (
    CollaborationFile,
    GraphFile,
    GraphNode,
    RoleForm,
    WrongAt,
    explained,
    read_form,
    shown_path,
)
from agiraph.board.wait_cycles import dependencies_first, find_cycle
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import slug
from agiraph.core.models import StageContract
from agiraph.core.record import Record
from agiraph.core.specs import (
    ForEach,
    NodeSpec,
    PlannedTerms,
    StageTerms,
    WorkerSpec,
)
from agiraph.settings.yaml_text import KeyPath, read_text


class PlanNode(NodeSpec, PlannedTerms):
    """A node of the plan. `dependencies`, `worker` and keys of `when` are names of this plan."""

    name: str
    stage: str | None = None
    when: dict[str, str] = Field(default_factory=dict)
    for_each: ForEach | None = None


class Plan(Record):
    """A checked plan: names are unique, every dependency is before the node that needs it.

    `is_reconvened`: each of its stages is a stage of the board, and opens when the coordinator has
    reconvened the previous one; otherwise all of them are one stage of the board, and `max_stages`
    counts them as one.
    """

    goal: str | None = None
    workers: tuple[WorkerSpec, ...] = ()
    nodes: tuple[PlanNode, ...]
    contract: StageContract = StageContract()
    max_stages: int | None = None
    may_reconvene: bool = True
    is_reconvened: bool = False


def read_plan(path: Path) -> Plan:
    """Return the plan in a file.

    Raises InvalidInput, which names file, line, key and the possible values.
    """
    return parse_plan(read_text(path), str(path))


def parse_plan(text: str, name: str = "plan") -> Plan:
    """Return the plan in JSON or YAML text. Raises InvalidInput, which calls it `name`."""
    form = read_form(text, name)
    if isinstance(form, GraphFile) and (wrong := graph_mistakes(form.nodes)):
        raise explained(type(form), text, name, wrong)
    try:
        return _plan_of_graph(form) if isinstance(form, GraphFile) else _plan_of_stages(form)
    except WrongAt as wrong:
        raise explained(type(form), text, name, [(wrong.path, str(wrong))]) from None


def plan_commands(plan: Plan, stages: int | None = None) -> tuple[SpawnWorker | CreateNode, ...]:
    """Return the commands that fill an empty board: its workers, then its nodes in order.

    A node has a ref to each of its dependencies, with the dependency's name. The causes are derived
    from the names, so filling the same board again changes nothing. For a plan that is reconvened
    only the first `stages` are returned.
    """
    spawns = (SpawnWorker(f"{OF_PLAN}worker:{worker.name}", worker) for worker in plan.workers)
    names = stage_names(plan)
    is_staged = len(names) > 1
    shown = names[:stages] if plan.is_reconvened else names
    firsts = [next(node for node in plan.nodes if node.stage == name) for name in names]
    opening = {node.name for node in (firsts if plan.is_reconvened else firsts[:1])}
    nodes = (
        CreateNode(
            cause=cause_of(node),
            spec=node,
            plan_stage=(node.stage or "") if is_staged else "",
            enough=plan.contract.checkpoint_policy if is_staged else "all_must_complete",
            stage=_terms(plan, node) if node.name in opening else None,
            when=node.when,
            for_each=node.for_each,
            optional=node.optional,
        )
        for node in plan.nodes
        if node.stage in shown
    )
    return (*spawns, *nodes)


def cause_of(node: PlanNode) -> str:
    """Return the cause of the board's node for a node of a plan."""
    return f"{OF_PLAN}node:{node.name}"


def stage_names(plan: Plan) -> list[str | None]:
    """Return the names of the plan's stages in order; [None] if it has no stages."""
    return list(dict.fromkeys(node.stage for node in plan.nodes))


def _terms(plan: Plan, first: PlanNode) -> StageTerms:
    """Return the terms of the board's stage that `first` opens.

    A policy is for nodes of one stage: if the plan has several stages it applies to each of them
    (their nodes are cohorts), and not to the board's stage.
    """
    given = {name: getattr(plan.contract, name) for name in plan.contract.model_fields_set}
    if len(stage_names(plan)) > 1:
        given.pop("checkpoint_policy", None)
    return StageTerms(name=first.stage if plan.is_reconvened else None, **given)


def _add_worker(worker: WorkerSpec, workers: dict[str, WorkerSpec], place: KeyPath) -> str:
    """Add a worker to `workers` and return its name; a known name must have the same spec.

    Raises WrongAt with `place` if the two specs differ.
    """
    try:
        key = check_worker_name(worker.name).casefold()
    except InvalidInput as error:
        raise WrongAt(place, str(error)) from None
    known = workers.setdefault(key, worker)
    if worker.can_lead and not known.can_lead:
        known = workers[key] = known.model_copy(update={"can_lead": True})
    for field in ("model", "type", "agent_command"):
        asked, has = getattr(worker, field), getattr(known, field)
        if asked is not None and asked != has:
            raise WrongAt(
                place, f"worker '{known.name}' has {field} {has!r} already, not {asked!r}"
            )
    return known.name


def graph_mistakes(nodes: Sequence[GraphNode]) -> list[tuple[KeyPath, str]]:
    """Return the mistakes of a graph, each with its place.

    Mistakes are duplicate ids, unknown dependencies, cycles, and the nodes that they make
    unreachable.
    """
    places = {node.id: number for number, node in reversed(list(enumerate(nodes)))}
    found: list[tuple[KeyPath, str]] = []
    for number, node in enumerate(nodes):
        if (first := places[node.id]) != number:
            found.append((("nodes", number, "id"), _twin(node.id, ("nodes", first))))
        named: list[tuple[KeyPath, str]] = [(("deps", at), one) for at, one in enumerate(node.deps)]
        named += [(("refs", ref), to.partition("/")[0]) for ref, to in node.refs.items()]
        for where, one in named:
            if one not in places:
                error = unknown("node", one, list(places))
                found.append((("nodes", number, *where), str(error)))
    lost = {nodes[path[1]].id for path, _ in found if isinstance(path[1], int) and path[2] != "id"}
    waits = {node.id: node.needs for node in nodes}
    while cycle := find_cycle({id: needs for id, needs in waits.items() if id not in lost}):
        shown = f"{' -> '.join(cycle)} wait for each other in a cycle"
        found.append((("nodes", places[cycle[0]], "deps"), shown))
        lost |= set(cycle)
    by_id = {node.id: node for node in nodes}
    flow: list[tuple[KeyPath, str]] = [
        (("nodes", number, *path), why)
        for number, node in enumerate(nodes)
        for path, why in flow_mistakes(node, by_id)
    ]
    return (
        found
        + flow
        + [
            (("nodes", places[id], "deps"), f"'{id}' can never be reached: it waits for '{by}'")
            for id, by in _behind(lost, waits).items()
        ]
    )


def _behind(lost: Iterable[str], waits: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the nodes that wait for `lost` nodes, directly or not, each with the node awaited."""
    behind: dict[str, str] = {}
    waiting: dict[str, list[str]] = {}
    for id, needs in waits.items():
        for needed in needs:
            waiting.setdefault(needed, []).append(id)
    gone, queue = set(lost), sorted(lost)
    while queue:
        by = queue.pop()
        for id in waiting.get(by, ()):
            if id not in gone:
                gone.add(id)
                behind[id] = by
                queue.append(id)
    return behind


def _plan_of_graph(form: GraphFile) -> Plan:
    """Return the plan of a graph without mistakes; WrongAt for an invalid worker."""
    names = _names_by_id(form.nodes)
    places = {node.id: number for number, node in enumerate(form.nodes)}
    workers: dict[str, WorkerSpec] = {}
    nodes: list[PlanNode] = []
    for id in dependencies_first({node.id: node.needs for node in form.nodes}):
        node, name = form.nodes[places[id]], names[id]
        worker = _worker_of_node(node, name, workers, ("nodes", places[id]))
        before = tuple(dict.fromkeys(names[needed] for needed in node.needs))
        refs = {ref: _ref(to, names) for ref, to in node.refs.items()}
        planned = _plan_node(node, name, before, worker, refs=refs)
        nodes.append(_with_flow(node, planned, names))
    return Plan(goal=form.goal, workers=tuple(workers.values()), nodes=tuple(nodes))


def _ref(to: str, names: Mapping[str, str]) -> str:
    head, slash, inner = to.partition("/")
    return f"{names[head]}{slash}{inner}"


def _twin(id: str, other: KeyPath) -> str:
    return f"'{id}' is already the id of {shown_path(other)}"


def _with_flow(form: GraphNode, node: PlanNode, names: Mapping[str, str]) -> PlanNode:
    """Return the plan's node with `when` and `for_each` of its form; ids become names."""
    each = form.for_each
    flow: dict[str, Any] = {
        "when": {names[one]: text for one, text in form.when.items()},
        "for_each": each and each.model_copy(update={"node": names[each.node]}),
    }
    return node.model_copy(update=flow) if form.when or each else node


def _refuse_twins(ids: Sequence[str], place: KeyPath) -> None:
    for number, id in enumerate(ids):
        if (first := ids.index(id)) != number:
            raise WrongAt((*place, number, "id"), _twin(id, (*place, first)))


def _names_by_id(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """Return the board's name of each node: its id as a slug, all different."""
    names: dict[str, str] = {}
    for node in nodes:
        names[node.id] = free_name(slug(node.id, fallback="node"), names.values())
    return names


def _plan_node(
    form: PlannedTerms,
    name: str,
    before: tuple[str, ...],
    worker: str | None,
    stage: str = "",
    refs: Mapping[str, str] = MappingProxyType({}),
) -> PlanNode:
    """Return the plan's node for a form; it depends on `before` and has a ref to each of them."""
    known = {one: one for one in before} | dict(refs)
    placed = {"name": name, "dependencies": before, "refs": known, "worker": worker}
    return PlanNode.model_validate(
        {**form.shared_with(PlannedTerms), **placed, "stage": stage or None}
    )


def _worker_of_node(
    node: GraphNode, name: str, workers: dict[str, WorkerSpec], place: KeyPath
) -> str | None:
    """Return the name of the worker that a node asks for, None for any worker.

    A node that names a model, or whose worker may lead, has a worker of its own.
    """
    own_name = named_after(name)
    wanted = node.worker or (own_name if node.leads or (node.model and not node.for_each) else None)
    if wanted is None:
        return None
    own = {"name": wanted, "tools": None, "can_lead": node.leads}
    spec = WorkerSpec.model_validate(node.shared_with(WorkerSpec) | own)
    return _add_worker(spec, workers, (*place, "worker"))


def _plan_of_stages(form: CollaborationFile) -> Plan:
    """Return the plan of stages: every node of a stage needs all nodes of the previous stage."""
    workers: dict[str, WorkerSpec] = {}
    nodes: list[PlanNode] = []
    before: tuple[str, ...] = ()
    for number, stage in enumerate(form.stages):
        place = ("stages", number, "roles")
        _refuse_twins([role.id for role in stage.roles], place)
        called = stage.name or f"Stage {number + 1}"
        if any(node.stage == called for node in nodes):
            called = f"{called} ({number + 1})"
        taken = {node.name for node in nodes}
        for index, role in enumerate(stage.roles):
            where = (*place, index)
            worker = _add_worker(_worker_of_role(role, where), workers, where)
            name = free_name(slug(role.id, fallback="node"), taken)
            taken.add(name)
            nodes.append(_plan_node(role, name, before, worker, called))
        before = tuple(node.name for node in nodes[-len(stage.roles) :])
    # `model_fields_set` contains exactly the terms that the plan's contract sets.
    contract = StageContract.model_validate(form.contract.shared_with(StageContract))
    return Plan(
        goal=form.goal,
        workers=tuple(workers.values()),
        nodes=tuple(nodes),
        contract=contract,
        max_stages=_stages_on_the_board(form),
        may_reconvene=form.contract.coordinator_reconvenes is not False,
        is_reconvened=bool(form.contract.coordinator_reconvenes),
    )


def _stages_on_the_board(form: CollaborationFile) -> int | None:
    """Return the limit of stages for the board, None if there is none.

    If the coordinator does not reconvene, the plan's stages count as one stage. Raises WrongAt if
    the plan exceeds its own limit.
    """
    limit, own = form.contract.max_stages, len(form.stages)
    if limit is None:
        return None
    if own > limit:
        raise WrongAt(("contract", "max_stages"), f"is {limit}, and the plan has {own} stages")
    return limit if form.contract.coordinator_reconvenes else 1 + limit - own


def _worker_of_role(role: RoleForm, where: KeyPath) -> WorkerSpec:
    is_external = role.type == "autonomous"
    if is_external and not role.agent_command:
        raise WrongAt((*where, "agent"), "is missing (an agentic role names its external agent)")
    asked = role.shared_with(WorkerSpec) | {"name": role.name or named_after(role.id)}
    if not is_external:
        asked.pop("agent_command", None)
    return WorkerSpec.model_validate(asked)
