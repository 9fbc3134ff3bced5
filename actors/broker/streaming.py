"""Streamed text on its way: gathered for its asker, and sent to those who show it to people."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import AgentId, agent_of
from agiraph.messages.model import StreamDelta

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
            self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._flush)

    def end(self) -> str:
        """Stop sending, and return what waits: who asked has it from the answer itself."""
        self._stop_timer()
        text, self._waiting = "".join(self._waiting), []
        return text

    def _flush(self) -> None:
        if text := self.end():
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
    """Who shows what a team's models stream, each for LEASE_SECONDS. Pure.

    A console, or the gateway for its pages, subscribes again every few seconds while it shows an
    agent, so nothing is sent to one that is gone, and nothing at all without one.
    """

    def __init__(self) -> None:
        self._until: dict[tuple[AgentId, str], float] = {}

    def subscribe(self, agent: AgentId, address: str, now: float) -> bool:
        """Subscribe `address` to an agent for LEASE_SECONDS more; return whether it was not."""
        until = self._until.pop((agent, address), now)
        self._until[(agent, address)] = now + LEASE_SECONDS
        if len(self._until) > MOST:
            self._until.pop(next(iter(self._until)))
        return until <= now

    def addresses(self, agent: AgentId | None, now: float) -> list[str]:
        """Return the addresses that are subscribed to an agent now."""
        if not self._until:
            return []
        self._until = {key: until for key, until in self._until.items() if until > now}
        return [address for subscribed, address in self._until if subscribed == agent]


KEPT_CHARACTERS: Final = 1 << 16
KEPT_CALLS: Final = 256


class StreamedTexts:
    """What the calls that are not over have streamed so far, for those who come late. Pure.

    Of each call the last KEPT_CHARACTERS, of the last KEPT_CALLS that have streamed something.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, bytes], StreamDelta] = {}

    def place(self, delta: StreamDelta) -> StreamDelta:
        """Add a piece; return it with the place in its answer where its text stands."""
        key = (delta.entity, delta.call)
        before = self._texts.pop(key, None)
        if before is None or delta.restarted:
            before = StreamDelta(entity=delta.entity, call=delta.call)
        end = before.at + len(before.text)
        if not delta.is_end:
            text = (before.text + delta.text)[-KEPT_CHARACTERS:]
            at = end + len(delta.text) - len(text)
            self._texts[key] = before.model_copy(update={"text": text, "at": at})
            if len(self._texts) > KEPT_CALLS:
                self._texts.pop(next(iter(self._texts)))
        return delta.model_copy(update={"at": end})

    def of(self, agent: AgentId) -> list[StreamDelta]:
        """Return what an agent's calls have streamed so far."""
        return [one for one in self._texts.values() if one.text and agent_of(one.entity) == agent]

    def forget(self, entity: str) -> None:
        """Drop what an entity that is gone was writing."""
        self._texts = {key: text for key, text in self._texts.items() if key[0] != entity}
