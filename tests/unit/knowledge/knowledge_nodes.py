"""Nodes and stores for the tests of the knowledge database."""

from typing import Any

from agiraph.knowledge.records import KnowledgeKind, KnowledgeNode, node_id

DAY = 86400.0
NOW = 1_800_000_000.0


def node(title: str, kind: KnowledgeKind = "decision", **fields: Any) -> KnowledgeNode:
    """Return a node called `title`, which is all that it is of."""
    given = {"text": "", "created": NOW, "updated": NOW} | fields
    return KnowledgeNode(id=node_id(kind, title), kind=kind, title=title, **given)
