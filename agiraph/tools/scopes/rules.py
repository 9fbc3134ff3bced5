"""Rules of a worker's and of a coordinator's scope: the meaning of relative paths, permissions.

A relative path begins in the folder where the entity's commands start, except for a few names that
have a place elsewhere (`places`); `agiraph.tools.scopes.named_places` makes links of these names,
so that commands find the same files. Every method takes resolved paths, so links and `..` have no
effect here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agiraph.core.ref_paths import REFS, ref_paths

NODE_FILES = frozenset(
    {"_spec.md", "_refs.json", "_status.md", "_evidence.json", "failure_notes.md", "log.jsonl"}
)
NODE_FOLDERS = ("scratch", "published", "attempts", REFS)
OWN_FILES = frozenset({"notebook.md", "memory.md", "identity.md"})
RUN_FOLDERS = frozenset({"nodes", "workers", "_messages", "_attachments"})
FOR_ALL = ("_messages", "_attachments")
SHARED = "shared"
"""The run's folder that the coordinator writes and its workers read."""
OF_RUN = ("_plan.md", SHARED, *FOR_ALL)
"""Files and folders of the run that have a name in a worker's folder."""
NODES = "nodes"
RUN_JOURNALS = ("journal.jsonl", "shared_values.jsonl")
AGENT_FILES = frozenset({"soul.md", "goal.md", "memory.md"})
OF_AGENT = ("SOUL.md", "GOAL.md", "MEMORY.md", "memory")
"""Files and folders of the agent that have a name in the folder of its coordinator."""


def parts_under(path: Path, root: Path) -> tuple[str, ...] | None:
    """Return the names from `root` down to `path`, lower-cased; None if not below `root`.

    Lower-cased because some file systems treat `Journal.jsonl` and `journal.jsonl` as one file.
    """
    if not path.is_relative_to(root):
        return None
    return tuple(part.casefold() for part in path.relative_to(root).parts)


def _is_journal(name: str) -> bool:
    """Whether a lower-cased name is a journal of the run, its snapshot or a damaged copy."""
    return name.lstrip(".").startswith(RUN_JOURNALS)


def shown_under(path: Path, root: Path) -> str | None:
    """Return `path` relative to `root` as text, None if it is not below `root`."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


@dataclass(frozen=True, slots=True)
class WorkerScopeRules:
    """A worker: its own files and node, every `published/`, plan, messages, attachments.

    `refs` maps the ref names of its node to paths under the run.
    """

    run: Path
    home: Path
    node: Path | None
    refs: Mapping[str, str] = field(default_factory=dict)

    readable = (
        "your folder, _spec.md, refs/..., nodes/NODE/published/..., "
        "notebook.md, memory.md, identity.md, _plan.md, shared/..., _messages/..., _attachments/..."
    )

    @property
    def writable(self) -> str:
        """The writable paths, for an error's text."""
        return ("your folder, " if self.node else "") + "notebook.md, memory.md, identity.md"

    @property
    def start(self) -> Path:
        """The folder where relative paths and commands begin."""
        return self.node / "scratch" if self.node else self.home

    @property
    def places(self) -> dict[str, Path]:
        """The names in the start folder that stand for a path elsewhere, with that path."""
        of_run = {name: self.run / name for name in OF_RUN}
        names = ("_spec.md", *([REFS] if self.refs else [])) if self.node else ()
        of_node = {name: self.node / name for name in names if self.node}
        return of_run | of_node | {name: self.home / name for name in sorted(OWN_FILES)}

    @property
    def ref_places(self) -> dict[str, Path]:
        """The published files of its refs, by their paths in the start folder."""
        return {path: self.run / self.refs[name] for name, path in ref_paths(self.refs).items()}

    def place_to_read(self, first: str, rest: Path) -> Path:
        """Return the place that a relative path names for reading.

        A name of `places` decides, else the path is in the start folder or the run.
        """
        here = self.place_to_write(first, rest)
        in_run = self.run / first / rest
        is_known = first == NODES or first in self.places
        return in_run if not is_known and not here.exists() and in_run.exists() else here

    def place_to_write(self, first: str, rest: Path) -> Path:
        """Return the place that a relative path names for writing.

        A name of `places` decides, else the path is in the start folder.
        """
        if first == NODES:
            return self.run / NODES / rest
        return self.places.get(first, self.start / first) / rest

    def may_read(self, path: Path) -> bool:
        """Whether a resolved path may be read."""
        if path.is_relative_to(self.home):
            return True
        own = parts_under(path, self.node) if self.node else None
        if own is not None:
            return len(own) > 0 and (own[0] in NODE_FOLDERS or own[0] in NODE_FILES)
        names = parts_under(path, self.run)
        if not names:
            return False
        if names[0] == "nodes":
            return len(names) >= 3 and names[2] == "published"
        return names[0] in (SHARED, *FOR_ALL) or (
            len(names) == 1 and names[0] not in RUN_FOLDERS and not _is_journal(names[0])
        )

    def may_list(self, path: Path) -> bool:
        """Whether the names in a resolved folder may be shown: the run's root and `nodes/` too."""
        names = parts_under(path, self.run)
        return names in ((), ("nodes",)) or path == self.node or self.may_read(path)

    def may_write(self, path: Path) -> bool:
        """Whether a resolved path may be written."""
        if parts_under(path, self.home) in {(name,) for name in OWN_FILES}:
            return True
        own = parts_under(path, self.node) if self.node else None
        return own is not None and len(own) > 1 and own[0] == "scratch"

    def shown(self, path: Path) -> str | None:
        """Return this worker's spelling of a resolved path."""
        here = shown_under(path, self.start)
        if here is not None and here.partition("/")[0] not in (NODES, *self.places):
            return here
        for name, place in (self.ref_places | self.places).items():
            if (inner := shown_under(path, place)) is not None:
                return name if inner == "." else f"{name}/{inner}"
        return shown_under(path, self.run)

    def names_at(self, path: Path) -> Iterator[str]:
        """Yield all spellings of a resolved path by this worker."""
        of_node = shown_under(path, self.node) if self.node else None
        if of_node:
            yield of_node.removeprefix("scratch/")
            yield of_node
        if of_home := shown_under(path, self.home):
            yield of_home
        for name, place in self.ref_places.items():
            if (inner := shown_under(path, place)) is not None:
                yield name if inner == "." else f"{name}/{inner}"
        if of_run := shown_under(path, self.run):
            yield of_run


@dataclass(frozen=True, slots=True)
class CoordinatorScopeRules:
    """The coordinator: reads the whole run and the agent's identity and memory."""

    run: Path
    agent: Path

    readable = "any file of the run, SOUL.md, GOAL.md, MEMORY.md, memory/..."
    writable = "_plan.md and other files in the run's root, MEMORY.md, memory/..."

    @property
    def start(self) -> Path:
        """The folder where relative paths and commands begin."""
        return self.run

    @property
    def places(self) -> dict[str, Path]:
        """The names in the start folder that stand for a path elsewhere, with that path."""
        return {name: self.agent / name for name in OF_AGENT}

    def place_to_read(self, first: str, rest: Path) -> Path:
        """Return the place that a relative path names: by a name of `places`, else in the run."""
        return self.places.get(first, self.run / first) / rest

    def place_to_write(self, first: str, rest: Path) -> Path:
        """Return the place that a relative path names, as for reading."""
        return self.place_to_read(first, rest)

    def may_read(self, path: Path) -> bool:
        """Whether a resolved path may be read."""
        if path.is_relative_to(self.run):
            return True
        names = parts_under(path, self.agent)
        return names is not None and (
            names[:1] == ("memory",) or names in {(name,) for name in AGENT_FILES}
        )

    def may_list(self, path: Path) -> bool:
        """Whether the names in a resolved folder may be shown."""
        return self.may_read(path)

    def may_write(self, path: Path) -> bool:
        """Whether a resolved path may be written: not the files that other processes write."""
        names = parts_under(path, self.run)
        if names is not None:
            return bool(names) and names[0] not in RUN_FOLDERS and not _is_journal(names[0])
        of_agent = parts_under(path, self.agent)
        if not of_agent:
            return False
        return of_agent == ("memory.md",) or (of_agent[0] == "memory" and len(of_agent) > 1)

    def shown(self, path: Path) -> str | None:
        """Return the coordinator's spelling of a resolved path."""
        return shown_under(path, self.run) or shown_under(path, self.agent)

    def names_at(self, path: Path) -> Iterator[str]:
        """Yield all spellings of a resolved path by the coordinator."""
        if of_run := shown_under(path, self.run):
            yield of_run
        if of_agent := shown_under(path, self.agent):
            yield of_agent
