"""What other processes tell of all entities: the table, the mailboxes, the money.

Each is asked for once for all who want it at the same time (`together.py`): a crowd that looks at a
home costs the supervisor, the router and the broker no more than one who looks all the time.
"""

from collections.abc import Awaitable, Callable

from actors.human.line import Line, ask_for
from actors.human.together import Together
from agiraph.api import ApiError, EntityRow
from agiraph.ids import BROKER, ROUTER, SUPERVISOR
from agiraph.messages import (
    AskDepths,
    AskUsage,
    ChildInfo,
    ChildTable,
    Depths,
    ListChildren,
    UsageTable,
)
from agiraph.turns import Usage

Rows = tuple[EntityRow, ...]

TABLE_SECONDS = 5.0
EXTRA_SECONDS = 1.0


class Census:
    """Asks for all who want to know."""

    def __init__(self, line: Line) -> None:
        """Ask over `line`."""
        self._line = line
        self._table = Together(self._ask_table)
        self._depths = Together(self._ask_depths)
        self._usage = Together(self._ask_usage)
        self._rows: Together[Rows] | None = None

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
            self._rows = Together(make, per_second=None)  # what it is made of has its pace
        return await self._rows.get()

    async def _ask_table(self) -> tuple[ChildInfo, ...]:
        told = await ask_for(
            self._line, SUPERVISOR, ListChildren(), ChildTable, within_seconds=TABLE_SECONDS
        )
        return told.children

    async def _ask_depths(self) -> dict[str, tuple[int, int]]:
        try:
            told = await ask_for(
                self._line, ROUTER, AskDepths(), Depths, within_seconds=EXTRA_SECONDS
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
