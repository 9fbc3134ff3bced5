"""Calls for the context database. A node is named by its id or the beginning of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agiraph.context.records import ContextKind
from agiraph.http import api
from agiraph.http.client.call import call

if TYPE_CHECKING:
    import httpx

SCAN_SECONDS = 300.0
EXPORT_SECONDS = 300.0


def _read_lines(response: "httpx.Response") -> list[str]:
    return [line for line in response.content.decode().split("\n") if line]


class ContextCalls:
    """The context database, with knowledge from earlier work."""

    @call("GET /context", names={"kinds": "kind"})
    def context(
        self,
        *,
        kinds: Sequence[ContextKind] = (),
        project: str = "",
        agent: str = "",
        after: str = "",
        limit: int = 50,
    ) -> api.ContextPageView:
        """Return nodes of the context database, page by page, the most recently changed first."""

    @call("GET /context/export", names={"kinds": "kind"}, seconds=EXPORT_SECONDS, reads=_read_lines)
    def export_context(self, *, kinds: Sequence[ContextKind] = (), project: str = "") -> list[str]:
        """Return the nodes, and the edges between them, each as a line of JSON."""

    @call("POST /context/search", is_repeatable=True)
    def search_context(self, asked: api.SearchContextRequest) -> list[api.ContextHitView]:
        """Return the nodes that match a query, the best first."""

    @call("GET /context/stats")
    def context_stats(self) -> api.ContextStatsView:
        """Return the contents of the context database in numbers."""

    @call("GET /context/nodes/{node}")
    def context_node(self, node: str) -> api.ContextNodeView:
        """Return a node and its neighbors; 404 if there is none, 409 if it could be several."""

    @call("POST /context")
    def add_context(self, what: api.AddContextRequest) -> api.ContextNodeView:
        """Add a node for later runs."""

    @call("DELETE /context/nodes/{node}")
    def remove_context(self, node: str, *, key: str | None = None) -> api.ForgottenView:
        """Remove a node with its edges, for good."""

    @call("POST /context/forget")
    def forget_context(self, what: api.ForgetContextRequest) -> api.ForgottenView:
        """Remove nodes, all of an agent or all of a project, for good."""

    @call("POST /context/prune")
    def prune_context(self, asked: api.PruneContextRequest) -> api.ContextPrunedView:
        """Remove old nodes of little value, or show which would be removed."""

    @call("POST /context/scan", seconds=SCAN_SECONDS)
    def scan_project(self, project: api.ScanProjectRequest) -> api.ProjectScanView:
        """Scan a project's folder and record the result."""
