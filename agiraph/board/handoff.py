"""Hand-off: what whoever made a node is told of work that was cut short, and how it may continue.

A worker at a bound may publish what it has and name what is missing; one that ends without a result
leaves its files in `scratch/`. Both come with a suggestion that can be followed as it is.
"""

from agiraph.core.models import WorkNode

SHOWN_FILES = 12


def suggestion(node: WorkNode) -> str:
    """Return how work that was cut short may go on; empty if it was not."""
    if node.status == "completed" and node.missing:
        return _after_part(node)
    if node.status == "failed" and node.left:
        return _after_failure(node)
    return ""


def _after_part(node: WorkNode) -> str:
    cut = f" because {node.bound}" if node.bound else ""
    return (
        f"node '{node.name}' was published in part{cut}; to go on, create a node "
        f'\'{node.name}-rest\' with refs {{"{node.name}": "{node.name}"}} and what is missing '
        f"as its task: {node.missing}"
    )


def _after_failure(node: WorkNode) -> str:
    shown = ", ".join(node.left[:SHOWN_FILES])
    more = f" and {len(node.left) - SHOWN_FILES} more" if len(node.left) > SHOWN_FILES else ""
    return (
        f"node '{node.name}' published nothing, but left in nodes/{node.folder}/scratch/: "
        f"{shown}{more}; to go on, create a smaller node, with what is of use there in its task"
    )
