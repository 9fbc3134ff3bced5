"""Calls for the knowledge database. A node is named by its id or the beginning of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agiraph.http import api
from agiraph.http.client.call import call
from agiraph.knowledge.records import KnowledgeKind

if TYPE_CHECKING:
    import httpx

SCAN_SECONDS = 300.0
EXPORT_SECONDS = 300.0


def _read_lines(response: "httpx.Response") -> list[str]:
    return [line for line in response.content.decode().split("\n") if line]


class KnowledgeCalls:
    """The knowledge database, with knowledge from earlier work."""

    @call("GET /knowledge", names={"kinds": "kind"})
    def knowledge(
        self,
        *,
        kinds: Sequence[KnowledgeKind] = (),
        project: str = "",
        agent: str = "",
        after: str = "",
        limit: int = 50,
    ) -> api.KnowledgePageView:
        """Return knowledge nodes, page by page, the most recently changed first."""

    @call(
        "GET /knowledge/export", names={"kinds": "kind"}, seconds=EXPORT_SECONDS, reads=_read_lines
    )
    def export_knowledge(
        self, *, kinds: Sequence[KnowledgeKind] = (), project: str = ""
    ) -> list[str]:
        """Return the nodes, and the edges between them, each as a line of JSON."""

    @call("POST /knowledge/search", is_repeatable=True)
    def search_knowledge(self, asked: api.SearchKnowledgeRequest) -> list[api.KnowledgeHitView]:
        """Return the nodes that match a query, the best first."""

    @call("GET /knowledge/stats")
    def knowledge_stats(self) -> api.KnowledgeStatsView:
        """Return the contents of the knowledge database in numbers."""

    @call("GET /knowledge/nodes/{node}")
    def knowledge_node(self, node: str) -> api.KnowledgeNodeView:
        """Return a node and its neighbors; 404 for an unknown node, 409 if several match."""

    @call("POST /knowledge")
    def add_knowledge(self, what: api.AddKnowledgeRequest) -> api.KnowledgeNodeView:
        """Add a node for later runs."""

    @call("DELETE /knowledge/nodes/{node}")
    def remove_knowledge(self, node: str, *, key: str | None = None) -> api.ForgottenView:
        """Remove a node with its edges, for good."""

    @call("POST /knowledge/forget")
    def forget_knowledge(self, what: api.ForgetKnowledgeRequest) -> api.ForgottenView:
        """Remove nodes, all of an agent or all of a project, for good."""

    @call("POST /knowledge/prune")
    def prune_knowledge(self, asked: api.PruneKnowledgeRequest) -> api.KnowledgePrunedView:
        """Remove old nodes of little value, or show which would be removed."""

    @call("POST /knowledge/scan", seconds=SCAN_SECONDS)
    def scan_project(self, project: api.ScanProjectRequest) -> api.ProjectScanView:
        """Scan a project's folder and record the result."""
