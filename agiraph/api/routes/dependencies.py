"""Dependencies of the endpoints: the gateway, an agent by its id or name, a cursor."""

from typing import Annotated

from fastapi import Depends, Query
from fastapi.requests import HTTPConnection

from agiraph.api.auth.credentials import Principal
from agiraph.api.auth.scopes import get_caller
from agiraph.api.call_cause import SCOPE_KEY, CallCause, new_cause
from agiraph.api.gateway import Gateway
from agiraph.core.models import Agent
from agiraph.storage.home import RunHome

MOST_PER_PAGE = 1000
LAST_CURSOR = 2**53


async def get_gateway(connection: HTTPConnection) -> Gateway:
    """Return the gateway object of the application."""
    gateway: Gateway = connection.app.state.gateway
    return gateway


GatewayDep = Annotated[Gateway, Depends(get_gateway)]


async def _cause(connection: HTTPConnection, gateway: GatewayDep) -> CallCause:
    """Return the cause of this call; calls with the same Idempotency-Key have the same cause."""
    known: CallCause | None = connection.scope.get(SCOPE_KEY)
    return known if known is not None else new_cause(gateway.clock.now())


CauseDep = Annotated[CallCause, Depends(_cause)]


CallerDep = Annotated[Principal, Depends(get_caller)]


async def _agent(agent: str, gateway: GatewayDep) -> Agent:
    """Return the agent that the path names by id or name; 404 lists the known agents."""
    return gateway.agents.find(agent)


AgentDep = Annotated[Agent, Depends(_agent)]


async def _run(agent: AgentDep, gateway: GatewayDep, run: str | None = None) -> RunHome | None:
    """Return the folder of the run that the query names, by default the current run."""
    return gateway.agents.run_of(agent, run)


RunDep = Annotated[RunHome | None, Depends(_run)]
After = Annotated[int, Query(ge=0, le=LAST_CURSOR)]
At = Annotated[
    int | None, Query(ge=0, le=LAST_CURSOR, description="The `seq` of an earlier board.")
]
Before = Annotated[
    int | None,
    Query(ge=0, le=LAST_CURSOR, description="Only what stands before; the last of it comes."),
]
Entity = Annotated[str | None, Query(description="Only what was said to or by this one.")]
Other = Annotated[str | None, Query(description="Only what was said by or to this one, too.")]
Search = Annotated[
    str, Query(max_length=200, description="Only what has these words in it, in capitals or not.")
]
Limit = Annotated[int, Query(ge=1, le=MOST_PER_PAGE)]
Offset = Annotated[int, Query(ge=0, le=LAST_CURSOR)]
