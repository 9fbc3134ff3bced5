"""Context records: nodes of nine kinds, typed edges between them, results and statistics."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import Field

from agiraph.core.errors import unknown
from agiraph.core.ids import derived_id, slug
from agiraph.core.record import Record
from agiraph.core.turns import SafeObject, SafeText
from agiraph.storage.home import user_home

KnowledgeKind = Literal[
    "conversation",
    "task",
    "mistake",
    "pattern",
    "decision",
    "code_snippet",
    "preference",
    "file",
    "project",
]
KNOWLEDGE_KINDS: Final[tuple[KnowledgeKind, ...]] = get_args(KnowledgeKind)

EdgeKind = Literal["part_of", "made_in", "led_to", "corrects", "uses", "about", "related"]
EDGE_KINDS: Final[tuple[EdgeKind, ...]] = get_args(EdgeKind)

LONGEST_TITLE: Final = 300
LONGEST_TEXT: Final = 32_000
MOST_TAGS: Final = 32
PROJECT_DIGITS: Final = 12
LONGEST_PROJECT: Final = 100
OF_AGENT: Final = "agent-"
"""Prefix of the project of runs without an input folder: their agent."""


class KnowledgeNode(Record):
    """One known fact.

    `text` is Markdown. `project_id` is its project, None for all projects. `importance` is from 0
    to 1. Times are seconds since the epoch; `used` counts how often it entered a prompt. `agent`
    and `run` name its origin, '' if it is not from a run. `data` contains the facts of its kind:
    outcome and duration_seconds of a task; correction and prevention of a mistake; rationale of a
    decision; language of a snippet; path, size and mtime_ns of a file; path and stack of a project.
    """

    id: str = Field(min_length=1, max_length=64)
    kind: KnowledgeKind
    title: SafeText = Field(min_length=1, max_length=LONGEST_TITLE)
    text: SafeText = Field(default="", max_length=LONGEST_TEXT)
    project_id: str | None = Field(default=None, max_length=LONGEST_PROJECT)
    tags: tuple[SafeText, ...] = Field(default=(), max_length=MOST_TAGS)
    importance: float = Field(default=0.5, ge=0, le=1)
    created: float
    updated: float
    used: int = Field(default=0, ge=0)
    last_used: float | None = None
    agent: str = ""
    run: str = ""
    data: SafeObject = Field(default_factory=dict)


class KnowledgeEdge(Record):
    """A relation from `source` to `target`, both ids of nodes.

    The source is part of the target, was made in it, led to it, corrects it, uses it, is about it,
    or is related to it.
    """

    source: str
    target: str
    kind: EdgeKind
    weight: float = Field(default=1.0, ge=0)


class KnowledgeHit(Record):
    """A node that a search found. A higher score is a better match.

    `words` are the words of the query in the node; `snippet` is the part of its text with these
    words. `is_same_project`: the node belongs to the project of the search.
    """

    node: KnowledgeNode
    score: float
    words: tuple[str, ...] = ()
    snippet: str = ""
    is_same_project: bool = False


class KnowledgeNeighbor(Record):
    """A node at the other end of an edge; `is_outgoing`: the edge points to it."""

    node: KnowledgeNode
    kind: EdgeKind
    is_outgoing: bool
    weight: float = 1.0


class KnowledgePage(Record):
    """Some nodes in order; `next` is the cursor of the next page, None if there is none."""

    nodes: tuple[KnowledgeNode, ...]
    next: str | None = None


class KnowledgeWritten(Record):
    """The result of a write: numbers of new, changed and unchanged nodes, and of new edges."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    edges: int = 0


class KnowledgePruned(Record):
    """The result of pruning: the number of pruned nodes of each kind, and the first of them."""

    by_kind: dict[str, int] = Field(default_factory=dict)
    examples: tuple[KnowledgeNode, ...] = ()

    @property
    def nodes(self) -> int:
        """The total number of nodes."""
        return sum(self.by_kind.values())


class KnowledgeProject(Record):
    """A project of the database, with its number of nodes; `title` is '' if it was not scanned."""

    project_id: str
    title: str = ""
    nodes: int = 0


class KnowledgeStats(Record):
    """Statistics of the database. `by_month` counts nodes by `YYYY-MM` of their creation (UTC)."""

    nodes: int = 0
    edges: int = 0
    by_kind: dict[str, int] = Field(default_factory=dict)
    by_project: tuple[KnowledgeProject, ...] = ()
    by_month: dict[str, int] = Field(default_factory=dict)
    by_edge: dict[str, int] = Field(default_factory=dict)
    most_used: tuple[KnowledgeNode, ...] = ()
    never_used: int = 0
    size_bytes: int = 0


class ScannedFile(Record):
    """A file as the last scan saw it: path, and the values that detect a change of it."""

    path: str
    size: int
    mtime_ns: int


class KnownProject(Record):
    """The known state of a project before it is scanned again."""

    files: tuple[ScannedFile, ...] = ()
    patterns: tuple[str, ...] = ()


class ScanOutcome(Record):
    """The result of a scan. `skipped` files are binary, too large, or cannot be read."""

    project_id: str
    files: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    skipped: int = 0
    seconds: float = 0.0
    is_complete: bool = True


class ScanBatch(Record):
    """Nodes and edges to write, and the ids of deleted files; the last batch has the outcome."""

    nodes: tuple[KnowledgeNode, ...] = ()
    edges: tuple[KnowledgeEdge, ...] = ()
    gone: tuple[str, ...] = ()
    done: ScanOutcome | None = None


def node_id(kind: KnowledgeKind, *of: str) -> str:
    """Return the id of the node of this kind for the parts `of`: equal parts give equal ids."""
    return f"c-{derived_id('knowledge', kind, *of)}"


def project_id(path: Path | str) -> str:
    """Return the id of the project in a folder, from its real path: its name and some digits."""
    real = os.path.realpath(path)
    return f"{slug(os.path.basename(real), 'project')}-{derived_id(real)[:PROJECT_DIGITS]}"


def repository_of(folder: Path | str) -> str:
    """Return the top of the git repository that a folder is in, else the folder; the real path.

    A repository of the person's whole home folder, or of one above it, does not count.
    """
    real = place = os.path.realpath(folder)
    above = {os.path.realpath(user_home()), os.path.sep}
    while place not in above:
        if os.path.lexists(os.path.join(place, ".git")):
            return place
        place = os.path.dirname(place)
    return real


def project_of(input_dir: str | None, agent: str) -> str:
    """Return the id of the project of a run: its input's repository or folder, else its agent."""
    if input_dir:
        return project_id(repository_of(input_dir))
    return f"{OF_AGENT}{agent}"[:LONGEST_PROJECT]


def project_node_id(project: str) -> str:
    """Return the id of the node of a project."""
    return node_id("project", project)


def kinds_named(names: Iterable[str]) -> tuple[KnowledgeKind, ...]:
    """Return the kinds with these names. Raises InvalidInput for an unknown name."""
    known = {kind: kind for kind in KNOWLEDGE_KINDS}
    found = []
    for name in names:
        if name not in known:
            raise unknown("kind of knowledge", name, KNOWLEDGE_KINDS)
        found.append(known[name])
    return tuple(found)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; three dots replace the rest."""
    return text if len(text) <= limit else f"{text[: max(0, limit - 1)].rstrip()}…"
