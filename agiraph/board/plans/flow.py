"""Flow: checks of the conditions and the `for_each` of a node in a plan file."""

from collections.abc import Mapping

from agiraph.board.plans.reading import GraphNode
from agiraph.core.errors import unknown
from agiraph.core.expressions import check_expression
from agiraph.settings.yaml_text import KeyPath


def flow_mistakes(node: GraphNode, others: Mapping[str, GraphNode]) -> list[tuple[KeyPath, str]]:
    """Return the mistakes in a node's conditions and its `for_each`, each with its place.

    `others` are all nodes of the graph by their ids.
    """
    found: list[tuple[KeyPath, str]] = []
    deps = list(node.deps)
    for one, text in node.when.items():
        place: KeyPath = ("deps", deps.index(one), "when") if one in deps else ("when", one)
        if one not in deps:
            found.append((place, str(unknown("dependency", one, deps))))
            continue
        try:
            check_expression(text)
        except ValueError as error:
            found.append((place, str(error)))
    each = node.for_each
    source = others.get(each.node) if each is not None else None
    if each is not None and source is not None and source.for_each is not None:
        why = f"'{each.node}' is itself done for each item, so it has no one result"
        found.append((("for_each", "node"), f"{why} (possible: a node without for_each)"))
    return found
