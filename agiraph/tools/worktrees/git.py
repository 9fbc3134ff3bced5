"""Git: one git command as a process, with a deadline, without prompts, and without settings.

A repository can make git run programs: hooks, fsmonitor, filters, merge drivers, helpers of all
kinds, named in its configuration, the user's or the system's. The latter two are not read here, and
the repository's own settings are overridden. In the run's repositories, which only we configure,
filters and drivers named in `.gitattributes` therefore have no effect.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agiraph.core.errors import Refused, Unavailable
from agiraph.core.ids import NodeId, RunId, slug
from agiraph.storage.files import open_file, remove_file, status_of

FILES_NAMED = 20

FOLDER = "repo"
"""The worktree's name in a node's scratch/."""

PATCH = "changes.patch"
"""The changes of a node, for the readers of its published/."""

LOCK_MILLISECONDS = 5000
MOST_ALTERNATES = 20
SAID = 600
STALE_SECONDS = 10.0
SAFE = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.alternateRefsCommand=",
        "core.sshCommand=false",
        "core.attributesFile=/dev/null",
        "core.excludesFile=/dev/null",
        "core.protectHFS=true",
        "core.protectNTFS=true",
        "core.quotePath=false",
        f"core.filesRefLockTimeout={LOCK_MILLISECONDS}",
        "diff.external=",
        "gc.auto=0",
        "maintenance.auto=false",
        "credential.helper=",
        "submodule.recurse=false",
        "safe.directory=*",  # the person has named the folder
    )
    for word in ("-c", setting)
)
ALONE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}


class GitFailed(Unavailable):
    """A git command failed or took too long; the text ends with its output."""


@dataclass(frozen=True, slots=True)
class GitResult:
    """The exit code of a command and its stdout."""

    code: int
    out: bytes

    @property
    def text(self) -> str:
        """The output, without the last newline."""
        return self.out.decode("utf-8", "surrogateescape").strip("\n")


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one repository: `at` are options that name the repository, `env` more variables.

    `program` is the command that runs git, possibly in a sandbox.
    """

    at: tuple[str, ...]
    seconds: float
    env: Mapping[str, str] = field(default_factory=dict)
    path: str = os.defpath
    program: tuple[str, ...] = ("git",)

    def with_env(self, **more: str) -> "Git":
        """Return a copy with further variables."""
        return replace(self, env={**self.env, **more})

    async def run(
        self,
        *words: str,
        stdin: bytes | Path = b"",
        into: int | None = None,
        may_end: tuple[int, ...] = (0,),
    ) -> GitResult:
        """Return the result of `git WORDS`. Raises GitFailed for a code that is not in `may_end`.

        `stdin` is its input, or the file with it; `into` is a descriptor for its output.
        """
        with contextlib.ExitStack() as files:
            given = asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL
            taken = asyncio.subprocess.PIPE if into is None else into
            if isinstance(stdin, Path):
                given = open_file(stdin)
                files.callback(os.close, given)
            process = await self._start(words, given, taken)
            fed = stdin if isinstance(stdin, bytes) and stdin else None
            out, err = await self._end(process, words, fed)
        code = process.returncode or 0
        if code not in may_end:
            said = err.decode("utf-8", "replace").strip()[-SAID:] or "no output"
            raise GitFailed(f"git {words[0]} ended with {code}: {said}")
        return GitResult(code, out)

    async def text(self, *words: str, stdin: bytes = b"") -> str:
        """Run a command that must succeed; return its output."""
        return (await self.run(*words, stdin=stdin)).text

    async def commit_of(self, name: str) -> str | None:
        """Return the commit of a full name (such as a ref), None if the name does not exist."""
        found = await self.run("rev-parse", "-q", "--verify", name, may_end=(0, 1, 128))
        return found.text if found.code == 0 else None

    async def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is in the history of `new`."""
        found = await self.run("merge-base", "--is-ancestor", old, new, may_end=(0, 1))
        return found.code == 0

    async def merge_tree(self, ours: str, theirs: str) -> GitResult:
        """Return the merge of two commits as a tree (`read_trial`); code 1 if they conflict."""
        words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
        return await self.run(*words, ours, theirs, may_end=(0, 1))

    async def _start(
        self, words: tuple[str, ...], given: int, taken: int
    ) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self.program,
                *SAFE,
                *self.at,
                *words,
                stdin=given,
                stdout=taken,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": self.path, **ALONE, **self.env},
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be started: {error}") from None

    async def _end(
        self, process: asyncio.subprocess.Process, words: tuple[str, ...], given: bytes | None
    ) -> tuple[bytes, bytes]:
        """Wait for the command within its time limit; return its stdout and stderr.

        The command is dead when this returns or raises.
        """
        try:
            async with asyncio.timeout(self.seconds):
                out, err = await process.communicate(given)
                return out or b"", err
        except TimeoutError:
            raise GitFailed(f"git {words[0]} took longer than {self.seconds:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


def object_folders(repository: Path) -> list[Path]:
    """Return the folders of other repositories whose objects a repository uses (alternates)."""
    found: list[Path] = []
    waiting = [repository / "objects"]
    while waiting and len(found) < MOST_ALTERNATES:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            listed = (folder / "info" / "alternates").read_text(
                "utf-8", "surrogateescape"
            )  # plain: a person's
            new = [(folder / line).resolve() for line in listed.splitlines() if line[:1] != "#"]
            waiting += [one for one in new if one not in found]
            found += [one for one in new if one not in found]
    return found


def remove_stale_lock(lock: Path) -> bool:
    """Remove the lock file of a killed git; return whether there was one.

    Only for references that no other process writes. A recent lock stays: it may belong to a git
    that has just outlived its process.
    """
    lock = lock.parent.resolve() / lock.name  # a person's repository may be reached over links
    status = status_of(lock)
    if status is None or time.time() - status.st_mtime < STALE_SECONDS:
        return False
    remove_file(lock)
    return True


def result_branch(run: RunId) -> str:
    """Return the branch with all merged work.

    Its name is not `agiraph/{run}` itself: git stores a branch as a file, and could then have no
    branch below that.
    """
    return f"agiraph/{run}/result"


def node_branch(run: RunId, name: str, node: NodeId) -> str:
    """Return the branch of one node; the id in it makes it differ from the result's."""
    return f"agiraph/{run}/{slug(name, fallback='node')}-{node}"


def ref(branch: str) -> str:
    """Return a branch's full name."""
    return f"refs/heads/{branch}"


@dataclass(frozen=True, slots=True)
class TrialMerge:
    """The output of `git merge-tree --write-tree -z --name-only --no-messages`.

    `tree` is the merged tree; the files in `conflicts` hold both sides between markers.
    """

    tree: str
    conflicts: tuple[str, ...]


def read_trial(out: bytes) -> TrialMerge:
    """Return the parsed output of `git merge-tree`. Raises ValueError if it is empty."""
    fields = [part.decode("utf-8", "surrogateescape") for part in out.split(b"\0")]
    if not fields[0].strip():
        raise ValueError("git merge-tree wrote no tree")
    return TrialMerge(fields[0].strip(), tuple(dict.fromkeys(f for f in fields[1:] if f)))


class MergeConflict(Refused):
    """A node's changes conflict with merged changes of other nodes; nothing is merged.

    `files` are the files that both have changed.
    """

    def __init__(self, branch: str, files: tuple[str, ...]) -> None:
        super().__init__(conflict_text(branch, files))
        self.files = files


def conflict_text(branch: str, files: tuple[str, ...]) -> str:
    """Return the message of a conflict."""
    more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
    named = ", ".join(files[:FILES_NAMED]) + more
    return f"branch '{branch}' conflicts with earlier merged changes, in: {named}"


def has_markers(text: bytes) -> bool:
    """Whether a file still contains both sides of a conflict."""
    lines = text.splitlines()
    begins = any(line.startswith(b"<<<<<<< ") for line in lines)
    return begins and any(line.startswith(b">>>>>>> ") for line in lines)
