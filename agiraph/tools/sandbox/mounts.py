"""Mounts: the scope table as folders; the parts of the home that an entity's command sees."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agiraph.storage.files import entries, status_of
from agiraph.storage.home import plan_copy
from agiraph.storage.walk import kind_of
from agiraph.tools.scopes.rules import (
    FOR_ALL,
    OWN_FILES,
    RUN_FOLDERS,
    RUN_JOURNALS,
    SHARED,
    CoordinatorScopeRules,
    WorkerScopeRules,
)
from agiraph.tools.scopes.scope import Scope

MOST_ENTRIES = 10_000
"""The most nodes whose published files are shown: each is an argument of bubblewrap."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A path that a sandbox shows, read-only or writable.

    The path has the content of `source`; None: its own content.
    """

    path: Path
    is_writable: bool = False
    source: Path | None = None

    @property
    def shown(self) -> Path:
        """The content shown at the path."""
        return self.source or self.path


def mounts_of(scope: Scope) -> list[Mount]:
    """Return the mounts of the home for a scope, nested paths after the outer ones.

    Missing paths are left out; a node's folder that is created later is not shown.
    """
    match scope.rules:
        case WorkerScopeRules() as rules:
            found = list(_of_worker(rules))
        case CoordinatorScopeRules() as rules:
            found = list(_of_coordinator(rules))
    if scope.repository is not None:
        found.append(Mount(scope.repository))
    return [mount for mount in found if is_real(mount.shown)]


def temporary_of(scope: Scope) -> Path | None:
    """Return the folder that commands of a scope see as /tmp: a node's own; None for no node."""
    return scope.node.temporary if scope.node is not None else None


def _of_worker(rules: WorkerScopeRules) -> Iterator[Mount]:
    # From the run's root, where the coordinator's commands write, only paths are shown that these
    # commands cannot replace by a link at the moment of mounting: folders of the recorder and the
    # gateway, `shared`, which is a mount of its own there, and the copy of the plan that is kept
    # elsewhere.
    yield from (Mount(rules.run / name) for name in (SHARED, *FOR_ALL))
    yield Mount(rules.run / "_plan.md", source=plan_copy(rules.run))
    for node in _entries(rules.run / "nodes"):
        if node != rules.node:
            yield Mount(node / "published")
    if rules.node is not None:
        yield Mount(rules.node)
        yield Mount(rules.node / "scratch", is_writable=True)
    yield Mount(rules.home)
    yield from (Mount(rules.home / name, is_writable=True) for name in sorted(OWN_FILES))


def _of_coordinator(rules: CoordinatorScopeRules) -> Iterator[Mount]:
    yield Mount(rules.run, is_writable=True)
    # These exist before the run's first command, so no command can have put them there.
    yield from (Mount(rules.run / name) for name in (*sorted(RUN_FOLDERS), *RUN_JOURNALS))
    yield Mount(rules.run / SHARED, is_writable=True)
    for name in ("SOUL.md", "GOAL.md", "MEMORY.md", "memory"):
        path = rules.agent / name
        yield Mount(path, is_writable=rules.may_write(path) or name == "memory")


def _entries(folder: Path) -> list[Path]:
    try:
        return [folder / entry.name for entry in entries(folder, MOST_ENTRIES)]
    except OSError:
        return []


def is_real(path: Path) -> bool:
    """Whether a file or folder exists and is reached without any link."""
    try:
        status = status_of(path)
    except OSError:
        return False
    return status is not None and kind_of(status) in ("file", "folder")
