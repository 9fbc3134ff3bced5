"""Refs: what a new node reads from others, as paths under the run."""

from agiraph.board.board import Board
from agiraph.board.names import find_node
from agiraph.core.errors import InvalidInput
from agiraph.core.models import WorkNode


def normal_refs(board: Board, refs: dict[str, str]) -> tuple[dict[str, str], list[WorkNode]]:
    """Return refs as `nodes/{folder}/published[/file]`, and the nodes they lead to.

    A value may be a node's name or id, `NODE/published/FILE`, or the whole path.
    """
    paths: dict[str, str] = {}
    nodes: list[WorkNode] = []
    for name, value in refs.items():
        node, inner = _parse(board, name, value)
        paths[name] = "/".join(("nodes", node.folder, "published", *inner))
        nodes.append(node)
    return paths, nodes


def _parse(board: Board, name: str, value: str) -> tuple[WorkNode, tuple[str, ...]]:
    parts = tuple(part for part in value.strip().split("/") if part not in ("", "."))
    if not name.strip() or not parts or ".." in parts or value.strip().startswith("/"):
        raise InvalidInput(
            f"ref '{name}': '{value}' is not a reference "
            "(possible: NODE, NODE/published/FILE, nodes/NODE/published/FILE)"
        )
    if parts[0] == "nodes" and len(parts) > 1:
        parts = parts[1:]
    node, inner = find_node(board, parts[0]), parts[1:]
    return node, inner[1:] if inner[:1] == ("published",) else inner
