"""Messages of the commits that Agiraph makes."""

from agiraph.core.models import WorkNode

SUBJECT = 72


def commit_message(node: WorkNode, worker: str, summary: str) -> str:
    """Return the message of a node's commit: what it is, what was done, by whom."""
    lines = summary.strip().splitlines()
    head = f"{node.name}: {lines[0].strip()}" if lines else node.name
    subject = head if len(head) <= SUBJECT else f"{head[: SUBJECT - 3]}..."
    body = "" if subject == head and len(lines) <= 1 else f"{summary.strip()}\n\n"
    return f"{subject}\n\n{body}Agiraph-Node: {node.name} ({node.id})\nAgiraph-Worker: {worker}\n"


def merge_message(node: WorkNode) -> str:
    """Return the message of a merge."""
    return f"Merge {node.name}\n\nAgiraph-Node: {node.name} ({node.id})\n"


def unfinished_message(node: WorkNode) -> str:
    """Return the message of a commit with what stood in the worktree of a node that did not end."""
    reason = " ".join((node.reason or "").split())
    return (
        f"Unfinished: {node.name}\n\nThis node has {node.status}{': ' + reason if reason else ''}."
        f"\n\nAgiraph-Node: {node.name} ({node.id})\n"
    )
