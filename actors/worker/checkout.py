"""Checkout: the git worktree of a worker's node; unused if the node has no worktree.

It is created before the node's work begins and removed when the node is completed. The worktree of
a failed node stays until the run ends, when the coordinator saves its contents.
"""

from actors.worker.context import NodeLimitReached, WorkerContext
from agiraph.core.errors import Refused
from agiraph.core.models import Assignment
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.worktrees.git import FOLDER, GitFailed
from agiraph.tools.worktrees.worktree import Worktree, commit_message, conflict_message


class Checkout:
    """The worktree of a worker's current node. Git is looked for in `search`, a PATH."""

    def __init__(self, worker: WorkerContext, search: str) -> None:
        self._worker = worker
        self._search = search

    def _worktree(self, assignment: Assignment) -> Worktree | None:
        if assignment.worktree is None:
            return None
        scratch = self._worker.node_home(assignment.node).scratch
        config = self._worker.runtime.config
        seconds, sandbox = config.worktrees.git_seconds, find_sandbox(config.sandbox)
        return Worktree(assignment.worktree, scratch, seconds, self._search, sandbox)

    def left_out(self, assignment: Assignment) -> tuple[str, ...]:
        """Return the names in scratch/ that are not the node's files: the worktree, if any."""
        return (FOLDER,) if assignment.worktree else ()

    async def make(self, assignment: Assignment) -> None:
        """Create the worktree unless it exists. Raises NodeLimitReached if that fails."""
        tree = self._worktree(assignment)
        if tree is None:
            return
        try:
            is_new = await tree.make()
        except (GitFailed, OSError) as error:
            raise NodeLimitReached(f"its git worktree cannot be made: {error}") from None
        if is_new:
            node, order = assignment.node, tree.order
            about = {"name": node.name, "branch": order.branch, "base": order.base}
            self._worker.report("worktree.made", about, f"{node.id}.{assignment.attempt}")

    async def commit(self, assignment: Assignment, summary: str) -> str:
        """Commit the contents of the worktree, and write them as a patch into scratch/.

        Returns the commit, '' if there is nothing to merge. Raises Refused.
        """
        tree = self._worktree(assignment)
        if tree is None:
            return ""
        message = commit_message(assignment.node, self._worker.name, summary)
        try:
            made = await tree.commit(message)
            if made is None:
                return ""
            await tree.write_patch(made.commit)
        except (GitFailed, OSError) as error:
            raise Refused(f"the files in {FOLDER}/ cannot be committed: {error}") from None
        if made.left_out:
            self._worker.runtime.log.info("not committed", folders=made.left_out)
        return made.commit

    async def why_refused(self, assignment: Assignment, refusal: Refused) -> Refused:
        """Return a refusal to publish as an error that tells the worker how to continue.

        If other nodes have merged conflicting changes meanwhile, this puts these changes into the
        worktree too, so that the worker can resolve the conflict there.
        """
        tree = self._worktree(assignment)
        if tree is None:
            return refusal
        try:
            if not await tree.has_conflict():
                return refusal
            await tree.apply_merge()
        except (GitFailed, OSError) as error:
            return Refused(f"{refusal} (and it could not be laid into {FOLDER}/: {error})")
        return Refused(conflict_message(str(refusal)))

    async def close(self, assignment: Assignment, status: str) -> None:
        """Remove the worktree of a completed node, whose changes have been merged."""
        tree = self._worktree(assignment)
        if tree is None or status != "completed":
            return
        try:
            await tree.remove()
        except OSError as error:
            self._worker.runtime.log.warning(
                "a worktree stays", path=str(tree.path), why=str(error)
            )
