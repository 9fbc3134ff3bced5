"""Text of models, files and people, made safe and short enough to show on a terminal.

A model's text may have escape sequences that move the cursor, rewrite earlier lines or set the
clipboard: all are removed. Characters that would make a line look like another are visible.
"""

import os
import re
import textwrap
import unicodedata
from contextlib import suppress
from typing import TextIO

from agiraph.core.errors import InvalidInput
from agiraph.core.naming import on_one_line, with_unseen_shown

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.S)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

ELLIPSIS = "…"


def printable(text: str) -> str:
    """Return `text` without control characters and escape sequences; newlines and tabs stay.

    Invisible characters, and characters that reverse the order of others, are shown as `⟨U+202E⟩`.
    """
    text = text.replace("\r\n", "\n")
    text = with_unseen_shown(_CONTROLS.sub("", _ESCAPES.sub("", text)))
    return text.encode("utf-8", "replace").decode()


def require_utf8(text: str, what: str) -> None:
    """Raise InvalidInput for a text from outside (an argument, a path) that is not UTF-8.

    Python represents each invalid byte as a lone surrogate, which JSON cannot contain.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = one_line(os.fsencode(text).decode("utf-8", "backslashreplace"), 200)
        byte = len(text[: error.start].encode())
        raise InvalidInput(f"{what}: '{shown}' is not UTF-8 text (byte {byte})") from None


def one_line(text: str, limit: int | None = None) -> str:
    """Return `text` as one printable line of at most `limit` characters; line ends are `⏎`."""
    line = on_one_line(printable(text))
    if limit is None or len(line) <= limit:
        return line
    return line[: max(limit - 1, 0)].rstrip() + ELLIPSIS


def in_lines(text: str, width: int, indent: int = 0) -> list[str]:
    """Return `text` in lines of at most `width`, broken between words; [""] for an empty text.

    The first line has room for `indent` characters before it, the others begin with as many spaces.
    A word that is longer than a line stays whole, to be copied.
    """
    margin = " " * indent
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [lines[0][indent:], *lines[1:]] if lines else [""]


def broken_for(out: TextIO, text: str, indent: int = 0) -> str:
    """Return `text` with every line but the first indented by `indent` characters.

    If `out` is a terminal, lines are broken as by `in_lines`.
    """
    lines = text.split("\n")
    with suppress(OSError, ValueError):  # not a terminal, not a file
        columns = os.get_terminal_size(out.fileno()).columns
        lines = ["\n".join(in_lines(line, columns, indent)) for line in lines]
    return ("\n" + " " * indent).join(lines)


def cells(text: str) -> int:
    """Return how many cells of a terminal a printable text occupies: some characters occupy two."""
    return sum(map(_cells_of, text))


def fitted(text: str, room: int) -> str:
    """Return `text` as one printable line of at most `room` cells of a terminal."""
    return cut(one_line(text), room)


def cut(line: str, room: int) -> str:
    """Return the beginning of a printable line in at most `room` cells of a terminal."""
    if cells(line) <= room:
        return line
    kept, left = 0, room - 1
    for character in line:
        left -= _cells_of(character)
        if left < 0:
            break
        kept += 1
    return line[:kept].rstrip() + ELLIPSIS if room > 0 else ""


def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
