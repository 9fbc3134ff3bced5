"""Worktree: the checkout in which one node works, on its own branch, created by its worker.

    make          `git worktree add`; a half-made worktree of a killed process is made again
    commit        everything in it, as one commit on the node's branch
    apply_merge   after a conflict: the others' merged work, with markers where both differ

The runtime's notes about a worktree are in git's folder for it (`worktrees/{name}/` of the run's
repository), where no model writes. The commit is made with the runtime's own index, so that a
model's git commands in its worktree have no influence on the commit.

A process of the model may still run, and replace a folder of the worktree by a link while git reads
or writes it. So git runs in a sandbox that contains only the node's scratch folder and the
repositories: a link leads nowhere else. Without a sandbox the model's processes are not confined
either.
"""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.core.json_text import parse_json
from agiraph.core.models import WorkNode, WorktreeOrder
from agiraph.storage.copies import copy_file
from agiraph.storage.files import (
    entries,
    is_file,
    is_folder,
    make_folder,
    new_file,
    open_file,
    read_bytes,
    read_text,
    remove_file,
    remove_tree,
    replace_file,
    status_of,
    write_all,
)
from agiraph.storage.walk import UnsafeFile, kind_of
from agiraph.tools.sandbox.sandbox import Sandbox
from agiraph.tools.worktrees.git import (
    FOLDER,
    PATCH,
    Git,
    GitResult,
    conflict_text,
    has_markers,
    object_folders,
    read_trial,
    ref,
    remove_stale_lock,
)

SUBJECT = 72

READY = "agiraph-ready"
INDEX = "agiraph-index"
MERGING = "agiraph-folded.json"
PATCH_BYTES = 4_000_000
GITLINK = "160000"
MOST_MERGED_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class NodeCommit:
    """A commit of a node; `left_out` are repositories inside the worktree, which it excludes."""

    commit: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeInProgress:
    """The merge of the others' commit `tip` into the worktree; `is_whole` once it is complete."""

    tip: str
    files: tuple[str, ...]
    is_whole: bool


class Worktree:
    """The worktree that `order` describes, below a node's `scratch`.

    Git is looked for in `search`, a PATH, and works on the worktree in `sandbox`.
    """

    def __init__(
        self,
        order: WorktreeOrder,
        scratch: Path,
        seconds: float,
        search: str,
        sandbox: Sandbox,
    ) -> None:
        self.order = order
        self.path = scratch / FOLDER
        self._repository = Path(order.repository)
        self._seconds = seconds
        self._search = search
        self._sandbox = sandbox
        self._git = Git((f"--git-dir={order.repository}",), seconds, path=search)

    # --- creating and removing -------------------------------------------------------------------

    async def make(self) -> bool:
        """Create the worktree unless it exists; return whether it was created.

        Raises GitFailed, UnsafeFile.
        """
        admin = self._admin()
        if admin is not None and is_file(admin / READY) and is_folder(self.path):
            return False
        async with self._locked():
            await self._remove()
            await self._add()
        admin = self._admin()
        assert admin is not None
        copy_file(admin / "index", admin / INDEX)
        replace_file(admin / READY, "")
        return True

    async def _add(self) -> None:
        make_folder(self.path.parent)  # git would follow a link there
        begin: tuple[str, ...] = ("-B", self.order.branch, str(self.path), self.order.base)
        if await self._git.commit_of(ref(self.order.branch)):
            begin = (str(self.path), self.order.branch)
        await self._git.run("worktree", "add", "--quiet", "--force", *begin)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the lock on the run's worktrees in the block; it ends with this process at latest.

        Git reads every worktree of the repository, and fails if one is half written. The lock is
        beside the repository, where no model's command can take it.
        """
        fd = open_file(self._repository.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    async def remove(self) -> None:
        """Remove the folder and git's record of it; the branch stays."""
        async with self._locked():
            await self._remove()

    async def _remove(self) -> None:
        admin = self._admin()
        await asyncio.to_thread(remove_tree, self.path)
        if admin is not None:
            await asyncio.to_thread(remove_tree, admin)

    @property
    def is_made(self) -> bool:
        """Whether the worktree was created and not removed."""
        admin = self._admin()
        return admin is not None and is_file(admin / READY) and is_folder(self.path)

    def _admin(self) -> Path | None:
        """Return git's folder for this worktree, None if there is none."""
        worktrees = self._repository / "worktrees"
        try:
            names = [entry.name for entry in entries(worktrees)]
        except FileNotFoundError:
            return None
        for name in names:
            try:
                if read_text(worktrees / name / "gitdir").strip() == f"{self.path}/.git":
                    return worktrees / name
            except OSError:
                continue
        return None

    # --- committing ------------------------------------------------------------------------------

    async def commit(self, message: str) -> NodeCommit | None:
        """Commit the content of the worktree; None if the node has changed nothing.

        A repeated call after a crash, or without changes, returns the existing commit. Raises
        Refused if the worktree is gone, or still contains both sides of a conflict; GitFailed.
        """
        admin = self._require_admin()
        merge = self._merge_in_progress(admin)
        if merge is not None and not merge.is_whole:
            await self.apply_merge(merge.tip)
            raise Refused(conflict_message(conflict_text(self.order.branch, merge.files)))
        self._refuse_markers(merge)
        git = self._inside(admin)
        left_out = await self._stage(git)
        tree = await git.text("write-tree")
        head = await self._parent(git)
        is_in = merge is None or await git.is_ancestor(merge.tip, head)
        if is_in and tree == await git.text("rev-parse", f"{head}^{{tree}}"):
            commit = head
        else:
            parents = ["-p", head, *(("-p", merge.tip) if merge else ())]
            commit = await git.text("commit-tree", tree, *parents, stdin=message.encode())
        remove_stale_lock(self._repository / f"{ref(self.order.branch)}.lock")
        await git.run("update-ref", ref(self.order.branch), commit)
        remove_file(admin / MERGING)
        copy_file(admin / INDEX, admin / "index")
        return None if commit == self.order.base else NodeCommit(commit, left_out)

    def _require_admin(self) -> Path:
        admin = self._admin()
        if admin is None or not is_folder(self.path):
            raise Refused(f"the worktree {FOLDER}/ is gone: nothing of it can be published")
        return admin

    def _inside(self, admin: Path) -> Git:
        at = (f"--git-dir={admin}", f"--work-tree={self.path}")
        remove_file(admin / f"{INDEX}.lock")
        index = {"GIT_INDEX_FILE": str(admin / INDEX)}
        return Git(at, self._seconds, index, self._search, self._confined_git())

    def _confined_git(self) -> tuple[str, ...]:
        """Return the command that runs git without access to other files.

        The scratch folder is mounted, not the worktree: the model can replace only the latter.
        """
        words = self._sandbox.around_helper(
            [shutil.which("git", path=self._search) or "git"],
            readable=object_folders(self._repository),
            home=None,
            has_network=False,
            writable=(self._repository, self.path.parent),
        )
        return tuple(words)

    async def _stage(self, git: Git) -> tuple[str, ...]:
        """Add the worktree to the index; return the repositories inside it, which are not added.

        `git add` would read these with settings that a model may have put into them.
        """
        new = _split(await git.run("ls-files", "-z", "--others", "--exclude-standard"))
        changed = _split(await git.run("ls-files", "-z", "--modified", "--deleted"))
        links = await self._links(git)
        known = [name for name in changed if name not in links]
        gone = {name for name in known if not self._is_there(name)}
        files = [name for name in (*known, *new) if not name.endswith("/") and name not in gone]
        update = ("update-index", "-z")
        await git.run(*update, "--force-remove", "--stdin", stdin=_listed(sorted(gone)))
        await git.run(*update, "--add", "--replace", "--stdin", stdin=_listed(files))
        return tuple(name.rstrip("/") for name in new if name.endswith("/"))

    def _is_there(self, name: str) -> bool:
        """Whether a file or link is at exactly this path, not behind a link."""
        try:
            status = status_of(self.path / name)
        except UnsafeFile:
            return False
        return status is not None and kind_of(status) in ("file", "link")

    async def _links(self, git: Git) -> set[str]:
        """Return the submodules, which stay unchanged."""
        rows = _split(await git.run("ls-files", "-z", "--stage"))
        return {row.partition("\t")[2] for row in rows if row.startswith(GITLINK)}

    async def _parent(self, git: Git) -> str:
        """Return the commit's parent: the checked-out commit, if it descends from the base."""
        head = await git.commit_of("HEAD^{commit}")
        if head and await git.is_ancestor(self.order.base, head):
            return head
        return await git.text("rev-parse", "--verify", ref(self.order.branch))

    async def write_patch(self, commit: str) -> None:
        """Write the node's changes as a patch beside the worktree (truncated if too long)."""
        patch = self.path.parent / PATCH
        words = ("diff-tree", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--stat")
        remove_tree(patch)
        with new_file(patch) as fd:
            await self._git.run(*words, self.order.base, commit, into=fd)
            if os.fstat(fd).st_size > PATCH_BYTES:
                os.ftruncate(fd, PATCH_BYTES)
                os.lseek(fd, 0, os.SEEK_END)
                note = f"\n[cut off here; all of it: branch {self.order.branch}]\n"
                write_all(fd, note.encode())

    # --- after a conflict ------------------------------------------------------------------------

    async def has_conflict(self) -> bool:
        """Whether the branch conflicts with the others' merged work."""
        merged = await self._git.merge_tree(ref(self.order.branch), ref(self.order.result))
        return merged.code == 1

    async def apply_merge(self, tip: str | None = None) -> MergeInProgress:
        """Merge the others' work, with which the node's commit conflicts, into the worktree.

        A file that both sides have changed then contains both changes, between markers. The next
        commit has both sides as parents. If the process is killed meanwhile, the next `commit`
        repeats the merge.
        """
        admin = self._require_admin()
        git = self._inside(admin)
        tip = tip or await git.text("rev-parse", "--verify", ref(self.order.result))
        head = await git.text("rev-parse", "--verify", ref(self.order.branch))
        trial = read_trial((await git.merge_tree(head, tip)).out)
        self._note(admin, MergeInProgress(tip, trial.conflicts, is_whole=False))
        await git.run("read-tree", "--reset", "-u", trial.tree)
        copy_file(admin / INDEX, admin / "index")
        merge = MergeInProgress(tip, trial.conflicts, is_whole=True)
        self._note(admin, merge)
        return merge

    def _note(self, admin: Path, merge: MergeInProgress) -> None:
        replace_file(admin / MERGING, json.dumps(asdict(merge)) + "\n")

    def _merge_in_progress(self, admin: Path) -> MergeInProgress | None:
        try:
            noted = parse_json(read_text(admin / MERGING))
        except FileNotFoundError:
            return None
        return MergeInProgress(noted["tip"], tuple(noted["files"]), noted["is_whole"])

    def _refuse_markers(self, merge: MergeInProgress | None) -> None:
        left = tuple(name for name in merge.files if self._has_markers(name)) if merge else ()
        if left:
            raise Refused(
                f"conflict markers are left in {', '.join(left)}: resolve each conflict, "
                "remove the markers, and publish again"
            )

    def _has_markers(self, name: str) -> bool:
        try:
            return has_markers(read_bytes(self.path / name, MOST_MERGED_BYTES))
        except OSError:
            return False


def conflict_message(conflict: str) -> str:
    """Return the message to a worker whose changes were not merged."""
    return (
        f"not published: {conflict}. The changes merged meanwhile are now in {FOLDER}/ beside "
        "yours; these files contain both, between the markers <<<<<<< and >>>>>>>. Resolve each "
        "conflict, remove the markers, check that everything still works, and publish again"
    )


def _listed(names: Sequence[str]) -> bytes:
    listed = "".join(f"{name}\0" for name in dict.fromkeys(names))
    return listed.encode("utf-8", "surrogateescape")


def _split(answer: GitResult) -> list[str]:
    parts = answer.out.split(b"\0")
    return [part.decode("utf-8", "surrogateescape") for part in parts if part]


def commit_message(node: WorkNode, worker: str, summary: str) -> str:
    """Return the message of a node's commit: its name, its summary, its worker."""
    lines = summary.strip().splitlines()
    head = f"{node.name}: {lines[0].strip()}" if lines else node.name
    subject = head if len(head) <= SUBJECT else f"{head[: SUBJECT - 3]}..."
    body = "" if subject == head and len(lines) <= 1 else f"{summary.strip()}\n\n"
    return f"{subject}\n\n{body}Agiraph-Node: {node.name} ({node.id})\nAgiraph-Worker: {worker}\n"


def merge_message(node: WorkNode) -> str:
    """Return the message of a merge."""
    return f"Merge {node.name}\n\nAgiraph-Node: {node.name} ({node.id})\n"


def unfinished_message(node: WorkNode) -> str:
    """Return the message of the commit of a node that did not complete."""
    reason = " ".join((node.reason or "").split())
    return (
        f"Unfinished: {node.name}\n\nThis node has {node.status}{': ' + reason if reason else ''}."
        f"\n\nAgiraph-Node: {node.name} ({node.id})\n"
    )
