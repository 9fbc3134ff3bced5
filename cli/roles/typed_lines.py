"""TypedLines: the input at the prompt of a shell, with completion and a permanent history."""

import contextlib
import json
import os
import readline
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agiraph.core.json_text import parse_json
from agiraph.storage.files import read_text, replace_bytes

MOST_LINES: Final = 1000
MOST_BYTES: Final = 16_000_000
LONGEST_LINE: Final = 10_000
"""Longer lines are not stored in the history."""
PRIVATE: Final = 0o600

Complete = Callable[[str, str], list[str]]
"""Returns the completions of the last word of a line, given the line before it, and the word."""


class TypedLines:
    """Reads one line after the other from stdin; on a terminal with a history and completion.

    The history is in the file `history`, a JSON text in each line, of this user alone; without a
    file it ends with the process.
    """

    def __init__(self, prompt: str, complete: Complete, history: Path | None) -> None:
        self._prompt = prompt
        self._complete = complete
        self._history = history
        self._is_typed = sys.stdin.isatty()
        self._found: list[str] = []
        if self._is_typed:
            self._prepare()

    def next(self) -> str:
        """Return the next line without surrounding spaces. Raises EOFError at the end."""
        line = input(self._prompt if self._is_typed else "").strip()
        if line and self._is_typed and self._history is not None:
            add_to_history(self._history, line)
        return line

    def _prepare(self) -> None:
        readline.clear_history()
        for line in [] if self._history is None else read_history(self._history):
            readline.add_history(line)
        readline.set_completer(self._completed)
        readline.set_completer_delims(" ")
        is_libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def _completed(self, word: str, state: int) -> str | None:
        if state == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            self._found = self._complete(before, word)
        return self._found[state] if state < len(self._found) else None


def add_to_history(path: Path, line: str) -> None:
    """Append a line to a history file, to which other shells also append."""
    kept = read_history(path)
    if len(line) > LONGEST_LINE or kept[-1:] == [line]:
        return
    texts = map(json.dumps, (*kept, line)[-MOST_LINES:])
    with contextlib.suppress(OSError):  # a full disk: the line is executed all the same
        data = "".join(f"{text}\n" for text in texts).encode()
        replace_bytes(path, data, PRIVATE, is_synced=False)


def read_history(path: Path) -> list[str]:
    """Return the lines of a history, without invalid ones; [] if there is no file."""
    try:
        texts = read_text(path, MOST_BYTES).splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            line = parse_json(text)
            found += [line] if isinstance(line, str) and "\0" not in line else []
    return found


def files_like(word: str) -> list[str]:
    """Return the files and folders (with a `/`) whose path begins with a word."""
    head, tail = os.path.split(word)
    try:
        with os.scandir(os.path.expanduser(head) or ".") as found:  # plain: the person's
            names = [f"{one.name}/" if one.is_dir() else one.name for one in found]
    except OSError:
        return []
    is_shown = tail.startswith(".")
    like = [one for one in names if one.startswith(tail) and (is_shown or one[0] != ".")]
    return [os.path.join(head, name) for name in sorted(like)]
