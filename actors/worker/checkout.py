"""Checkout: the git worktree of the node that a worker holds; nothing, if the node has none.

It is made before the node's work begins and removed when the node is completed. One whose node
failed stays until the run ends, when the coordinator saves what is in it.
"""

from actors.worker.context import NodeLimitReached, WorkerContext
from agiraph.core.errors import Refused
from agiraph.core.models import Assignment
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.worktrees.git import FOLDER, GitFailed
from agiraph.tools.worktrees.worktree import Worktree, commit_message, conflict_message


class Checkout:
    """The worktree of whichever node its worker holds. Git is looked for in `search`, a PATH."""

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
        """Return what of scratch/ is no file of the node's: the worktree's name, if it has one."""
        return (FOLDER,) if assignment.worktree else ()

    async def make(self, assignment: Assignment) -> None:
        """Make the worktree, unless it is there; NodeLimitReached if it cannot be made."""
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
        """Commit what is in the worktree, with a patch of it in scratch/.

        Return the commit, '' if there is nothing to merge. Raises Refused.
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
            raise Refused(f"what stands in {FOLDER}/ cannot be committed: {error}") from None
        if made.left_out:
            self._worker.runtime.log.info("not committed", folders=made.left_out)
        return made.commit

    async def why_refused(self, assignment: Assignment, refusal: Refused) -> Refused:
        """Return a refusal to publish as the worker reads it.

        If others have merged meanwhile what conflicts with its changes, that now is in its
        worktree too, for it to be solved there.
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
        """Remove the worktree of a completed node; what it was for has been merged."""
        tree = self._worktree(assignment)
        if tree is None or status != "completed":
            return
        try:
            await tree.remove()
        except OSError as error:
            self._worker.runtime.log.warning(
                "a worktree stays", path=str(tree.path), why=str(error)
            )
