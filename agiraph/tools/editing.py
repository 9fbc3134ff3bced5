"""Editing: replace exact texts in a file, all of them or none."""

import asyncio
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record
from agiraph.storage.files import is_folder, read_bytes, replace_bytes, status_of
from agiraph.tools.base import ToolParams, tool
from agiraph.tools.ports import ToolContext

COMPARED_LINES: Final = 20_000
"""In a longer file, no similar lines are searched."""
SHOWN_LINES: Final = 12
SHOWN_WIDTH: Final = 160
LISTED_PLACES: Final = 10
NEAR: Final = 0.6


class Edit(Record):
    """One replacement. `old` occurs once in the file, unless `all` is set."""

    old: str = Field(min_length=1, description="the exact text to replace, with its indentation")
    new: str = Field(description="the new text")
    all: bool = Field(default=False, description="replace every occurrence")


class EditFileParams(ToolParams):
    path: str = Field(description="the file")
    old: str = Field(default="", description="the exact text to replace, with its indentation")
    new: str = Field(default="", description="the new text")
    all: bool = Field(default=False, description="replace every occurrence of `old`")
    edits: tuple[Edit, ...] = Field(
        default=(), max_length=100, description="several edits, made in order, all or none"
    )

    def all_edits(self) -> tuple[Edit, ...]:
        """Return the edits in their order. Raises InvalidInput if there is none."""
        first = (Edit(old=self.old, new=self.new, all=self.all),) if self.old else ()
        if not (first or self.edits):
            raise InvalidInput("give the text to replace as `old`; write_file creates a file")
        return (*first, *self.edits)


@tool("Replace exact text in a file, without sending the whole file.")
async def edit_file(context: ToolContext, params: EditFileParams) -> str:
    """Apply all edits to a file in one step; readers see the old content or the new content."""
    path = context.scope.to_write(params.path)
    edits = params.all_edits()
    return await asyncio.to_thread(_edit, path, context.scope.shown(path), edits)


def _edit(path: Path, shown: str, edits: Sequence[Edit]) -> str:
    if is_folder(path):
        raise InvalidInput(f"'{shown}' is a folder")
    data = read_bytes(path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"'{shown}' is not UTF-8 text: change it with bash") from None
    changed, lines = edited(text, edits, shown)
    status = status_of(path)
    mode = 0o666 if status is None else status.st_mode & 0o777
    replace_bytes(path, changed.encode("utf-8", "replace"), mode | 0o600)
    return f"Edited {shown} at {_at(lines)}."


def edited(text: str, edits: Sequence[Edit], shown: str) -> tuple[str, list[int]]:
    """Return the text after all edits, and the line of each replacement when it was made.

    Raises InvalidInput for a text that is absent or ambiguous. `shown` names the file.
    """
    changed_at: list[int] = []
    for number, edit in enumerate(edits, start=1):
        places = _lines_of(text, edit.old)
        if len(places) == 1 or (places and edit.all):
            text = text.replace(edit.old, edit.new)
            changed_at += places
            continue
        which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        end = "; nothing was changed" if len(edits) > 1 else ""
        if places:
            raise InvalidInput(
                f"{which}`old` occurs {len(places)} times in '{shown}', at {_at(places)}: add "
                f"lines around it, or set `all`{end}"
            )
        raise InvalidInput(f"{which}`old` is not in '{shown}'{end}{_hint(text, edit.old)}")
    return text, changed_at


def _lines_of(text: str, old: str) -> list[int]:
    """Return the line number of each occurrence of `old` in a text."""
    found: list[int] = []
    line, last, place = 1, 0, text.find(old)
    while place >= 0:
        line += text.count("\n", last, place)
        found.append(line)
        last, place = place, text.find(old, place + len(old))
    return found


def _at(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:LISTED_PLACES]))
    more = f" and {len(lines) - LISTED_PLACES} more" if len(lines) > LISTED_PLACES else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"


def _hint(text: str, old: str) -> str:
    """Return why `old` is not in a text, or the most similar lines of the text."""
    if "\r\n" in text and "\r" not in old and old.replace("\n", "\r\n") in text:
        return ". The lines of this file end with \\r\\n"
    lines, wanted = text.splitlines(), old.splitlines()
    start = nearest(lines, wanted)
    if start is None:
        return ". No text in it is similar"
    part = lines[start : start + min(len(wanted), SHOWN_LINES)]
    shown = "\n".join(f"{start + n}: {line[:SHOWN_WIDTH]}" for n, line in enumerate(part, 1))
    return f". The nearest text (line number, colon, line):\n{shown}"


def nearest(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the index of the first of the lines that are most similar to `wanted`, else None."""
    if not lines or len(lines) > COMPARED_LINES:
        return None
    stripped = [line.strip() for line in lines]
    sought = [line.strip() for line in wanted[:SHOWN_LINES]]
    equal = [0] * len(lines)  # per start, the number of lines that differ only in white space
    for offset, line in enumerate(sought):
        if line:
            for index in range(offset, len(lines)):
                equal[index - offset] += stripped[index] == line
    best = max(range(len(lines)), key=equal.__getitem__)
    if equal[best]:
        return best
    first = next((index for index, line in enumerate(sought) if line), None)
    if first is None:
        return None
    line = sought[first][:SHOWN_WIDTH]
    close = difflib.get_close_matches(line, [one[:SHOWN_WIDTH] for one in stripped], 1, NEAR)
    if not close:
        return None
    found = next(index for index, one in enumerate(stripped) if one[:SHOWN_WIDTH] == close[0])
    return max(0, found - first)
