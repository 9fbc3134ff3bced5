"""SourceRepository: the person's repository, the base of a run and the receiver of its result.

It is inspected without reading a worktree or an index. Only objects and branches below `agiraph/`
are written into it; a branch that a person has changed or checked out is not touched. The person's
own checkout is moved only by `advance`, which is called only if the settings say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.tools.sandbox.input_guard import is_empty_folder
from agiraph.tools.worktrees.git import Git, GitFailed, ref, remove_stale_lock

NOBODY = ("Agiraph", "agiraph@localhost")
OLDEST_GIT = (2, 38)
BARE = ("HEAD", "objects", "refs")


class RepositoryNotUsable(Refused):
    """No worktree can be made of a folder; the text says why."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """A git repository to make worktrees from. `branch` is the checked-out branch, "" if none.

    `shallow` is the file that lists the cut commits of a shallow clone, else None.
    """

    objects: Path
    form: str
    head: str
    branch: str
    shallow: Path | None


def looks_like_one(folder: Path) -> bool:
    """Whether a folder may be the top of a checkout; an empty `.git` is a stand-in."""
    git = folder / ".git"
    return git.exists() and not is_empty_folder(git)


def why_not_one(folder: Path) -> str:
    """Return why a folder of a repository is unusable; '' for a folder of no repository.

    Only the top of a checkout is usable.
    """
    if all((folder / name).exists() for name in BARE):
        return "it is a bare repository, or the .git of one, and has no checkout"
    top = next((parent for parent in folder.resolve().parents if looks_like_one(parent)), None)
    if top is None:
        return ""
    return f"it is a folder below {top}, the top of a git checkout: only the top can be the input"


class SourceRepository:
    """The repository whose checkout is the folder `path`."""

    def __init__(self, path: Path, seconds: float, environ: Mapping[str, str]) -> None:
        self.path = path.resolve()
        search = environ.get("PATH", "/usr/bin:/bin")
        ceiling = {"GIT_CEILING_DIRECTORIES": str(self.path.parent)}
        self._git = Git(("-C", str(self.path)), seconds, ceiling, search)
        own = {"HOME": environ.get("HOME", "/"), "GIT_CONFIG_GLOBAL": ""}
        self._own = own | {"XDG_CONFIG_HOME": environ.get("XDG_CONFIG_HOME", "")}

    async def look(self) -> RepositoryInfo:
        """Return the facts about this repository that a worktree needs.

        Raises RepositoryNotUsable if no worktrees can be made of it.
        """
        await self._require_git()
        asked = ("--show-toplevel", "--git-common-dir", "--show-object-format")
        answer = await self._git.run(
            "rev-parse", "--path-format=absolute", *asked, may_end=(0, 128)
        )
        if answer.code:
            raise RepositoryNotUsable("it is not a git repository that can be read")
        top, common, form = answer.text.split("\n")
        if Path(top).resolve() != self.path:
            raise RepositoryNotUsable(f"the checkout of its repository is {top}")
        head = await self._git.commit_of("HEAD^{commit}")
        if head is None:
            raise RepositoryNotUsable("nothing has been committed in it yet")
        await self._require_objects(head)
        branch = await self._git.run("symbolic-ref", "-q", "--short", "HEAD", may_end=(0, 1))
        shallow = Path(common) / "shallow"
        return RepositoryInfo(
            objects=Path(common) / "objects",
            form=form,
            head=head,
            branch=branch.text,
            shallow=shallow if shallow.is_file() else None,
        )

    async def _require_objects(self, commit: str) -> None:
        """Raise RepositoryNotUsable unless a commit can be checked out without a network."""
        listed = ("rev-list", "--objects", "--missing=print", "--no-walk", commit)
        missing = (await self._git.text(*listed)).count("\n?")
        if not missing:
            return
        is_partial = await self._git.run(
            "config", "--get-regexp", r"^remote\..*\.promisor$", may_end=(0, 1)
        )
        kind = "it is a partial clone: " if is_partial.code == 0 else ""
        raise RepositoryNotUsable(
            f"{kind}objects of its last commit are missing ({missing}; a full clone has them)"
        )

    async def _require_git(self) -> None:
        try:
            said = await self._git.text("version")
        except GitFailed as error:
            raise RepositoryNotUsable(str(error)) from None
        numbers = said.removeprefix("git version ").split(".")
        if tuple(int(n) for n in numbers[:2] if n.isdigit()) < OLDEST_GIT:
            raise RepositoryNotUsable(f"{said} is too old (2.38 or newer is needed)")

    async def identity(self) -> tuple[str, str]:
        """Return the person's name and address from git's settings, else a fallback."""
        git = self._git.with_env(**self._person())
        found = [
            (await git.run("config", "--get", key, may_end=(0, 1))).text
            for key in ("user.name", "user.email")
        ]
        return found[0] or NOBODY[0], found[1] or NOBODY[1]

    def _person(self) -> dict[str, str]:
        """Return the variables with which git reads the person's own settings."""
        home = Path(self._own["HOME"])
        known = {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
        xdg = Path(self._own["XDG_CONFIG_HOME"] or home / ".config") / "git" / "config"
        if not (home / ".gitconfig").is_file() and xdg.is_file():
            known["GIT_CONFIG_GLOBAL"] = str(xdg)
        return known

    async def tip(self, branch: str) -> str | None:
        """Return the commit of a branch, None if there is no such branch."""
        return await self._git.commit_of(ref(branch))

    async def has(self, commit: str) -> bool:
        """Whether a commit and all its objects can be read in this repository."""
        answer = await self._git.run("rev-list", "-1", "--quiet", commit, may_end=(0, 128))
        return answer.code == 0

    async def take(self, pack: Path, branch: str, commit: str) -> None:
        """Store the objects in `pack`, and set `branch` to `commit`.

        Raises RepositoryNotUsable if a person has that branch checked out, or has changed it.
        """
        await self._git.run("index-pack", "--stdin", "--fix-thin", stdin=pack)
        await self.point(branch, commit)

    async def point(self, branch: str, commit: str) -> None:
        """Move a branch forward to an existing commit.

        Raises RepositoryNotUsable if a person has the branch checked out, or has changed it.
        """
        place = "%(worktreepath)"
        held = await self._git.text("for-each-ref", f"--format={place}", ref(branch))
        if held:
            raise RepositoryNotUsable(f"its branch '{branch}' is checked out in {held}")
        old = await self.tip(branch)
        if old == commit:
            return
        if old is not None and not await self._git.is_ancestor(old, commit):
            raise RepositoryNotUsable(f"its branch '{branch}' has been changed there")
        lock = await self._git.text("rev-parse", "--git-path", f"{ref(branch)}.lock")
        remove_stale_lock(self.path / lock)
        await self._git.run("update-ref", "--no-deref", ref(branch), commit, old or "")

    async def advance(self, branch: str, onto: str) -> None:
        """Fast-forward the checked-out `branch` to `onto`. Raises RepositoryNotUsable.

        This uses the person's own settings and filters, as their own `git merge` would, but no
        hooks. Uncommitted changes are never overwritten.
        """
        now = await self._git.run("symbolic-ref", "-q", "--short", "HEAD", may_end=(0, 1))
        if now.text != branch or not branch:
            raise RepositoryNotUsable(f"'{branch}' is no longer checked out there")
        git = self._git.with_env(**self._person(), GIT_ATTR_NOSYSTEM="0", GIT_OPTIONAL_LOCKS="1")
        try:
            await git.run("merge", "--ff-only", "--quiet", "--no-stat", ref(onto))
        except GitFailed as error:
            raise RepositoryNotUsable(f"its checkout cannot be moved forward: {error}") from None
