"""What other processes tell of all entities: the table, the mailboxes, the money.

Each is asked for once for all who want it at the same time (`together.py`): a crowd that looks at a
home costs the supervisor, the router and the broker no more than one who looks all the time.
"""

from collections.abc import Awaitable, Callable

from actors.gateway.bus_client import BusClient, ask_for
from actors.gateway.single_flight import SingleFlight
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

Rows = tuple[EntityView, ...]

TABLE_SECONDS = 5.0
EXTRA_SECONDS = 1.0


class ProcessOverview:
    """Asks for all who want to know."""

    def __init__(self, line: BusClient) -> None:
        """Ask over `line`."""
        self._line = line
        self._table = SingleFlight(self._ask_table)
        self._depths = SingleFlight(self._ask_depths)
        self._usage = SingleFlight(self._ask_usage)
        self._rows: SingleFlight[Rows] | None = None

    async def children(self) -> tuple[ChildInfo, ...]:
        """Return the supervisor's table; raise ApiError 503 or 504 if it does not answer."""
        return await self._table.get()

    async def depths(self) -> dict[str, tuple[int, int]]:
        """Return each mailbox's messages and bytes by address, none while nobody tells."""
        return await self._depths.get()

    async def usage(self) -> dict[str, Usage]:
        """Return what each entity has used, by address, none while nobody tells."""
        return await self._usage.get()

    async def rows(self, make: Callable[[], Awaitable[Rows]]) -> Rows:
        """Return the rows of `ps`, made by `make` for all who want them now."""
        if self._rows is None:
            self._rows = SingleFlight(make, per_second=None)  # what it is made of has its pace
        return await self._rows.get()

    async def _ask_table(self) -> tuple[ChildInfo, ...]:
        told = await ask_for(
            self._line, SUPERVISOR, ListChildren(), ChildTable, within_seconds=TABLE_SECONDS
        )
        return told.children

    async def _ask_depths(self) -> dict[str, tuple[int, int]]:
        try:
            told = await ask_for(
                self._line, ROUTER, AskMailboxDepths(), MailboxDepths, within_seconds=EXTRA_SECONDS
            )
        except ApiError:
            return {}
        return told.depths

    async def _ask_usage(self) -> dict[str, Usage]:
        try:
            told = await ask_for(
                self._line, BROKER, AskUsage(), UsageTable, within_seconds=EXTRA_SECONDS
            )
        except ApiError:
            return {}
        return told.by_entity
