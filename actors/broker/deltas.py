"""DeltaBuffer: streamed text on its way to the asker, gathered so that a token is not a message."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

GATHER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some text; `restarted` means that all before it is void."""

    text: str
    restarted: bool = False


class DeltaBuffer:
    """Gathers text and hands it on at most every GATHER_SECONDS."""

    def __init__(self, hand_on: Callable[[TextDelta], None]) -> None:
        """Hand text on to `hand_on`."""
        self._hand_on = hand_on
        self._waiting: list[str] = []
        self._has_sent = False
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Take a piece of text."""
        self._waiting.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.flush)

    def flush(self) -> None:
        """Hand on what waits, now; the last act of a call."""
        self._stop_timer()
        if self._waiting:
            text, self._waiting = "".join(self._waiting), []
            self._has_sent = True
            self._hand_on(TextDelta(text))

    def restart(self) -> None:
        """Forget what waits, and say that what was handed on is void."""
        self._stop_timer()
        self._waiting.clear()
        if self._has_sent:
            self._has_sent = False
            self._hand_on(TextDelta("", restarted=True))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
