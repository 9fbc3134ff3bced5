"""Access: which paths of an agent's home a worker may read and write from another machine.

Who asks is known by its address, as the router guarantees it; in which run it works, and which
nodes it holds, is known from the agent's record and the board's journal. Nothing is taken from what
it says itself. It reads what its scope lets it read and its sandbox would show it; it writes what
it would write here.
"""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agiraph.board.board import Board
from agiraph.board.store import fold_events, read_events
from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.core.file_records import SHARED, FileRoot
from agiraph.core.ids import WorkerId, agent_of, is_plain_name
from agiraph.core.models import HELD_NODE, Agent, WorkNode
from agiraph.storage.files import entries, is_part, read_bytes
from agiraph.storage.home import AgentHome, Home, RunHome, plan_copy
from agiraph.storage.journal import JournalPosition, read_on
from agiraph.storage.versions import read_object
from agiraph.tools.scopes.scope import Scope

RESULTS = frozenset({"published", "attempts", "_evidence.json"})
"""What of a node changes only while it is held."""
LEFT_OVER = frozenset({"scratch", "log.jsonl"})
"""What its last worker may still change when it has ended."""


class BoardsRead:
    """The boards of runs; only what is new in a journal is read and folded. For any thread."""

    def __init__(self) -> None:
        self._folded: dict[Path, tuple[JournalPosition | None, Board]] = {}

    def of(self, run: RunHome) -> Board:
        """Return the board of a run; OSError, Corrupt, an empty one before there is any."""
        at, board = self._folded.get(run.path, (None, Board()))
        try:
            found = read_on(run.journal, at)
        except FileNotFoundError:
            return Board()
        happened = read_events(found.records, run.journal)
        board = fold_events(happened, run.journal, Board() if found.are_all else board)
        self._folded[run.path] = (found.at, board)
        return board


@dataclass(frozen=True, slots=True)
class WorkerAccess:
    """What one worker may touch in one run."""

    home: Home
    agent_home: AgentHome
    run: RunHome
    worker: WorkerId
    nodes: tuple[WorkNode, ...]
    """Those that it was the last to hold."""
    scope: Scope

    def place(self, path: str, root: FileRoot = "home") -> Path:
        """Return the path that is named, unless it climbs; OutOfScope. It may be anybody's."""
        names = _names(path)
        match root:
            case "home":
                return self.agent_home.path.joinpath(*names)
            case "input":
                return self._input().joinpath(*names)
            case "shared":
                if names[:1] and names[0] not in SHARED:
                    raise OutOfScope(f"'{path}' is not shared (shared: {', '.join(SHARED)})")
                # The person's own: what has one of these names may be a link.
                first = (self.home.path / names[0]).resolve() if names else self.home.path
                return first.joinpath(*names[1:])

    def _input(self) -> Path:
        if self.scope.input_dir is None:
            raise InvalidInput("this run has no input folder")
        return self.scope.input_dir

    def to_read(self, path: str, root: FileRoot = "home") -> Path:
        """Return the file of that name, which this worker may read; OutOfScope."""
        place = self.place(path, root)
        if root == "home" and not self.may_read(place):
            raise OutOfScope(f"'{path}' may not be read by {self.worker}")
        return place

    def may_read(self, place: Path) -> bool:
        """Whether this worker may read a path below the agent's home."""
        is_home = place.is_relative_to(self.agent_home.path)
        return is_home and (self.scope.rules.may_read(place) or place == plan_copy(self.run.path))

    def to_write(self, path: str) -> Path:
        """Return the file of that name, which this worker may write now; OutOfScope."""
        place = self.place(path)
        if not self._may_write(place):
            raise OutOfScope(f"'{path}' may not be written by {self.worker} now")
        return place

    def _may_write(self, place: Path) -> bool:
        own = self.run.worker(self.worker).path
        if own in place.parents:
            return True
        for node in self.nodes:
            folder = self.run.node(node.folder).path
            if folder in place.parents:
                name = place.relative_to(folder).parts[0]
                return name in LEFT_OVER or (name in RESULTS and node.status in HELD_NODE)
        return False

    def below(self, path: str) -> list[Path]:
        """Return the folders and files of the agent's home to look into for a listing of `path`.

        Below the run's folder these are its own files, below that of its nodes what the others have
        published: nobody else's folder is walked for nothing.
        """
        place, run = self.place(path), self.run
        if place == run.path:
            files = [one.name for one in entries(run.path) if one.kind == "file"]
            in_root = [run.path / name for name in files if not is_part(name)]
            return [one for one in in_root if self.may_read(one)]
        if place == run.nodes:
            nodes = [run.node(entry.name) for entry in entries(run.nodes)]
            return [node.published for node in nodes if not self.may_read(node.scratch)]
        if any(place == run.node(node.folder).path for node in self.nodes):
            return [place / entry.name for entry in entries(place)]
        return [place]


def access_of(sender: str, home: Home, boards: BoardsRead) -> WorkerAccess:
    """Return what `sender` may touch in its agent's current run; OutOfScope if nothing."""
    agent, worker = agent_of(sender), WorkerId(sender.partition("/")[2])
    if agent is None or not (is_plain_name(agent) and is_plain_name(worker)):
        raise OutOfScope(f"{sender} is no worker")
    agent_home = home.agent(agent)
    try:
        record = Agent.model_validate(read_object(agent_home.record, read_bytes(agent_home.record)))
    except FileNotFoundError:
        raise OutOfScope(f"{sender} is a worker of no agent of this home") from None
    run = agent_home.run(record.run or "")
    board = boards.of(run) if record.run else Board()
    if worker not in board.workers:
        raise OutOfScope(f"{sender} is no worker of the run '{record.run}'")
    nodes = tuple(node for node in board.nodes.values() if node.assigned_worker == worker)
    held = next((node for node in nodes if node.status in HELD_NODE), None)
    node_home = run.node(held.folder) if held else None
    input_dir = Path(record.input_dir) if record.input_dir else None
    scope = Scope.for_worker(agent_home, run, worker, node_home, input_dir)
    return WorkerAccess(home, agent_home, run, worker, nodes, scope)


def _names(path: str) -> tuple[str, ...]:
    """Return the names in a relative path; OutOfScope for one that climbs or is absolute."""
    names = PurePosixPath(path).parts
    if not all(name != ".." and name != "/" and "\0" not in name for name in names):
        raise OutOfScope(f"{path!r} leads elsewhere (expected: a relative path without ..)")
    return names
