"""RunRepository: the bare repository of one run, in which its nodes' branches are merged.

Only the coordinator creates it and merges in it. It is built beside its place and renamed into it,
so it exists as a whole or not at all. A reference is only moved from the value that was read.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from agiraph.core.ids import RunId
from agiraph.core.json_text import parse_json
from agiraph.storage.files import (
    entries,
    is_file,
    make_folder,
    move,
    new_file,
    read_text,
    remove_file,
    remove_tree,
    replace_bytes,
    replace_file,
)
from agiraph.tools.worktrees.git import (
    Git,
    MergeConflict,
    read_trial,
    ref,
    remove_stale_lock,
    result_branch,
)
from agiraph.tools.worktrees.source import RepositoryInfo, SourceRepository

ABOUT = "agiraph.json"


@dataclass(frozen=True, slots=True)
class RepositoryOrigin:
    """The origin of a run's repository: the commit `base` of the branch checked out there."""

    source: str
    base: str
    branch: str


class RunRepository:
    """The repository of a run, at `path`."""

    def __init__(
        self,
        path: Path,
        run: RunId,
        source: SourceRepository,
        seconds: float,
        environ: Mapping[str, str],
    ) -> None:
        self.path = path
        self.result = result_branch(run)
        self._source = source
        self._seconds = seconds
        self._search = environ.get("PATH", "/usr/bin:/bin")
        self._git = self._git_at(path)

    def _git_at(self, path: Path) -> Git:
        return Git((f"--git-dir={path}",), self._seconds, path=self._search)

    @property
    def exists(self) -> bool:
        """Whether the repository exists."""
        return is_file(self.path / ABOUT)

    @property
    def has_worktrees(self) -> bool:
        """Whether the repository may still have a worktree."""
        try:
            return bool(entries(self.path / "worktrees"))
        except FileNotFoundError:
            return False

    @property
    def about(self) -> RepositoryOrigin:
        """The origin of the repository."""
        return RepositoryOrigin(**parse_json(read_text(self.path / ABOUT)))

    async def make(self) -> None:
        """Create the repository unless it exists. Raises RepositoryNotUsable."""
        if self.exists:
            return
        found = await self._source.look()
        part = self.path.with_name(f"{self.path.name}.part")
        await asyncio.to_thread(remove_tree, part)
        make_folder(self.path.parent, 0o700)
        await self._fill(part, found)
        await asyncio.to_thread(remove_tree, self.path)
        move(part, self.path)

    async def _fill(self, part: Path, found: RepositoryInfo) -> None:
        git = self._git_at(part)
        form = f"--object-format={found.form}"
        await git.run("init", "--quiet", "--bare", "--template=", form, str(part))
        replace_file(part / "objects" / "info" / "alternates", f"{found.objects}\n")
        if found.shallow:
            grafts = found.shallow.read_bytes()  # plain: the person's repository
            replace_bytes(part / "shallow", grafts)
        name, email = await self._source.identity()
        for key, value in (("user.name", name), ("user.email", email)):
            await git.run("config", key, value)
        await git.run("update-ref", ref(self.result), found.head, "")
        await git.run("symbolic-ref", "HEAD", ref(self.result))
        about = RepositoryOrigin(str(self._source.path), found.head, found.branch)
        replace_file(part / ABOUT, json.dumps(asdict(about)) + "\n")

    async def tip(self, branch: str | None = None) -> str:
        """Return the commit of a branch, by default the result."""
        return await self._git.text("rev-parse", "--verify", ref(branch or self.result))

    async def merge(self, commit: str, branch: str, message: str) -> str:
        """Merge a commit of `branch` into the result; return the result's new commit.

        Does nothing for a merged commit. Raises MergeConflict, and then nothing has changed;
        GitFailed.
        """
        remove_stale_lock(self.path / f"{ref(self.result)}.lock")
        tip = await self.tip()
        bases = await self._git.run("merge-base", "--all", tip, commit, may_end=(0, 1))
        if commit in bases.text.split():
            return tip  # it is in the result's history
        is_ahead = tip in bases.text.split()
        merged = commit if is_ahead else await self._merged(tip, commit, branch, message)
        await self._git.run("update-ref", ref(self.result), merged, tip)
        return merged

    async def _merged(self, tip: str, commit: str, branch: str, message: str) -> str:
        answer = await self._git.merge_tree(tip, commit)
        trial = read_trial(answer.out)
        if answer.code:
            raise MergeConflict(branch, trial.conflicts)
        parents = ("-p", tip, "-p", commit)
        return await self._git.text("commit-tree", trial.tree, *parents, stdin=message.encode())

    async def hand_over(self, branch: str | None = None) -> None:
        """Copy a branch, by default the result, into the person's repository.

        Does nothing if the branch adds nothing to the run's base. Raises RepositoryNotUsable if a
        person has checked out or changed the branch there, GitFailed.
        """
        named = branch or self.result
        commit, base = await self.tip(named), self.about.base
        if commit == base or await self._source.tip(named) == commit:
            return
        known = f"{commit}\n^{base}\n"
        if (old := await self._source.tip(named)) and await self._knows(old):
            known += f"^{old}\n"
        pack = self.path / "handed-over.pack"
        wanted = ("--revs", "--thin", "--stdout", "--quiet")
        try:
            with new_file(pack) as fd:
                await self._git.run("pack-objects", *wanted, stdin=known.encode(), into=fd)
            await self._source.take(pack, named, commit)
        finally:
            remove_file(pack)

    async def _knows(self, commit: str) -> bool:
        answer = await self._git.run("cat-file", "-e", commit, may_end=(0, 1, 128))
        return answer.code == 0

    async def advance(self) -> None:
        """Fast-forward the person's checked-out branch to the result.

        Raises RepositoryNotUsable.
        """
        await self._source.advance(self.about.branch, self.result)

    async def count(self) -> int:
        """Return the number of commits of the result beyond the run's base."""
        return int(await self._git.text("rev-list", "--count", f"{self.about.base}..{self.result}"))

    async def is_unmerged(self, branch: str) -> bool:
        """Whether a branch exists and has commits that the result lacks."""
        if not await self._git.commit_of(ref(branch)):
            return False
        ahead = await self._git.text("rev-list", "--count", f"{self.result}..{branch}")
        return int(ahead) > 0

    def forget_worktrees(self) -> None:
        """Forget every worktree, including worktrees whose creation was interrupted."""
        remove_tree(self.path / "worktrees")
