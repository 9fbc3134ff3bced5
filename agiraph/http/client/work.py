"""Calls about the work of a run: its board, its nodes, its workers, its events.

The run is the one that is named, by default the agent's current one; 404 lists the known.
"""

from collections.abc import Sequence

from agiraph.http.api import BoardView, EventPageView, NodeDetailView, WorkerView
from agiraph.http.client.call import ApiCall, ApiMethod, get, named, of_agent


class WorkCalls:
    """What a run does."""

    @ApiMethod
    def board(
        self, agent: str, *, at: int | None = None, run: str | None = None
    ) -> ApiCall[BoardView]:
        """Return the nodes and stages of a run, as they are or as they were at an earlier `seq`."""
        return get(of_agent(agent, "board"), BoardView, named(at=at, run=run))

    @ApiMethod
    def node(self, agent: str, node: str, *, run: str | None = None) -> ApiCall[NodeDetailView]:
        """Return one node, by id or name."""
        return get(of_agent(agent, "board", node), NodeDetailView, named(run=run))

    @ApiMethod
    def workers(self, agent: str, *, run: str | None = None) -> ApiCall[list[WorkerView]]:
        """Return the workers of a run, with what they do right now."""
        return get(of_agent(agent, "workers"), list[WorkerView], named(run=run))

    @ApiMethod
    def events(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> ApiCall[EventPageView]:
        """Return the events after cursor `after`, at most `limit`; `.next` is the next cursor.

        `types` (such as `node.*`), `entity` (a name, an id or an address) and `node` (a name or an
        id) narrow them. `.next` is `after` again when nothing follows.
        """
        query = named(after=after, limit=limit, type=list(types), entity=entity, node=node)
        return get(of_agent(agent, "events"), EventPageView, query)
