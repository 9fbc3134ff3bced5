"""ProcessOverview: what other processes know of all entities: the table, the mailboxes, the money.

Each is asked once for all who want to know at the same time, so that many who list the entities
cost the supervisor, the router and the broker no more than one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from actors.gateway.bus_client import ask_for
from actors.runtime.runtime import Runtime
from agiraph.core.ids import BROKER, ROUTER, SUPERVISOR
from agiraph.core.turns import Usage
from agiraph.http.api import ApiError, EntityView
from agiraph.messages import (
    AskMailboxDepths,
    AskUsage,
    ChildInfo,
    ChildTable,
    ListChildren,
    MailboxDepths,
    UsageTable,
)

Answer = TypeVar("Answer")
Rows = tuple[EntityView, ...]

TABLE_SECONDS = 5.0
EXTRA_SECONDS = 1.0


class SharedRequest(Generic[Answer]):
    """A request that is sent once for all who make it at the same time.

    No answer is older than its request: who comes while one is in flight waits for the next.
    """

    def __init__(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        self._ask = ask
        self._current: asyncio.Task[Answer] | None = None
        self._next: asyncio.Task[Answer] | None = None

    async def get(self) -> Answer:
        """Return an answer that was asked for after this call; raises what asking raised."""
        if self._next is None:
            self._next = asyncio.create_task(self._ask_after(self._current))
            self._next.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._next)

    async def _ask_after(self, before: "asyncio.Task[Answer] | None") -> Answer:
        if before is not None:
            await asyncio.wait([before])
        self._current, self._next = self._next, None
        return await self._ask()


class ProcessOverview:
    """Asks the supervisor, the router and the broker."""

    def __init__(self, bus: Runtime) -> None:
        self._bus = bus
        self._children = SharedRequest(self._ask_children)
        self._depths = SharedRequest(self._ask_depths)
        self._usage = SharedRequest(self._ask_usage)
        self._rows: SharedRequest[Rows] | None = None

    async def children(self) -> tuple[ChildInfo, ...]:
        """Return the supervisor's table; raise ApiError 503 or 504 if it does not answer."""
        return await self._children.get()

    async def depths(self) -> dict[str, tuple[int, int]]:
        """Return each mailbox's messages and bytes by address, none if the router is away."""
        return await self._depths.get()

    async def usage(self) -> dict[str, Usage]:
        """Return what each entity has used, by address, none if the broker is away."""
        return await self._usage.get()

    async def rows(self, make: Callable[[], Awaitable[Rows]]) -> Rows:
        """Return the rows of `ps`, made by `make` for all who want them now."""
        if self._rows is None:
            self._rows = SharedRequest(make)
        return await self._rows.get()

    async def _ask_children(self) -> tuple[ChildInfo, ...]:
        reply = await ask_for(
            self._bus, SUPERVISOR, ListChildren(), ChildTable, within_seconds=TABLE_SECONDS
        )
        return reply.children

    async def _ask_depths(self) -> dict[str, tuple[int, int]]:
        try:
            reply = await ask_for(
                self._bus, ROUTER, AskMailboxDepths(), MailboxDepths, within_seconds=EXTRA_SECONDS
            )
        except ApiError:
            return {}
        return reply.depths

    async def _ask_usage(self) -> dict[str, Usage]:
        try:
            reply = await ask_for(
                self._bus, BROKER, AskUsage(), UsageTable, within_seconds=EXTRA_SECONDS
            )
        except ApiError:
            return {}
        return reply.by_entity
