"""Access: the paths of a home that a worker may read and write from another machine.

The router guarantees the sender's address. The agent's record names the worker's run, and the
board's journal its nodes: no claim of the sender is used. A worker reads the files that its scope
and its sandbox would show it at home, and writes the files that it would write there.

Each root answers only for the names that it allows:

    home     the agent's home: the files that the scope of this worker allows
    input    the input folder, without a home that is inside it
    shared   the names in SHARED; an empty path names all of them

Every place is checked by `may_read` or `to_write` before it is opened, also each entry of a
listing.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.board.members import BoardCache, member_at
from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.core.ids import WorkerId
from agiraph.core.models import HELD_NODE, WorkNode
from agiraph.storage.file_records import SHARED, FileRoot
from agiraph.storage.files import entries, is_part
from agiraph.storage.home import AgentHome, Home, RunHome, plan_copy
from agiraph.storage.walk import Kind
from agiraph.tools.scopes.scope import Scope

WRITTEN_OF_NODE: Final[dict[str, Kind]] = {
    "published": "folder",
    "attempts": "folder",
    "_evidence.json": "file",
    "scratch": "folder",
    "log.jsonl": "file",
}
"""The names in a node's folder that its worker writes, and their kinds. No other kind may use such
a name: a link would lead sandboxes that mount `published/` to another folder."""
LEFT_OVER: Final = frozenset({"scratch", "log.jsonl"})
"""The names that the last worker of a node may still change when the node has ended."""
LONGEST_PATH: Final = 32_768
"""In bytes. A path in a listing has at most MOST_LEVELS names of 255 bytes."""
SHOWN_CHARACTERS: Final = 200
SHARED_PARTS: Final = frozenset((name,) for name in SHARED)


@dataclass(frozen=True, slots=True)
class WorkerAccess:
    """The files that one worker may read and write in one run."""

    home: Home
    agent_home: AgentHome
    run: RunHome
    worker: WorkerId
    nodes: tuple[WorkNode, ...]
    """The nodes whose last worker it is."""
    scope: Scope

    def place(self, path: str, root: FileRoot = "home") -> Path:
        """Return the place that a path names below a root, unchecked. Raises OutOfScope."""
        names = names_in(path)
        match root:
            case "home":
                return self.agent_home.path.joinpath(*names)
            case "input":
                return self._input().joinpath(*names)
            case "shared":
                if not names or names[0] not in SHARED:
                    raise OutOfScope(f"{_shown(path)} is not shared (shared: {', '.join(SHARED)})")
                return self._shared(names[0]).joinpath(*names[1:])

    def _input(self) -> Path:
        if self.scope.input_dir is None:
            raise InvalidInput("this run has no input folder")
        return self.scope.input_dir

    def _shared(self, name: str) -> Path:
        """Return the real path of a shared name: the person may have made it a link."""
        return Path(os.path.realpath(self.home.path / name))

    def to_read(self, path: str, root: FileRoot = "home") -> Path:
        """Return the file that a path names. Raises OutOfScope if this worker may not read it."""
        place = self.place(path, root)
        if not self.may_read(place, root):
            raise OutOfScope(f"{_shown(path)} may not be read by {self.worker}")
        return place

    def may_read(self, place: Path, root: FileRoot = "home") -> bool:
        """Whether this worker may read a place below a root."""
        match root:
            case "home":
                is_home = place.is_relative_to(self.agent_home.path)
                is_plan = place == plan_copy(self.run.path)
                return is_home and (is_plan or self.scope.rules.may_read(place))
            case "input":
                return self.scope.is_input(place)
            case "shared":
                return self._is_shared(place)

    def _is_shared(self, place: Path) -> bool:
        """Whether a place is below a shared name, and so not any other part of the home."""
        if not any(place.is_relative_to(self._shared(name)) for name in SHARED):
            return False
        home = self.home.path
        return not place.is_relative_to(home) or place.relative_to(home).parts[:1] in SHARED_PARTS

    def to_write(self, path: str, kind: Kind | None = None) -> Path:
        """Return the place that a path names, if this worker may put an entry of a kind there.

        `kind` is None for an entry that is removed. Raises OutOfScope.
        """
        place = self.place(path)
        if not self._may_write(place, kind):
            as_kind = f" as a {kind}" if kind and self._may_write(place, None) else ""
            raise OutOfScope(f"{_shown(path)} may not be written by {self.worker} now{as_kind}")
        return place

    def _may_write(self, place: Path, kind: Kind | None) -> bool:
        if self.run.worker(self.worker).path in place.parents:
            return True
        for node in self.nodes:
            folder = self.run.node(node.folder).path
            if folder in place.parents:
                name, *inner = place.relative_to(folder).parts
                known = WRITTEN_OF_NODE.get(name)
                if known is None or not (name in LEFT_OVER or node.status in HELD_NODE):
                    return False
                return known == "folder" if inner else kind in (None, known)
        return False

    def below(self, path: str, root: FileRoot = "home") -> list[tuple[str, Path]]:
        """Return the names and places of the files and folders to list for `path`.

        Raises OutOfScope. A folder is skipped if this worker may read nothing in it.
        """
        if root == "home":
            base = self.agent_home.path
            return [(one.relative_to(base).as_posix(), one) for one in self._below(path)]
        paths = SHARED if root == "shared" and not names_in(path) else (path,)
        named = [(Path(*names_in(one)).as_posix(), self.place(one, root)) for one in paths]
        return [one for one in named if self.may_read(one[1], root)]

    def _below(self, path: str) -> Iterator[Path]:
        """Yield the paths to list of the agent's home.

        Of the run's folder these are its own files, of the folder of its nodes the published files
        of other workers.
        """
        place, run = self.place(path), self.run
        if place == run.path:
            files = [one.name for one in entries(run.path) if one.kind == "file"]
            yield from (run.path / name for name in files if not is_part(name))
        elif place == run.nodes:
            nodes = [run.node(entry.name) for entry in entries(run.nodes)]
            yield from (node.published for node in nodes if not self.may_read(node.scratch))
        elif any(place == run.node(node.folder).path for node in self.nodes):
            yield from (place / entry.name for entry in entries(place))
        elif self.may_read(place):
            yield place


def access_of(sender: str, home: Home, boards: BoardCache) -> WorkerAccess:
    """Return the access of `sender` in its agent's current run. Raises OutOfScope without one."""
    member = member_at(sender, home, boards)
    record, run, board, worker = member.agent, member.run, member.board, member.worker.id
    agent_home = home.agent(record.id)
    nodes = tuple(node for node in board.nodes.values() if node.assigned_worker == worker)
    node_home = run.node(member.node.folder) if member.node else None
    input_dir = Path(record.input) if record.input else None
    scope = Scope.for_worker(agent_home, run, worker, node_home, input_dir)
    return WorkerAccess(home, agent_home, run, worker, nodes, scope)


def names_in(path: str) -> tuple[str, ...]:
    """Return the names in a relative path, () for an empty one. Raises OutOfScope for others."""
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    is_relative = not path.startswith("/") and ".." not in names and "\0" not in path
    if not is_relative or not is_utf8(path) or len(path.encode()) > LONGEST_PATH:
        raise OutOfScope(
            f"{_shown(path)} leads elsewhere (expected: a relative path without '..', in UTF-8, of"
            f" at most {LONGEST_PATH} bytes)"
        )
    return names


def is_utf8(name: str) -> bool:
    """Whether a name can be sent to another machine: file names may be any bytes."""
    return name.isascii() or not any("\ud800" <= one <= "\udfff" for one in name)


def _shown(path: str) -> str:
    return repr(path[:SHOWN_CHARACTERS])
