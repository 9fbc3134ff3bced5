"""What `top` asks of the API: the rows, and orders for one entity."""

from collections.abc import Callable
from typing import Protocol

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.http.api import EntityAct, EntityView, SteeredView
from agiraph.http.client import Client
from cli.console.client_thread import ClientThread


class TopFeed(Protocol):
    """What the screen of `top` needs; tests bring their own."""

    async def rows(self) -> list[EntityView]:
        """Return all entities. Raises ApiError, NotReachable."""
        ...

    async def order(self, address: str, act: EntityAct) -> SteeredView:
        """Pause, resume, stop or kill an entity. Raises ApiError, NotReachable."""
        ...

    async def interrupt(self, address: str, text: str) -> None:
        """Cancel what it is doing and tell it this. Raises ApiError, NotReachable."""
        ...

    def close(self) -> None:
        """Let connections go."""
        ...


class ApiTopFeed:
    """The feed of a home that runs."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        """Ask through clients that `connect` makes. Raises NotReachable."""
        self._eyes, self._hands = ClientThread(connect), ClientThread(connect)

    async def rows(self) -> list[EntityView]:
        """Return all entities."""
        return await self._eyes.ask(lambda client: client.entities())

    async def order(self, address: str, act: EntityAct) -> SteeredView:
        """Act on one entity."""
        return await self._hands.ask(lambda client: client.act(address, act))

    async def interrupt(self, address: str, text: str) -> None:
        """Send a text that cancels what is in flight."""
        agent, _, inner = address.partition("/")
        to = None if inner == COORDINATOR_NAME else inner
        await self._hands.ask(lambda client: client.send(agent, text, to=to, mode="interrupt"))

    def close(self) -> None:
        """Let both connections go."""
        self._eyes.close()
        self._hands.close()
