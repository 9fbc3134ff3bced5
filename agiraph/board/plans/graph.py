"""The static graph: nodes by id, each with those it needs."""

from collections.abc import Mapping, Sequence

from agiraph.board.names import free_name
from agiraph.board.plans.forms import GraphFile, GraphNode
from agiraph.board.plans.record import Plan, PlanNode
from agiraph.board.plans.team import add_worker
from agiraph.board.wait_cycles import find_cycle
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import slug
from agiraph.core.specs import NodeTerms, WorkerSpec


def plan_of_graph(form: GraphFile) -> Plan:
    """Return the plan of a graph; InvalidInput for a twin, an unknown dependency or a ring."""
    names = _names_by_id(form.nodes)
    for number, node in enumerate(form.nodes):
        for place, needed in enumerate(node.deps):
            if needed not in names:
                error = unknown("node", needed, list(names))
                raise InvalidInput(f"nodes[{number}].deps[{place}]: {error}")
    _refuse_cycle({node.id: node.deps for node in form.nodes})
    workers: dict[str, WorkerSpec] = {}
    nodes: dict[str, PlanNode] = {}
    for number, node in enumerate(form.nodes):
        worker = _worker_of_node(node, names[node.id], workers, f"nodes[{number}]")
        behind = tuple(dict.fromkeys(names[needed] for needed in node.deps))
        named = {
            "name": names[node.id],
            "dependencies": behind,
            "refs": {name: name for name in behind},
            "worker": worker,
        }
        nodes[node.id] = PlanNode.model_validate({**node.shared_with(NodeTerms), **named})
    order = _dependencies_first({node.id: node.deps for node in form.nodes})
    return Plan(
        goal=form.goal,
        workers=tuple(workers.values()),
        nodes=tuple(nodes[node_id] for node_id in order),
    )


def _names_by_id(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """Return the board's name of each node: its id as a slug, no two alike."""
    names: dict[str, str] = {}
    for number, node in enumerate(nodes):
        if node.id in names:
            first = list(names).index(node.id)
            raise InvalidInput(
                f"nodes[{number}].id: '{node.id}' is already the id of nodes[{first}]"
            )
        names[node.id] = free_name(slug(node.id, fallback="node"), names.values())
    return names


def _worker_of_node(
    node: GraphNode, name: str, workers: dict[str, WorkerSpec], place: str
) -> str | None:
    """Return the name of the worker a node asks for; one that asks for a model has its own."""
    wanted = node.worker or (name if node.model else None)
    if wanted is None:
        return None
    spec = WorkerSpec.model_validate(node.shared_with(WorkerSpec) | {"name": wanted})
    return add_worker(spec, workers, f"{place}.worker")


def _refuse_cycle(needs: Mapping[str, Sequence[str]]) -> None:
    ring = find_cycle(needs)
    if ring:
        raise InvalidInput(f"nodes: {' -> '.join(ring)} wait for each other in a ring")


def _dependencies_first(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids so that each stands after those it needs, otherwise as they were written."""
    order: dict[str, None] = {}
    for start in needs:
        stack = [start]
        while stack:
            missing = [needed for needed in needs[stack[-1]] if needed not in order]
            if missing:
                stack.extend(reversed(missing))
            else:
                order[stack.pop()] = None
    return list(order)
