"""Copies of a `for_each` node, and their effect on the nodes that depend on the node."""

from itertools import chain
from typing import Any

from agiraph.core.models import WorkNode


def on_copies(other: WorkNode, node: WorkNode, copies: list[WorkNode]) -> dict[str, Any]:
    """Return the changed fields of a node when its dependency `node` is replaced by copies."""
    ids = tuple(copy.id for copy in copies)
    needed = ((ids if one == node.id else (one,)) for one in other.dependencies)
    when = {one: text for one, text in other.when.items() if one != node.id}
    if node.id in other.when:
        when |= dict.fromkeys(ids, other.when[node.id])
    refs: dict[str, str] = {}
    for name, path in other.refs.items():
        parts = path.split("/")
        if parts[1] != node.folder:
            refs[name] = path
            continue
        for number, copy in enumerate(copies, start=1):
            refs[f"{name}-{number}"] = "/".join((parts[0], copy.folder, *parts[2:]))
    return {"dependencies": tuple(chain.from_iterable(needed)), "when": when, "refs": refs}
