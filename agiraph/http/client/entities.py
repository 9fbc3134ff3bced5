"""Calls about processes, models, money and the gateway itself."""

from agiraph.core.turns import UsageBy
from agiraph.http.api import (
    ConsoleTicketView,
    EntityAct,
    EntityView,
    HealthView,
    ModelsView,
    SteeredView,
    ToolServerView,
    UsageView,
)
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    get,
    named,
    parts,
    post,
    reader,
)

SERVERS_SECONDS = 180.0


class EntityCalls:
    """The processes of a home, and what they cost."""

    @ApiMethod
    def health(self) -> ApiCall[HealthView]:
        """Return who answers: version, home, pid, number of agents and of open questions."""
        return get("/health", HealthView)

    @ApiMethod
    def entities(self) -> ApiCall[list[EntityView]]:
        """Return every entity: the system's processes first, then agents and their workers."""
        return get("/entities", list[EntityView])

    @ApiMethod
    def act(self, entity: str, act: EntityAct) -> ApiCall[SteeredView]:
        """Stop, kill, restart, pause or resume one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known.
        """
        path = "/".join(["/entities", *parts(entity), act])
        return post(path, None, SteeredView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def attach_console(self) -> ApiCall[ConsoleTicketView]:
        """Return a ticket with which a console process may join the bus."""
        return post("/consoles", None, ConsoleTicketView)

    @ApiMethod
    def models(self) -> ApiCall[ModelsView]:
        """Return the providers, which of them are usable and why not, and the default model."""
        return get("/models", ModelsView)

    @ApiMethod
    def servers(self, *, afresh: bool = False) -> ApiCall[list[ToolServerView]]:
        """Return the servers of tools with what each offers and who may use it.

        As last found out; `afresh` asks them now, and so starts those that do not run.
        """
        query = named(afresh=afresh or None)
        seconds = SERVERS_SECONDS if afresh else None
        shape = reader(list[ToolServerView])
        return ApiCall("GET", "/servers", shape, query=query, timeout_seconds=seconds)

    @ApiMethod
    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageBy = "entity"
    ) -> ApiCall[UsageView]:
        """Return tokens and money, of one agent's current run (`run`: of another) or of everything.

        `run="*"` is all runs of the agent. The rows are of an entity, node, model or day (of UTC).
        """
        return get("/usage", UsageView, named(agent=agent, run=run, by=by))
