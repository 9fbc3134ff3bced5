"""StreamSubscribers: the consoles that are shown what a team's models are saying while they say it.
Pure.

A console asks again every few seconds for as long as it looks; who stops asking is forgotten, so
nobody is sent to a console that is gone, and without a console nothing is sent at all.
"""

from typing import Final

from agiraph.core.ids import AgentId

LEASE_SECONDS: Final = 10.0
MOST: Final = 64


class StreamSubscribers:
    """Who listens to which agent, and until when. The caller hands in the time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._until: dict[tuple[AgentId, str], float] = {}

    def listen(self, agent: AgentId, address: str, now: float) -> None:
        """Let `address` hear the agent for LEASE_SECONDS more."""
        self._until.pop((agent, address), None)
        self._until[(agent, address)] = now + LEASE_SECONDS
        if len(self._until) > MOST:
            self._until.pop(next(iter(self._until)))

    def of(self, agent: AgentId | None, now: float) -> list[str]:
        """Return the addresses that listen to an agent now."""
        if not self._until:
            return []
        self._until = {key: until for key, until in self._until.items() if until > now}
        return [address for listened, address in self._until if listened == agent]
