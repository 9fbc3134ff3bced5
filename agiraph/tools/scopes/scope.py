"""Scope: the files that one entity may read and write, and the meaning of its model's paths.

A path is first mapped to a place (`x` is in the entity's folder, `input/x` in the input folder, and
so on), then resolved with every link and `..` in it, and only then checked against the entity's
permissions. The result is always the resolved path. Everything without a permission is refused: the
rules list the permitted paths, never the forbidden ones, so a new file of the runtime is private
until a rule names it. (`bash` is not confined here but by the sandbox.)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import OutOfScope
from agiraph.core.ids import WorkerId
from agiraph.core.ref_paths import ref_paths
from agiraph.storage.home import AgentHome, NodeHome, RunHome
from agiraph.tools.scopes.rules import CoordinatorScopeRules, WorkerScopeRules

INPUT = "input"
PRIVATE = ("system", "human")
"""The folders of a home that contain keys, tokens and data of the services."""

PlaceOf = Callable[[str, Path], Path]


@dataclass(frozen=True, slots=True)
class Scope:
    """The permissions of one entity. All paths are resolved.

    `home` is the home that contains the entity's files, `has_network` whether its commands have
    network access (if there is a sandbox). `repository` is where git finds the history of the
    entity's worktree, if it has one; no tool except git reads there.
    """

    rules: WorkerScopeRules | CoordinatorScopeRules
    input_dir: Path | None
    home: Path | None = None
    has_network: bool = True
    repository: Path | None = None

    @classmethod
    def for_worker(
        cls,
        agent_home: AgentHome,
        run: RunHome,
        worker_id: WorkerId,
        node: NodeHome | None,
        input_dir: Path | None,
        *,
        refs: Mapping[str, str] | None = None,
        has_network: bool = True,
    ) -> "Scope":
        """Return the scope of a worker, with the node it holds (None while it is idle).

        `refs` maps the names of the node's refs to paths under the run. Of the agent's home the
        worker sees only files of the run.
        """
        own, home = run.worker(worker_id).path.resolve(), _home_of(agent_home)
        node_path = node.path.resolve() if node else None
        rules = WorkerScopeRules(run.path.resolve(), own, node_path, refs or {})
        return cls(
            rules,
            _shown_input(input_dir, home),
            home,
            has_network,
            agent_home.repository(run.path.name).resolve(),
        )

    @classmethod
    def for_coordinator(
        cls,
        agent_home: AgentHome,
        run: RunHome,
        input_dir: Path | None,
        *,
        has_network: bool = True,
    ) -> "Scope":
        """Return the scope of an agent's coordinator in one run."""
        rules = CoordinatorScopeRules(run=run.path.resolve(), agent=agent_home.path.resolve())
        home = _home_of(agent_home)
        return cls(rules, _shown_input(input_dir, home), home, has_network)

    @property
    def cwd(self) -> Path:
        """The folder in which the entity's commands start and its relative paths begin."""
        return self.rules.start

    @property
    def node(self) -> NodeHome | None:
        """The folder of the worker's node; None for an idle worker and a coordinator."""
        match self.rules:
            case WorkerScopeRules(node=Path() as node):
                return NodeHome(node)
            case _:
                return None

    @property
    def refs(self) -> Mapping[str, str]:
        """The names of the node's refs, with their paths in the start folder."""
        return ref_paths(self.rules.refs) if isinstance(self.rules, WorkerScopeRules) else {}

    @property
    def places(self) -> dict[str, Path]:
        """The names in the start folder that have a place elsewhere; its commands find links."""
        of_input = {} if self.input_dir is None else {INPUT: self.input_dir}
        return {**self.rules.places, **of_input}

    def to_read(self, path: str) -> Path:
        """Return the file, perhaps missing, that `path` names for reading. Raises OutOfScope."""
        place = self._resolve(path, self.rules.place_to_read)
        if not self.may_read(place):
            raise OutOfScope(f"'{path}' may not be read (possible: {self._readable()})")
        return place

    def to_write(self, path: str) -> Path:
        """Return the file that `path` names for writing. Raises OutOfScope.

        The folder of the file may be missing.
        """
        place = self._resolve(path, self.rules.place_to_write)
        if not self.rules.may_write(place):
            raise OutOfScope(f"'{path}' may not be written (possible: {self.rules.writable})")
        return place

    def to_list(self, path: str) -> Path:
        """Return the folder that `path` names. Raises OutOfScope.

        Each name in the folder needs `may_read` or `may_list`.
        """
        place = self._resolve(path.strip() or ".", self.rules.place_to_read)
        if not (self.may_list(place) or self.may_read(place)):
            raise OutOfScope(f"'{path}' may not be listed (possible: {self._readable()})")
        return place

    def may_read(self, resolved: Path) -> bool:
        """Whether this entity may read a resolved path."""
        return self.is_input(resolved) or self.rules.may_read(resolved)

    def may_list(self, resolved: Path) -> bool:
        """Whether the names in a resolved folder may be shown to this entity."""
        return self.is_input(resolved) or self.rules.may_list(resolved)

    def shown(self, path: Path) -> str:
        """Return the entity's spelling of a place: `x` in its folder, `input/x`, `_plan.md`."""
        resolved = path.resolve()
        if self.input_dir and self.is_input(resolved):
            return _joined(INPUT, resolved.relative_to(self.input_dir))
        return self.rules.shown(resolved) or resolved.name

    def names_of(self, path: str) -> list[str]:
        """Return all spellings of the place of a path, the usual one first.

        A path may mean another place for reading than for writing. Links are followed in their
        current state. The entity's permission is not checked.
        """
        found: dict[str, None] = {}
        for place_of in (self.rules.place_to_read, self.rules.place_to_write):
            try:
                first, rest = _split(path)
                if path.startswith("/"):
                    place = Path(path)
                elif first == INPUT and self.input_dir is not None:
                    place = self.input_dir / rest
                else:
                    place = place_of(first, rest)
                found |= dict.fromkeys(self._names_at(place.resolve()))
            except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links
                continue
        return list(found)

    def _names_at(self, place: Path) -> Iterator[str]:
        if self.input_dir is not None and place.is_relative_to(self.input_dir):
            yield _joined(INPUT, place.relative_to(self.input_dir))
        yield from self.rules.names_at(place)
        yield str(place)

    def _resolve(self, path: str, place: PlaceOf) -> Path:
        try:
            return self._place(path, place).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links
            raise OutOfScope(f"{path!r} cannot be resolved ({error})") from None

    def _place(self, path: str, place: PlaceOf) -> Path:
        if not path.strip():
            raise OutOfScope("an empty path names no file")
        if "\0" in path:
            raise OutOfScope("a path cannot hold a NUL character")
        if path.startswith("/"):
            return self._absolute(path)
        first, rest = _split(path)
        if first == INPUT:
            return self._input(path) / rest
        return place(first, rest)

    def _absolute(self, path: str) -> Path:
        place = Path(path).resolve()
        if self.is_input(place):
            return place
        own = self.rules.shown(place) if self.rules.may_read(place) else None
        hint = f"; write '{own}'" if own else f" (possible: {self._readable()})"
        raise OutOfScope(f"'{path}': absolute paths serve only inside the input folder{hint}")

    def _input(self, path: str) -> Path:
        if self.input_dir is None:
            raise OutOfScope(f"'{path}': this run has no input folder")
        return self.input_dir

    def is_input(self, resolved: Path) -> bool:
        """Whether a resolved path is in the input folder, and not in a home that it contains."""
        folder, home = self.input_dir, self.home
        if folder is None or not resolved.is_relative_to(folder):
            return False
        if home is None or not home.is_relative_to(folder):
            return True
        return not _is_within(resolved, home)

    def _readable(self) -> str:
        return self.rules.readable + (", input/..." if self.input_dir else "")


def _split(path: str) -> tuple[str, Path]:
    """Return the first name of a relative path and the rest, without `.` names."""
    parts = Path(path).parts
    return (parts[0], Path(*parts[1:])) if parts else ("", Path())


def _joined(head: str, tail: Path) -> str:
    return head if tail == Path() else f"{head}/{tail.as_posix()}"


def is_below_input(shown: str) -> bool:
    """Whether a path, as an entity spells it, is the input folder or in it."""
    return shown == INPUT or shown.startswith(f"{INPUT}/")


def is_private(folder: Path, home: Path) -> bool:
    """Whether a resolved folder cannot be an input: a home, or one of its private folders."""
    return folder == home or any(_is_within(folder, home / name) for name in PRIVATE)


def _shown_input(folder: Path | None, home: Path) -> Path | None:
    """Return the resolved input folder, None if it must not be shown."""
    resolved = folder.resolve() if folder else None
    return None if resolved is None or is_private(resolved, home) else resolved


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or below it, also if the file system ignores case."""
    return f"{path}/".casefold().startswith(f"{folder}/".casefold())


def _home_of(agent_home: AgentHome) -> Path:
    """Return the home that contains an agent's home."""
    return agent_home.path.resolve().parent.parent
