"""Nodes and stores for the tests of the context database."""

from typing import Any

from agiraph.context.records import ContextKind, ContextNode, node_id

DAY = 86400.0
NOW = 1_800_000_000.0


def node(title: str, kind: ContextKind = "decision", **fields: Any) -> ContextNode:
    """Return a node called `title`, which is all that it is of."""
    given = {"text": "", "created": NOW, "updated": NOW} | fields
    return ContextNode(id=node_id(kind, title), kind=kind, title=title, **given)
