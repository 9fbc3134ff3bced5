"""Scope: the files one entity may read and write, and what the paths that its model names mean.

A path is first mapped to a place (`scratch/x` is the node's, `input/x` the input folder's, and so
on), then resolved with every link and `..` in it, and only then checked against what this entity
may touch. The result is always the resolved path. What is not allowed by name is refused: the
rules list what may be touched, never what may not, so a new file of the runtime is private until
a rule names it. (`bash` is not confined here but by the sandbox.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import OutOfScope
from agiraph.core.ids import WorkerId
from agiraph.storage.home import AgentHome, NodeHome, RunHome
from agiraph.tools.scopes.rules import CoordinatorScopeRules, WorkerScopeRules

INPUT = "input"

PlaceOf = Callable[[str, Path], Path]


@dataclass(frozen=True, slots=True)
class Scope:
    """What one entity may touch. `cwd` is where its shell starts. All paths are resolved ones.

    `home` is the home that all of it is in, `has_network` whether its commands have the network
    (if there is a sandbox). `repository` is where git finds the history of its worktree, if it
    has one; no tool but git reads there.
    """

    rules: WorkerScopeRules | CoordinatorScopeRules
    cwd: Path
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
        has_network: bool = True,
    ) -> "Scope":
        """Return the scope of a worker, with the node it holds (None while it is idle).

        Of the agent's home it sees only files of the run.
        """
        home = run.worker(worker_id).path.resolve()
        node_path = node.path.resolve() if node else None
        rules = WorkerScopeRules(run=run.path.resolve(), home=home, node=node_path)
        return cls(
            rules,
            node_path / "scratch" if node_path else home,
            _resolved(input_dir),
            _home_of(agent_home),
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
        return cls(rules, rules.run, _resolved(input_dir), _home_of(agent_home), has_network)

    def to_read(self, path: str) -> Path:
        """Return the file that `path` names for reading (it need not exist); OutOfScope."""
        place = self._resolve(path, self.rules.place_to_read)
        if not self.may_read(place):
            raise OutOfScope(f"'{path}' may not be read (possible: {self._readable()})")
        return place

    def to_write(self, path: str) -> Path:
        """Return the file that `path` names for writing (its folder may be missing); OutOfScope."""
        place = self._resolve(path, self.rules.place_to_write)
        if not self.rules.may_write(place):
            raise OutOfScope(f"'{path}' may not be written (possible: {self.rules.writable})")
        return place

    def to_list(self, path: str) -> Path:
        """Return the folder that `path` names; show only what `may_read` or `may_list` allows."""
        place = self._resolve(path.strip() or ".", self.rules.place_to_read)
        if not (self.may_list(place) or self.may_read(place)):
            raise OutOfScope(f"'{path}' may not be listed (possible: {self._readable()})")
        return place

    def may_read(self, resolved: Path) -> bool:
        """Whether a resolved path is one this entity may read."""
        return self._is_input(resolved) or self.rules.may_read(resolved)

    def may_list(self, resolved: Path) -> bool:
        """Whether the names in a resolved folder may be shown to this entity."""
        return self._is_input(resolved) or self.rules.may_list(resolved)

    def shown(self, path: Path) -> str:
        """Return a place as this entity would write it: `scratch/x`, `input/x`, `_plan.md`."""
        resolved = path.resolve()
        if self.input_dir and self._is_input(resolved):
            return _joined(INPUT, resolved.relative_to(self.input_dir))
        return self.rules.shown(resolved) or resolved.name

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
        if self._is_input(place):
            return place
        own = self.rules.shown(place) if self.rules.may_read(place) else None
        hint = f"; write '{own}'" if own else f" (possible: {self._readable()})"
        raise OutOfScope(f"'{path}': absolute paths serve only inside the input folder{hint}")

    def _input(self, path: str) -> Path:
        if self.input_dir is None:
            raise OutOfScope(f"'{path}': this run has no input folder")
        return self.input_dir

    def _is_input(self, resolved: Path) -> bool:
        return self.input_dir is not None and resolved.is_relative_to(self.input_dir)

    def _readable(self) -> str:
        return self.rules.readable + (", input/..." if self.input_dir else "")


def _split(path: str) -> tuple[str, Path]:
    """Return the first name of a relative path and the rest, `.` names left out."""
    parts = Path(path).parts
    return (parts[0], Path(*parts[1:])) if parts else ("", Path())


def _joined(head: str, tail: Path) -> str:
    return head if tail == Path() else f"{head}/{tail.as_posix()}"


def _resolved(folder: Path | None) -> Path | None:
    return folder.resolve() if folder else None


def _home_of(agent_home: AgentHome) -> Path:
    """Return the home that an agent's home stands in."""
    return agent_home.path.resolve().parent.parent
