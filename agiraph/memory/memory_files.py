"""MemoryFiles: the memory files of one entity, read and written within limits.

A file is replaced as a whole, so readers and crashes see the old text or the new one. Appending a
text with which the file already ends changes nothing, so a call that a crash interrupted may run
again.
"""

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.memory.history import Author, Change, MemoryHistory, locked
from agiraph.settings.config import MemoryConfig
from agiraph.storage.files import (
    files_below,
    is_file,
    read_shown,
    remove_file,
    replace_file,
    status_of,
)
from agiraph.storage.home import AgentHome, WorkerHome
from agiraph.storage.walk import etag_of

INSIGHTS_FILE = "knowledge/from-workers.md"
INSIGHTS_HEADING = "# What workers have offered\n"
INSIGHT_CHARACTERS = 2000
TITLE_CHARACTERS = 70
DAILY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
MAIN = "MEMORY.md"
FOLDER = "memory/"
SUFFIX = ".md"
DEEPEST = 5
BYTES_A_CHARACTER = 4
ANY_TEXT = "*"
COORDINATOR = Author(COORDINATOR_NAME)

Resolve = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """The outcome of a write: the file's name in the memory, its new text, the change."""

    path: str
    text: str
    change: Change

    @property
    def size(self) -> int:
        """The size of the new text, in characters."""
        return len(self.text)


class ChangedMeanwhile(Refused):
    """The file has changed since a person read it; the message names the author of the change."""


class MemoryFiles:
    """The memory files of one entity, by their names in the memory (`MEMORY.md`, `knowledge/x.md`).

    An agent's memory has a `history`, and is locked for writing; only a worker writes its own.
    """

    def __init__(
        self,
        root: Path,
        bounds: MemoryConfig,
        own_files: tuple[str, ...] = (),
        history: MemoryHistory | None = None,
    ) -> None:
        self._root = root
        self._bounds = bounds
        self._own_files = own_files
        self._history = history

    @classmethod
    def of_agent(cls, home: AgentHome, bounds: MemoryConfig) -> "MemoryFiles":
        """Return an agent's memory: MEMORY.md and `memory/`."""
        return cls(home.path, bounds, history=MemoryHistory(home, bounds.versions))

    @classmethod
    def of_worker(cls, home: WorkerHome, bounds: MemoryConfig) -> "MemoryFiles":
        """Return a worker's memory: its `memory.md` and `notebook.md`."""
        return cls(home.path, bounds, (home.memory.name, home.notebook.name))

    # --- reading ---------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all files, sorted, MEMORY.md first."""
        if self._own_files:
            return [name for name in self._own_files if is_file(self._root / name)]
        main = [MAIN] if is_file(self._root / MAIN) else []
        folder = self._root / FOLDER
        return main + [name for name in _plain_names(folder) if name.endswith(SUFFIX)]

    def documents(self) -> dict[str, str]:
        """Return the text of every file by its name, up to the maximum number of files."""
        texts: dict[str, str] = {}
        room = self._bounds.total_limit
        for name in self.names()[: self._bounds.max_files]:
            texts[name] = read_shown(self._file(name), min(room, self._most_bytes))
            room -= len(texts[name].encode())
        return texts

    def read(self, path: str, resolve: Resolve) -> str:
        """Return a file's text. Raises InvalidInput that lists the names if there is no such file.

        `resolve` turns a path of this entity's scope into the file, or raises OutOfScope.
        """
        name = self.name_of(path)
        file = resolve(self._scoped(name))
        if not is_file(file):
            raise unknown("memory file", path, self.names())
        text = read_shown(file, self._most_bytes)
        left = _size(file) - self._most_bytes
        return f"{text}\n[... {left} bytes more]" if left > 0 else text

    @property
    def _most_bytes(self) -> int:
        """The most bytes read of a file: a model's command may have made it larger than allowed."""
        return self._bounds.file_limit * BYTES_A_CHARACTER

    def name_of(self, path: str) -> str:
        """Return the memory name for a model's path. Raises InvalidInput for an invalid path."""
        wanted = path.strip().removeprefix("./")
        if self._own_files:
            if wanted not in self._own_files:
                raise unknown("memory file", path, self._own_files)
            return wanted
        if wanted.casefold() == MAIN.casefold():
            return MAIN
        name = wanted.removeprefix(FOLDER)
        parts = name.split("/")
        if not name.endswith(SUFFIX) or any(part in ("", ".", "..") for part in parts):
            raise InvalidInput(
                f"'{path}' is no memory file (possible: {MAIN}, knowledge/TOPIC{SUFFIX}, "
                f"experiences/TOPIC{SUFFIX}, preferences/TOPIC{SUFFIX}, index{SUFFIX})"
            )
        if len(parts) > DEEPEST or any(part.startswith(".") for part in parts):
            raise InvalidInput(f"'{path}' is no memory file: at most {DEEPEST} plain names deep")
        return name

    # --- writing ---------------------------------------------------------------------------------

    def write(
        self,
        path: str,
        content: str,
        resolve: Resolve,
        *,
        append: bool = False,
        author: Author = COORDINATOR,
    ) -> MemoryWritten:
        """Replace a file (empty content: remove it), or append to it; return the change.

        A daily log only grows, until it is removed. Raises InvalidInput for a limit, OutOfScope,
        Unavailable.
        """
        name = self.name_of(path)
        is_added = append or DAILY.fullmatch(name) is not None
        file = resolve(self._scoped(name))
        with locked(self._history.home) if self._history else nullcontext():
            return self._put(name, file, content, author, is_added=is_added)

    def edit(self, path: str, content: str, author: Author, expected: str | None) -> MemoryWritten:
        """Replace a file for a person, a daily log too (empty content: remove); return the change.

        `expected` is the ETag of the text that they have read, ANY_TEXT for any text, "" if the
        file must not exist yet, None for no check. Raises ChangedMeanwhile, InvalidInput (an
        invalid path, or a limit), Unavailable.
        """
        name = self.name_of(path)
        file = self._file(name)
        assert self._history is not None, "only an agent's memory is edited"
        with locked(self._history.home):
            found = read_shown(file, self._most_bytes) if is_file(file) else ""
            is_done = found == (_whole(content) if content.strip() else "")
            if expected is not None and not is_done:
                self._expect(name, expected)
            return self._put(name, file, content, author, is_added=False)

    def etag(self, name: str) -> str:
        """Return a value that changes with each change of the file `name`, "" if it is missing."""
        status = status_of(self._file(name))
        return etag_of(status) if status is not None else ""

    def _expect(self, name: str, expected: str) -> None:
        """Raise ChangedMeanwhile unless the file `name` still has the ETag `expected`.

        ANY_TEXT: the file must exist.
        """
        found = self.etag(name)
        if expected == found or (expected == ANY_TEXT and found):
            return
        assert self._history is not None
        last = self._history.last(name)
        text = read_shown(self._file(name), self._most_bytes) if found else ""
        who = "changed by a command or an editor"
        if last is not None and last.by and last.content == text:
            who = f"{last.change} by {last.by} at {iso(last.at)}"
        state = "it is not as you have read it" if expected else "there is such a file already"
        raise ChangedMeanwhile(f"{name}: {state} ({who})")

    def _put(
        self, name: str, file: Path, content: str, author: Author, *, is_added: bool
    ) -> MemoryWritten:
        old = read_shown(file, self._most_bytes) if is_file(file) else None
        change: Change = "added to" if is_added else "written"
        if not content.strip():
            text, change = "", "removed"
            self._remove(name, file, old)
        else:
            text = _added(old, content) if is_added else _whole(content)
            self._check(name, text, old)
            if text != old:
                replace_file(file, text)
        if self._history is not None:
            self._history.keep(name, old, text, change, author)
        return MemoryWritten(name, text, change)

    def _remove(self, name: str, file: Path, old: str | None) -> None:
        if name == MAIN or self._own_files:
            raise InvalidInput(f"{name} cannot be removed: write its new content")
        if old is not None:
            remove_file(file)

    def _check(self, name: str, text: str, old: str | None) -> None:
        """Raise InvalidInput if replacing `old` by `text` would exceed a limit of the memory.

        Limits: size of a file, number of files, total size. `old` is None for a new file.
        """
        bounds = self._bounds
        if len(text) > bounds.file_limit:
            raise InvalidInput(
                f"{name} would have {len(text)} characters, at most {bounds.file_limit} are "
                "possible: shorten it, or put a part into a file of its own"
            )
        if self._own_files or (old is not None and len(text) <= len(old)):
            return
        names = self.names()
        if old is None and len(names) >= bounds.max_files:
            raise InvalidInput(
                f"the memory has {len(names)} files, at most {bounds.max_files} are possible: "
                "merge some (an empty content removes a file)"
            )
        others = sum(_size(self._file(other)) for other in names if other != name)
        if others + len(text.encode()) > bounds.total_limit:
            raise InvalidInput(
                f"the memory would have more than {bounds.total_limit} bytes: "
                "shorten it or remove outdated text first"
            )

    def _file(self, name: str) -> Path:
        return self._root / self._scoped(name)

    def _scoped(self, name: str) -> str:
        """Return the path by which this entity's scope knows the file `name`."""
        return name if self._own_files or name == MAIN else f"{FOLDER}{name}"


def _whole(content: str) -> str:
    """Return the text to write for a file that is replaced, with one line break at its end."""
    return f"{content.rstrip()}\n"


def _added(old: str | None, content: str) -> str:
    """Return `old` with `content` appended; `old` alone if it already ends with `content`."""
    before, new = (old or "").rstrip(), content.strip("\n").rstrip()
    if before.endswith(new):
        return f"{before}\n"
    return f"{before}\n\n{new}\n" if before else f"{new}\n"


def _plain_names(folder: Path) -> list[str]:
    """Return the paths of the files under a folder, sorted; hidden names are left out."""
    try:
        found = files_below(folder)
    except OSError:
        return []
    plain = (path for path, _ in found if not any(part.startswith(".") for part in path.parts))
    return sorted(path.as_posix() for path in plain)


def _size(path: Path) -> int:
    status = status_of(path)
    return status.st_size if status else 0


@dataclass(frozen=True, slots=True)
class Insight:
    """A text that a worker offers to its agent's memory, with its origin and time."""

    text: str
    worker: str
    node: str
    run: str
    offered_at: float
    mark: str

    @property
    def entry(self) -> str:
        """The section of the agent's memory for this insight."""
        text = self.text.strip()[:INSIGHT_CHARACTERS]
        title = " ".join(text.split())[:TITLE_CHARACTERS].lstrip("# ")
        source = f"(offered by {self.worker}, node '{self.node}', run {self.run}"
        return f"## {title}\n\n{text}\n\n{source}, {iso(self.offered_at)}, {self.mark})\n"


def store_insight(files: MemoryFiles, insight: Insight, root: Path) -> bool:
    """Add an insight to the agent's memory at `root`; return False if it is already there.

    The insight's mark follows from the message that brought it, so a message that is delivered
    again after a crash changes nothing. Raises InvalidInput if a limit of the memory is reached.
    """
    old = files.documents().get(INSIGHTS_FILE)
    if old is not None and insight.mark in old:
        return False
    text = insight.entry if old else f"{INSIGHTS_HEADING}\n{insight.entry}"
    author = Author(insight.worker)
    files.write(INSIGHTS_FILE, text, lambda path: root / path, append=True, author=author)
    return True
