"""Streamed text on its way: gathered for its asker, and sent to the consoles that show it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import AgentId

GATHER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some text; `restarted` means that all before it is void."""

    text: str
    restarted: bool = False


class DeltaBuffer:
    """Collects text and sends it with `send` at most every GATHER_SECONDS."""

    def __init__(self, send: Callable[[TextDelta], None]) -> None:
        self._send = send
        self._waiting: list[str] = []
        self._has_sent = False
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Add a piece of text."""
        self._waiting.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what waits, now; called last at the end of a call."""
        self._stop_timer()
        if self._waiting:
            text, self._waiting = "".join(self._waiting), []
            self._has_sent = True
            self._send(TextDelta(text))

    def restart(self) -> None:
        """Drop what waits, and report that what was sent is void."""
        self._stop_timer()
        self._waiting.clear()
        if self._has_sent:
            self._has_sent = False
            self._send(TextDelta("", restarted=True))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


LEASE_SECONDS: Final = 10.0
MOST: Final = 64


class StreamSubscribers:
    """The consoles that show what a team's models stream, each for LEASE_SECONDS. Pure.

    A console subscribes again every few seconds while it shows an agent, so nothing is sent to a
    console that is gone, and nothing at all without one.
    """

    def __init__(self) -> None:
        self._until: dict[tuple[AgentId, str], float] = {}

    def subscribe(self, agent: AgentId, address: str, now: float) -> None:
        """Subscribe `address` to an agent for LEASE_SECONDS more."""
        self._until.pop((agent, address), None)
        self._until[(agent, address)] = now + LEASE_SECONDS
        if len(self._until) > MOST:
            self._until.pop(next(iter(self._until)))

    def addresses(self, agent: AgentId | None, now: float) -> list[str]:
        """Return the addresses that are subscribed to an agent now."""
        if not self._until:
            return []
        self._until = {key: until for key, until in self._until.items() if until > now}
        return [address for subscribed, address in self._until if subscribed == agent]
