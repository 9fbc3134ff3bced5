"""The screen of a run: scrolling lines, and below them the progress.

On a terminal the bottom lines are rewritten in place, and become a prompt while a question waits
for the person's answer; new lines are held back meanwhile. Elsewhere there are only plain lines.
"""

import os
import select
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

import click

from cli.options.everywhere import is_quiet
from cli.sanitize import cells, cut, fitted, one_line, printable

if TYPE_CHECKING:
    from agiraph.core.event_types import Tone
    from cli.console.event_text import EventLine

WHO_WIDTH: Final = 14
CLEAR: Final = "\r\x1b[K"

_STYLES: "dict[Tone, Callable[[str], str]]" = {
    "plain": lambda text: text,
    "quiet": lambda text: click.style(text, dim=True),
    "good": lambda text: click.style(text, fg="green"),
    "bad": lambda text: click.style(text, fg="red"),
    "voice": lambda text: click.style(text, fg="cyan"),
    "ask": lambda text: click.style(text, fg="yellow", bold=True),
}


class TerminalScreen:
    """Writes to one stream; `is_live` says whether it is a terminal that a person watches.

    With -q it shows only questions and notes of errors.
    """

    def __init__(self, out: TextIO, *, is_live: bool) -> None:
        self._out = out
        self._is_live = is_live
        self._is_quiet = is_quiet()
        self._bottom: tuple[str, ...] = ()
        self._prompt: str | None = None
        self._held: list[str] = []
        self._is_unread = False

    def line(self, line: "EventLine") -> None:
        """Show an event."""
        if self._is_quiet:
            return
        name, text = one_line(line.who), printable(line.text)
        name += " " * (WHO_WIDTH - cells(name))
        if self._is_live and line.fits:
            text = fitted(text, self._room - cells(name) - 1)
        self._write(f"{click.style(name, bold=True)} {_STYLES[line.tone](text)}")

    def note(self, text: str, tone: "Tone" = "plain") -> None:
        """Show a line of the command itself."""
        if self._is_quiet and tone not in ("ask", "bad"):
            return
        self._write(_STYLES[tone](printable(text)))

    def status(self, text: str, table: Sequence[str] = ()) -> None:
        """Replace the bottom line and the table above it, cut at its top to fit."""
        if not self._is_live or self._is_quiet or self._prompt is not None:
            return
        rows = max(0, shutil.get_terminal_size().lines - 2)
        above = [cut(printable(line), self._room) for line in table][-rows:] if rows else []
        bottom = (*above, click.style(fitted(text, self._room), dim=True))
        if bottom != self._bottom:
            self._replace_bottom(bottom)

    def close(self) -> None:
        """Remove the bottom lines and show the held lines."""
        self.end_prompt()
        if self._bottom:
            self._replace_bottom(())

    # --- prompting ---

    @property
    def is_prompting(self) -> bool:
        """Whether a prompt waits for the person's input."""
        return self._prompt is not None

    def prompt(self, text: str) -> None:
        """Turn the bottom line into a prompt; see `typed`."""
        self._replace_bottom(())
        self._prompt = text
        self._put(CLEAR + text)

    def typed(self, within_seconds: float = 0) -> str | None:
        """Return the line that the person has typed, None if there is none by then.

        That ends the prompt. Raises EOFError when the person closed the input.
        """
        if self._prompt is None or not select.select([sys.stdin], [], [], within_seconds)[0]:
            return None
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError:
            self._put(f"{CLEAR}that was not UTF-8 text; {self._prompt}")
            return None
        if not line:
            self.end_prompt()
            raise EOFError
        if not line.strip():
            self._put(self._prompt)
            return None
        self.end_prompt()
        return line.strip()

    def end_prompt(self) -> None:
        """Remove the prompt and show the held lines."""
        if self._prompt is None:
            return
        self._prompt = None
        self._put(CLEAR)
        held, self._held = self._held, []
        for text in held:
            self._write(text)

    def _write(self, text: str) -> None:
        if self._prompt is not None:
            self._held.append(text)
            return
        if not self._is_live:
            self._put(click.unstyle(text) + "\n")
            return
        bottom = os.linesep.join(self._bottom)
        self._put(f"{self._clear}{text}{os.linesep}{bottom}")

    def _replace_bottom(self, bottom: tuple[str, ...]) -> None:
        self._put(self._clear + os.linesep.join(bottom))
        self._bottom = bottom

    @property
    def _clear(self) -> str:
        """The text that removes the bottom lines of the terminal; the cursor is in the last one."""
        above = len(self._bottom) - 1
        return CLEAR if above < 1 else f"\r\x1b[{above}A\x1b[J"

    @property
    def _room(self) -> int:
        """The usable cells of a line; the last one stays free, or some terminals break the line."""
        return shutil.get_terminal_size().columns - 1

    def _put(self, text: str) -> None:
        """Write a text; if the reader has exited (`| head -1`), discard it."""
        if self._is_unread:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            self._is_unread = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())  # plain: /dev/null


def can_prompt() -> bool:
    """Whether stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()
