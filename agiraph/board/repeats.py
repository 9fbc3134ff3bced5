"""Repeats: the spec of a node that is requested as an earlier node with changes; pure."""

from agiraph.board.board import Board
from agiraph.board.names import find_node
from agiraph.core.errors import InvalidInput
from agiraph.core.models import WorkNode
from agiraph.core.node_changes import NodeRequest
from agiraph.core.specs import NodeSpec, NodeTerms


def whole_spec(board: Board, asked: NodeRequest) -> NodeSpec:
    """Return the spec of a requested node. Raises InvalidInput if it repeats an unknown node."""
    if asked.repeats is None:
        if asked.changes.strip():
            raise InvalidInput("changes: they need `repeats`, the node that they change")
        return asked
    given = {
        name: value
        for name, field in NodeRequest.model_fields.items()
        if name in NodeSpec.model_fields
        and (value := getattr(asked, name)) != field.get_default(call_default_factory=True)
    }
    earlier = find_node(board, asked.repeats)
    spec = {**_terms(board, earlier), **given}
    if asked.changes.strip():
        spec["task"] = f"{spec['task'].rstrip()}\n\n## Changes\n\n{asked.changes.strip()}"
    return NodeSpec.model_validate(spec)


def _terms(board: Board, earlier: WorkNode) -> dict[str, object]:
    """Return the terms of an earlier node; it waited for dependencies that may have ended."""
    needed = tuple(one for one in earlier.dependencies if not board.nodes[one].has_ended)
    terms = earlier.shared_with(NodeTerms)
    return {**terms, "name": earlier.name, "refs": earlier.refs, "dependencies": needed}
