"""Roster: the workers of the team that an entity knows, so that a name is resolved locally.

The coordinator builds its own roster from the board and sends it to the workers that have a process
when the team changes. A worker also gets it with each assignment, stores it, and requests it at its
start with a message that wakes no parked coordinator. If a name is still unknown, the worker
requests the roster when it needs the name.
"""

from collections.abc import Awaitable, Callable

from agiraph.core.ids import Address, AgentId, slug, worker_address
from agiraph.core.models import TeamRoster

Fetch = Callable[[], Awaitable[TeamRoster]]


class Roster:
    """The addresses of a team's workers; `fetch` asks the coordinator (None: in its process)."""

    def __init__(self, agent: AgentId, fetch: Fetch | None = None) -> None:
        self._agent = agent
        self._fetch = fetch
        self.current = TeamRoster()

    def update(self, roster: TeamRoster) -> None:
        """Replace the current roster, unless it is newer."""
        if roster.version >= self.current.version:
            self.current = roster

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.current.members]

    def find(self, named: str) -> Address | None:
        """Return the address of the worker of this name or id, None if it is not known."""
        for wanted in (named, slug(named)):
            for member in self.current.members:
                if wanted in (member.name, member.id):
                    return worker_address(self._agent, member.id)
        return None

    async def find_anywhere(self, named: str) -> Address | None:
        """Like `find`, but ask the coordinator once about a name that is not known."""
        known = self.find(named)
        if known is None and self._fetch is not None:
            self.update(await self._fetch())
            known = self.find(named)
        return known

    async def everyone(self) -> list[tuple[str, Address]]:
        """Return (name, address) of all workers, after asking the coordinator for the roster."""
        if self._fetch is not None:
            self.update(await self._fetch())
        members = self.current.members
        return [(member.name, worker_address(self._agent, member.id)) for member in members]
