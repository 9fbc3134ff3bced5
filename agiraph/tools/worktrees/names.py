"""Names: what the branches and folders of a run's worktrees are called."""

from agiraph.core.ids import NodeId, RunId, slug

FOLDER = "repo"
"""The worktree's name in a node's scratch/."""

PATCH = "changes.patch"
"""What a node has changed, for whoever reads its published/."""


def result_branch(run: RunId) -> str:
    """Return the branch on which all that was merged stands.

    It is not `agiraph/{run}` itself: git keeps a branch as a file, and could then have none below.
    """
    return f"agiraph/{run}/result"


def node_branch(run: RunId, name: str, node: NodeId) -> str:
    """Return the branch of one node; its id keeps it apart from the result's."""
    return f"agiraph/{run}/{slug(name, fallback='node')}-{node}"


def ref(branch: str) -> str:
    """Return a branch's full name."""
    return f"refs/heads/{branch}"
