"""Calls about processes, models, money and the gateway itself."""

from agiraph.api import (
    Acted,
    ConsoleTicket,
    EntityAct,
    EntityRow,
    Health,
    ModelsView,
    ToolServerView,
    UsageView,
)
from agiraph.client.call import LONG_SECONDS, Call, Verb, get, named, parts, post, reader
from agiraph.turns import UsageBy

SERVERS_SECONDS = 180.0


class EntityCalls:
    """The processes of a home, and what they cost."""

    @Verb
    def health(self) -> Call[Health]:
        """Return who answers: version, home, pid, number of agents and of open questions."""
        return get("/health", Health)

    @Verb
    def entities(self) -> Call[list[EntityRow]]:
        """Return every entity: the system's processes first, then agents and their workers."""
        return get("/entities", list[EntityRow])

    @Verb
    def act(self, entity: str, act: EntityAct) -> Call[Acted]:
        """Stop, kill, restart, pause or resume one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known.
        """
        path = "/".join(["/entities", *parts(entity), act])
        return post(path, None, Acted, timeout_seconds=LONG_SECONDS)

    @Verb
    def attach_console(self) -> Call[ConsoleTicket]:
        """Return a ticket with which a console process may join the bus."""
        return post("/consoles", None, ConsoleTicket)

    @Verb
    def models(self) -> Call[ModelsView]:
        """Return the providers, which of them are usable and why not, and the default model."""
        return get("/models", ModelsView)

    @Verb
    def servers(self, *, afresh: bool = False) -> Call[list[ToolServerView]]:
        """Return the servers of tools with what each offers and who may use it.

        As last found out; `afresh` asks them now, and so starts those that do not run.
        """
        query = named(afresh=afresh or None)
        seconds = SERVERS_SECONDS if afresh else None
        shape = reader(list[ToolServerView])
        return Call("GET", "/servers", shape, query=query, timeout_seconds=seconds)

    @Verb
    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageBy = "entity"
    ) -> Call[UsageView]:
        """Return tokens and money, of one agent's current run (`run`: of another) or of everything.

        `run="*"` is all runs of the agent. The rows are of an entity, node, model or day (of UTC).
        """
        return get("/usage", UsageView, named(agent=agent, run=run, by=by))
