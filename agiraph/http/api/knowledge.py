"""The knowledge database: records of searches, nodes, additions and removals."""

from typing import Annotated

from pydantic import Field, StringConstraints

from agiraph.core.ids import AgentId
from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.knowledge.records import (
    KnowledgeHit,
    KnowledgeKind,
    KnowledgeNeighbor,
    KnowledgeNode,
    KnowledgePage,
    KnowledgePruned,
    KnowledgeStats,
    ScanOutcome,
)
from agiraph.knowledge.remembered import RememberedSpec

LONGEST_QUERY = 2000
Path = Annotated[str, StringConstraints(max_length=4096)]


class SearchKnowledgeRequest(ApiRequest):
    """POST /knowledge/search: words; matching nodes contain at least some of them.

    `project` is a project's id or the path of its folder: its nodes come first, nodes of other
    projects are left out.
    """

    query: str = Field(min_length=1, max_length=LONGEST_QUERY)
    kinds: tuple[KnowledgeKind, ...] = ()
    project: Path = ""
    limit: int = Field(default=20, ge=1, le=200)


class KnowledgeHitView(KnowledgeHit, ApiView):
    """A node found by a search; a higher `score` is a better match."""


class KnowledgePageView(KnowledgePage, ApiView):
    """GET /knowledge: nodes, the most recently changed first; pass `next` as `after`."""


class KnowledgeNodeView(ApiView):
    """GET /knowledge/nodes/{id}: a node, and the nodes at the other ends of its edges."""

    node: KnowledgeNode
    neighbors: tuple[KnowledgeNeighbor, ...] = ()


class KnowledgeStatsView(KnowledgeStats, ApiView):
    """GET /knowledge/stats: the contents of the database in numbers."""


class AddKnowledgeRequest(RememberedSpec, ApiRequest):
    """POST /knowledge: knowledge that a person adds. `project` as in a search, '' for all."""

    project: Path = ""


class PruneKnowledgeRequest(ApiRequest):
    """POST /knowledge/prune: remove old nodes of little value.

    Removes nodes whose kind is not in `keep`, that were neither changed nor used for
    `older_than_seconds`, and whose value is below `below` (0 to 1). With `dry_run` nothing is
    removed; the answer shows the nodes that would be.
    """

    older_than_seconds: float = Field(ge=0, allow_inf_nan=False)
    below: float = Field(default=1.0, ge=0, le=1)
    keep: tuple[KnowledgeKind, ...] = ()
    dry_run: bool = True


class KnowledgePrunedView(KnowledgePruned, ApiView):
    """The result of pruning or, after a dry run, the nodes that would be removed."""

    nodes_pruned: int
    is_dry_run: bool


class ForgetKnowledgeRequest(ApiRequest):
    """POST /knowledge/forget: remove these nodes, and all nodes of an agent or a project."""

    ids: tuple[str, ...] = Field(default=(), max_length=1000)
    agent: AgentId | None = None
    project: Path = ""


class ForgottenView(ApiView):
    """The number of nodes that were removed, with their edges."""

    removed: int


class ScanProjectRequest(ApiRequest):
    """POST /knowledge/scan: the absolute path of a project's folder, where the gateway runs."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class ProjectScanView(ScanOutcome, ApiView):
    """The findings and changes of a scan; `stack` lists the project's technologies."""

    stack: tuple[str, ...] = ()
