"""The context database: what earlier work has taught, searched, shown, added to and removed."""

from typing import Annotated

from pydantic import Field, StringConstraints

from agiraph.context.records import (
    ContextHit,
    ContextKind,
    ContextNeighbor,
    ContextNode,
    ContextPage,
    ContextPruned,
    ContextStats,
    ScanOutcome,
)
from agiraph.context.remembered import RememberedSpec
from agiraph.core.ids import AgentId
from agiraph.http.api.base import ApiRequest, ApiView

LONGEST_QUERY = 2000
Path = Annotated[str, StringConstraints(max_length=4096)]


class SearchContextRequest(ApiRequest):
    """POST /context/search: words, of which the nodes may hold some.

    `project` is a project's id or the path of its folder: its nodes come first, and none of other
    projects.
    """

    query: str = Field(min_length=1, max_length=LONGEST_QUERY)
    kinds: tuple[ContextKind, ...] = ()
    project: Path = ""
    limit: int = Field(default=20, ge=1, le=200)


class ContextHitView(ContextHit, ApiView):
    """A node that a search has found; a higher `score` fits better."""


class ContextPageView(ContextPage, ApiView):
    """GET /context: nodes, the one that was changed last first; pass `next` as `after`."""


class ContextNodeView(ApiView):
    """GET /context/nodes/{id}: a node, and the nodes at the other ends of its edges."""

    node: ContextNode
    neighbors: tuple[ContextNeighbor, ...] = ()


class ContextStatsView(ContextStats, ApiView):
    """GET /context/stats: what the database holds."""


class AddContextRequest(RememberedSpec, ApiRequest):
    """POST /context: something that a person knows. `project` as in a search, '' for all."""

    project: Path = ""


class PruneContextRequest(ApiRequest):
    """POST /context/prune: remove what is old and worth little.

    Of nodes of other kinds than `keep` those that were neither changed nor used for
    `older_than_seconds` and are worth less than `below` (0 to 1). With `dry_run` nothing is
    removed, and the answer says what would be.
    """

    older_than_seconds: float = Field(ge=0, allow_inf_nan=False)
    below: float = Field(default=1.0, ge=0, le=1)
    keep: tuple[ContextKind, ...] = ()
    dry_run: bool = True


class ContextPrunedView(ContextPruned, ApiView):
    """What was pruned or, after a dry run, would be."""

    nodes_pruned: int
    is_dry_run: bool


class ForgetContextRequest(ApiRequest):
    """POST /context/forget: remove these nodes, and all that came from an agent or of a project."""

    ids: tuple[str, ...] = Field(default=(), max_length=1000)
    agent: AgentId | None = None
    project: Path = ""


class ForgottenView(ApiView):
    """How many nodes were removed, with their edges."""

    removed: int


class ScanProjectRequest(ApiRequest):
    """POST /context/scan: the absolute path of a project's folder, where the gateway runs."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class ProjectScanView(ScanOutcome, ApiView):
    """What a scan has found and changed; `stack` is what the project is built with."""

    stack: tuple[str, ...] = ()
