"""The planner's output schema, and its answer as the text of a plan file; pure."""

from typing import Any, Final

from agiraph.board.plans.graph import Graph, Node
from agiraph.core.errors import InvalidInput
from agiraph.core.specs import PlanningMode

TEXT: Final = {"type": "string"}
PLANNED: Final[dict[str, Any]] = {
    "id": TEXT | {"description": "a short name, unique in the plan"},
    "task": TEXT | {"description": "the work, in full: its worker sees only this and its deps"},
    "role": TEXT | {"description": "the kind of worker: researcher, writer, manager ..."},
    "deps": {
        "type": "array",
        "items": TEXT,
        "description": "ids of nodes that must be completed before",
    },
}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "nodes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": PLANNED,
                "required": list(PLANNED),
                "additionalProperties": False,
            },
        }
    },
    "required": ["nodes"],
    "additionalProperties": False,
}
"""The JSON Schema of the planner's answer."""

NAMES_PROGRAMS: Final = ("agent_command", "checks")


def plan_of_answer(answer: str, planning: PlanningMode, goal: str, most_nodes: int) -> str:
    """Return the text of a plan file for a planner's answer.

    Raises InvalidInput, which says what is wrong. In a static plan no worker leads: nothing is
    planned later.
    """
    begin, end = answer.find("{"), answer.rfind("}")
    if begin < 0 or end < begin:
        raise InvalidInput("the answer holds no JSON object (it must be one, with 'nodes')")
    graph = Graph.parse(answer[begin : end + 1], "plan")
    for node in graph.nodes:
        _require_no_commands(node)
    if len(graph) > most_nodes:
        raise InvalidInput(f"the plan has {len(graph)} nodes, and {most_nodes} are possible")
    nodes = graph.nodes if planning == "hybrid" else [_without_team(node) for node in graph.nodes]
    return Graph(nodes, goal=goal).to_yaml()


def _require_no_commands(node: Node) -> None:
    """Raise InvalidInput for a node that names a program: no approval rule has checked it."""
    for field in NAMES_PROGRAMS:
        if getattr(node, field):
            raise InvalidInput(
                f"node '{node.id}' has {field}, which a plan that a model makes cannot have "
                f"(possible: {', '.join(PLANNED)})"
            )


def _without_team(node: Node) -> Node:
    return node.model_copy(update={"can_lead": False}) if node.leads else node
