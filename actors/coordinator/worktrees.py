"""RunWorktrees: the run's git repository; only the coordinator's process merges into it.

Nodes are merged one after the other. If the process crashed between a merge and the record of its
node's completion, the merge is found when the node is published again.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from actors.entity.context import EntityContext
from agiraph.board.board import Board
from agiraph.core.errors import Refused
from agiraph.core.models import Worker, WorkNode, WorktreeOrder
from agiraph.core.specs import WorkerType, WorkMode
from agiraph.core.turns import JsonObject
from agiraph.storage.home import AgentHome
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.worktrees.git import GitFailed, MergeConflict, node_branch
from agiraph.tools.worktrees.repository import RunRepository
from agiraph.tools.worktrees.source import (
    RepositoryNotUsable,
    SourceRepository,
    looks_like_one,
    why_not_one,
)
from agiraph.tools.worktrees.worktree import Worktree, merge_message, unfinished_message


class RunWorktrees:
    """The git side of one run: the base commits of its nodes, and the merges of their changes.

    No repository is opened before a node needs a worktree.
    """

    def __init__(self, context: EntityContext, environ: Mapping[str, str]) -> None:
        self._context = context
        self._runtime = context.runtime
        self._run = context.run
        self._environ = environ
        self._settings = context.runtime.config.worktrees
        self._home: AgentHome = context.runtime.home.agent(context.agent)
        self._merging = asyncio.Lock()
        self._is_off = self._settings.workers == "none" or context.spec.input is None
        self._input = Path(context.spec.input or "/")
        self._repository = self._opened() if context.spec.input else None

    def _opened(self) -> RunRepository:
        seconds = self._settings.git_seconds
        source = SourceRepository(self._input, seconds, self._environ)
        path = self._home.repository(self._run)
        return RunRepository(path, self._run, source, seconds, self._environ)

    # --- at the beginning of a node --------------------------------------------------------------

    async def order_for(self, node: WorkNode, worker: Worker) -> WorktreeOrder | None:
        """Return the worktree in which `worker` is to do `node`, None without worktrees."""
        if not self._is_meant_for(worker.type, worker.mode) or not await self._is_there():
            return None
        assert self._repository is not None
        try:
            return self._order(node, await self._repository.tip())
        except GitFailed as error:
            self._turn_off(str(error))
            return None

    def may_order_for(self, type: WorkerType, mode: WorkMode) -> bool:
        """Whether a worker of this type and mode may get a worktree (at home only)."""
        if self._is_off or self._repository is None or not self._is_meant_for(type, mode):
            return False
        return self._repository.exists or looks_like_one(self._input)

    def _is_meant_for(self, type: WorkerType, mode: WorkMode) -> bool:
        is_meant = type == "autonomous" or self._settings.workers == "all"
        return is_meant and mode != "single_inference"

    async def _is_there(self) -> bool:
        """Create the run's repository unless it exists; return whether it exists.

        Reports once why it cannot be created.
        """
        if self._is_off or self._repository is None:
            return False
        if self._repository.exists:
            return True
        if not looks_like_one(self._input):
            self._is_off = True
            if why := why_not_one(self._input):
                self._turn_off(why)
            return False
        try:
            await self._repository.make()
        except (RepositoryNotUsable, GitFailed, OSError) as error:
            self._turn_off(str(error))
        return not self._is_off

    def _turn_off(self, reason: str) -> None:
        self._is_off = True
        about = {"input": self._context.spec.input, "reason": reason}
        self._context.report("worktree.off", about, self._run)

    def _order(self, node: WorkNode, base: str) -> WorktreeOrder:
        assert self._repository is not None
        return WorktreeOrder(
            repository=str(self._repository.path),
            branch=node_branch(self._run, node.name, node.id),
            base=base,
            result=self._repository.result,
        )

    # --- at the end of a node --------------------------------------------------------------------

    async def merge(self, node: WorkNode, commit: str) -> None:
        """Merge a node's commit into the result branch, and copy that into the person's repository.

        Raises MergeConflict, and then nothing was merged; Refused if git fails.
        """
        if self._repository is None or not self._repository.exists:
            raise Refused("this run has no repository to merge into")
        branch = node_branch(self._run, node.name, node.id)
        async with self._merging:
            try:
                before = await self._repository.tip()
                merged = await self._repository.merge(commit, branch, merge_message(node))
            except MergeConflict as conflict:
                about = {"name": node.name, "branch": branch, "files": list(conflict.files)}
                self._report("worktree.conflict", about, node, commit)
                raise
            except (GitFailed, OSError) as error:
                raise Refused(f"branch '{branch}' cannot be merged: {error}") from None
            if merged != before:
                about = {"name": node.name, "branch": branch, "commit": merged}
                self._report("worktree.merged", about, node, commit)
            await self._hand_over()

    async def _hand_over(self, branch: str | None = None) -> str:
        """Copy a branch into the person's repository; return why that failed, else ''."""
        assert self._repository is not None
        try:
            await self._repository.hand_over(branch)
        except (RepositoryNotUsable, GitFailed, OSError) as error:
            self._runtime.log.warning("a branch was not handed over", branch=branch, why=str(error))
            return str(error)
        return ""

    # --- at the end of a run ---------------------------------------------------------------------

    async def closing_words(self, board: Board) -> str:
        """Return the text about the result's branch for the person, '' if there is none.

        With the setting `merge: checkout`, the person's checked-out branch is moved forward first.
        """
        if self._repository is None or not self._repository.exists:
            return ""
        try:
            async with self._merging:
                words = await self._of_result(self._repository)
                return "\n".join([*words, *await self._of_rest(board)])
        except (GitFailed, OSError) as error:
            return f"What became of the git branches of this run cannot be told: {error}"

    async def _of_result(self, repository: RunRepository) -> list[str]:
        count, result, about = await repository.count(), repository.result, repository.about
        if count == 0:
            return []
        commits = "1 commit" if count == 1 else f"{count} commits"
        if refused := await self._hand_over():
            take = f"git -C {about.source} fetch {repository.path} {result}"
            return [
                f"The team's changes ({commits}) are on the branch {result} of "
                f"{repository.path}; they were not copied into {about.source}: {refused}. "
                f"To take them: {take}"
            ]
        told = f"The team's changes ({commits}) are on the branch {result} in {about.source}."
        take = f"To take them: git -C {about.source} merge {result}"
        if self._settings.merge == "branch":
            return [f"{told} {take}"]
        if self._runtime.config.sandbox.input == "write":
            # A command could exchange a folder for a link while git writes into it.
            return [
                f"{told} Its checkout was left as it is: commands may write it too (sandbox.input:"
                f" write). {take}"
            ]
        try:
            await repository.advance()
        except RepositoryNotUsable as error:
            return [f"{told} Its checkout was left as it is: {error}. {take}"]
        return [f"{told} The branch {about.branch}, checked out there, was moved forward to it."]

    async def _of_rest(self, board: Board) -> list[str]:
        """Return a line for each node whose changes were not merged: a branch keeps these."""
        lost = [n for n in board.nodes.values() if n.status in ("failed", "cancelled")]
        saved = [(node, await self._rescue(node)) for node in lost]
        return [
            f"Not merged: the changes of the {node.status} node {node.name} (branch {branch})."
            for node, branch in saved
            if branch
        ]

    async def _rescue(self, node: WorkNode) -> str:
        """Commit the changes in a node's worktree; if the node has failed, remove the worktree.

        Returns the node's branch, '' if it has nothing to merge. After an error, which is logged,
        the worktree stays and '' is returned.
        """
        assert self._repository is not None
        try:
            branch = await self._save(node)
            if node.status == "failed":
                await self._tree(node, self._repository).remove()
        except (Refused, GitFailed, OSError) as error:
            self._runtime.log.warning("a worktree was not saved", node=node.name, why=str(error))
            return ""
        return branch

    async def _save(self, node: WorkNode) -> str:
        """Commit the changes in a node's worktree; return its branch, '' if all of it is merged.

        Raises Refused, GitFailed, OSError; then nothing of the worktree may be removed.
        """
        repository = self._repository
        assert repository is not None
        tree = self._tree(node, repository)
        if tree.is_made:
            await tree.commit(unfinished_message(node))
        if not await repository.is_unmerged(tree.order.branch):
            return ""
        await self._hand_over(tree.order.branch)
        return tree.order.branch

    def _tree(self, node: WorkNode, repository: RunRepository) -> Worktree:
        order = self._order(node, repository.about.base)
        scratch = self._home.run(self._run).node(node.folder).scratch
        search = self._environ.get("PATH", "/usr/bin:/bin")
        sandbox = find_sandbox(self._runtime.config.sandbox)
        return Worktree(order, scratch, self._settings.git_seconds, search, sandbox)

    async def clear(self, board: Board) -> None:
        """Remove all worktrees after the run has ended and its workers are gone; branches stay."""
        if self._repository is None or not self._repository.has_worktrees:
            return
        is_whole = True
        async with self._merging:
            for node in board.nodes.values():
                tree = self._tree(node, self._repository)
                try:
                    if node.status != "completed":
                        await self._save(node)
                    await tree.remove()
                except (Refused, GitFailed, OSError) as error:
                    is_whole, why = False, str(error)
                    self._runtime.log.warning("a worktree stays", path=str(tree.path), why=why)
            if is_whole:
                self._repository.forget_worktrees()

    def _report(self, kind: str, data: JsonObject, node: WorkNode, commit: str) -> None:
        self._context.report(kind, data, f"{node.id}.{commit}", node_id=node.id)
