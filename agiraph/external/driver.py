"""Driver: how an outside agent is spoken with, without a process or a clock in it.

A driver is made anew for every start. It is handed the bytes that the agent wrote to stdout and
says what they mean; it says which bytes to write to stdin for what the worker wants to tell it.
What it starts with (arguments, environment) stands in its preset.
"""

from typing import Protocol

from agiraph.external.agent_events import Happening


class Driver(Protocol):
    """One start of an outside agent, as a protocol without input or output."""

    @property
    def is_two_way(self) -> bool:
        """Whether it can be told things on stdin while it works; else stdin is closed at once."""
        ...

    @property
    def hears_in_turn(self) -> bool:
        """Whether what it is told reaches it in the middle of a turn, not only at the next one."""
        ...

    def opening(self) -> bytes:
        """Return what is written to stdin first (of one that is not two-way: all there is)."""
        ...

    def take(self, data: bytes) -> list[Happening]:
        """Return what the next bytes of its stdout tell; b"" says that no more will come."""
        ...

    def say(self, text: str) -> bytes | None:
        """Return what tells it something while it works; None if it cannot be told."""
        ...

    def interrupt(self) -> bytes | None:
        """Return what makes it stop what it does and listen; None if nothing does."""
        ...

    def answer(self, request: str, refusal: str) -> bytes:
        """Return what answers `PermissionRequested`: '' allows it, anything else is why
        it may not."""
        ...

    def verdict(self, exit_code: int, complaint: str) -> str:
        """Return why the ended process has failed, '' if it has not.

        `exit_code` is negative for a signal; `complaint` is the end of its stderr.
        """
        ...
