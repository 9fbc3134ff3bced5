"""EventSubscribers: all who follow one agent's events live; each event is encoded once for all of
them.

A follower that has read the log to its end joins, and is from then on written to without a task of
its own being woken. One whose connection does not take what it is sent is let out with its cursor:
it goes on by itself, from the log, and joins again when it has caught up (`followers.py`).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from actors.recorder.event_log import EventLog
from agiraph.core.event_filter import EventFilter
from agiraph.core.models import Event

PAGE = 200
TEXT_FRAME = 0x81
SHORT = 126
LONG = 1 << 16


class FrameWriter(Protocol):
    """A WebSocket connection to which whole frames can be written without waiting."""

    @property
    def takes_more(self) -> bool:
        """Whether its client is there and has taken what it was sent."""
        ...

    def write(self, frames: bytes) -> None:
        """Write frames as they are."""
        ...


@dataclass(eq=False, slots=True)
class EventSubscriber:
    """One follower at the log's end; `cursor` is the last event that it was sent."""

    frames: FrameWriter
    cursor: int
    wanted: EventFilter
    is_out: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """One event as it goes out."""

    event: Event
    frame: bytes


class EventSubscribers:
    """The members of one agent's audience."""

    def __init__(self, log: EventLog) -> None:
        """Show what `log` holds."""
        self._log = log
        self._cursor = 0
        self._members: set[EventSubscriber] = set()
        self._is_called = False

    def ring(self) -> None:
        """Show what is new, soon: what rings together is shown together."""
        if self._members and not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._show_soon)

    def join(self, member: EventSubscriber) -> bool:
        """Take in a member; False if it has not read as far as the others."""
        if not self._members:
            self._cursor = member.cursor
        if member.cursor < self._cursor:
            return False
        self._members.add(member)
        return True

    def leave(self, member: EventSubscriber) -> None:
        """Let a member go."""
        self._members.discard(member)

    def dismiss(self) -> None:
        """Let all members out: each looks for itself why."""
        for member in self._members:
            member.is_out.set()
        self._members.clear()

    def show(self) -> None:
        """Write what the log has after the cursor to every member."""
        while self._members:
            base = self._cursor
            events = self._log.page(base, PAGE)
            if not events:
                return
            cuts = [
                EncodedEvent(event, text_frame(event.model_dump_json().encode()))
                for event in events
            ]
            self._cursor = events[-1].seq
            self._write(base, cuts)

    def _show_soon(self) -> None:
        self._is_called = False
        try:
            self.show()
        except Exception:  # whoever reads the log by itself meets the same, and can tell it
            self.dismiss()

    def _write(self, base: int, cuts: Sequence[EncodedEvent]) -> None:
        joined: dict[tuple[EventFilter, int], bytes] = {}
        for member in list(self._members):
            if not member.frames.takes_more:
                self._members.discard(member)
                member.is_out.set()
                continue
            key = (member.wanted, max(member.cursor, base))
            if key not in joined:
                joined[key] = b"".join(
                    cut.frame
                    for cut in cuts
                    if cut.event.seq > key[1] and member.wanted.takes(cut.event)
                )
            if joined[key]:
                member.frames.write(joined[key])
            member.cursor = self._cursor


def text_frame(text: bytes) -> bytes:
    """Return a text as a server's WebSocket frame (RFC 6455, section 5.2)."""
    size = len(text)
    if size < SHORT:
        head = bytes((TEXT_FRAME, size))
    elif size < LONG:
        head = bytes((TEXT_FRAME, SHORT)) + size.to_bytes(2, "big")
    else:
        head = bytes((TEXT_FRAME, SHORT + 1)) + size.to_bytes(8, "big")
    return head + text
