"""The typed client of the HTTP API: for the command line and for your own programs.

    with Client.for_home(default_home()) as client:
        agent = client.create_agent(CreateAgentRequest(goal="Sum up these notes", input="/data"))
        for event in client.follow_events(agent.id):
            ...

Agents, workers, nodes and entities are named by id or by name. Every method raises NotReachable
when no gateway answers (after a crash it is back within a second or two) and ApiError for a
refusal. `AsyncClient` has the same methods as coroutines.
"""

from typing import TYPE_CHECKING, Any

from agiraph.http.client.conversation import LATEST
from agiraph.http.discovery import read_gateway_address
from agiraph.http.errors import ApiError, NotReachable

if TYPE_CHECKING:
    from agiraph.http.client.asynchronous import AsyncClient
    from agiraph.http.client.sync import Client

__all__ = ["LATEST", "ApiError", "AsyncClient", "Client", "NotReachable", "read_gateway_address"]


def __getattr__(name: str) -> Any:
    """Import and return a client at its first use: each imports libraries of its own."""
    if name == "Client":
        from agiraph.http.client.sync import Client

        return Client
    if name == "AsyncClient":
        from agiraph.http.client.asynchronous import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
