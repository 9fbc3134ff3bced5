"""Streamed text: collected for the caller of the model, and sent to the viewers of an agent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import AgentId, agent_of
from agiraph.messages.model import StreamDelta

GATHER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text; `restarted` means that all earlier text is void."""

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
        """Stop sending; return the unsent text, which the caller receives with the answer."""
        self._stop_timer()
        text, self._waiting = "".join(self._waiting), []
        return text

    def _flush(self) -> None:
        if text := self.end():
            self._has_sent = True
            self._send(TextDelta(text))

    def restart(self) -> None:
        """Discard the unsent text, and report that the sent text is void."""
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
    """The subscribers to the streamed text of each team, each for LEASE_SECONDS. Pure.

    A console, or the gateway for its pages, subscribes again every few seconds while it shows an
    agent, so nothing is sent to a closed console, and nothing at all without subscribers.
    """

    def __init__(self) -> None:
        self._until: dict[tuple[AgentId, str], float] = {}

    def subscribe(self, agent: AgentId, address: str, now: float) -> bool:
        """Subscribe `address` for LEASE_SECONDS more; return whether the subscription is new."""
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
    """The streamed text of the unfinished calls, for subscribers that join later. Pure.

    Keeps the last KEPT_CHARACTERS of each call, for the last KEPT_CALLS that have streamed text.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, bytes], StreamDelta] = {}

    def place(self, delta: StreamDelta) -> StreamDelta:
        """Add a piece; return it with its position in the text of its answer."""
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
        """Return the streamed text of each unfinished call of an agent."""
        return [one for one in self._texts.values() if one.text and agent_of(one.entity) == agent]

    def forget(self, entity: str) -> None:
        """Discard the text of an entity that has exited."""
        self._texts = {key: text for key, text in self._texts.items() if key[0] != entity}
