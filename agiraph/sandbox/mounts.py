"""Mounts: the scope table as folders; what an entity's command sees of the home, and how."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agiraph.scopes.rules import OWN_FILES, CoordinatorRules, WorkerRules
from agiraph.scopes.scope import Scope


@dataclass(frozen=True, slots=True)
class Mount:
    """One path that is shown at its own place, to be read or also to be written."""

    path: Path
    is_writable: bool = False


def mounts_of(scope: Scope) -> list[Mount]:
    """Return what a scope shows of the home, those below others after them.

    What does not exist is left out; a folder of another node that is made later is not shown.
    """
    match scope.rules:
        case WorkerRules() as rules:
            found = list(_of_worker(rules))
        case CoordinatorRules() as rules:
            found = list(_of_coordinator(rules))
    if scope.repository is not None:
        found.append(Mount(scope.repository))
    return [mount for mount in found if _is_real(mount.path)]


def _of_worker(rules: WorkerRules) -> Iterator[Mount]:
    for path in _entries(rules.run):
        if rules.may_read(path) and not path.name.startswith("."):
            yield Mount(path)
    for node in _entries(rules.run / "nodes"):
        if node != rules.node:
            yield Mount(node / "published")
    if rules.node is not None:
        yield Mount(rules.node)
        yield Mount(rules.node / "scratch", is_writable=True)
    yield Mount(rules.home)
    yield from (Mount(rules.home / name, is_writable=True) for name in sorted(OWN_FILES))


def _of_coordinator(rules: CoordinatorRules) -> Iterator[Mount]:
    yield Mount(rules.run, is_writable=True)
    yield from (Mount(path) for path in _entries(rules.run) if not rules.may_write(path))
    for name in ("SOUL.md", "GOAL.md", "MEMORY.md", "memory"):
        path = rules.agent / name
        yield Mount(path, is_writable=rules.may_write(path) or name == "memory")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_real(path: Path) -> bool:
    """Whether something stands there that is no link: a link would show what it leads to."""
    return path.exists() and not path.is_symlink()
