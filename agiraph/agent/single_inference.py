"""Single inference: the material of a model that has one answer and no tools, and its headline.

It cannot read anything, so the files of its refs are in the assignment itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agiraph.storage.files import MOST_BYTES, files_below, is_file, is_folder, read_part

ANSWER_FILE = "answer.md"
HEADLINE_CHARACTERS = 1200
NO_ANSWER = "the model gave no answer in its one call (it has no tools: it can only write text)"
CUT_OFF = "the end of the answer: it was cut off at the longest answer that is asked of a model"


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One published file as it is shown to the model."""

    ref: str
    name: str
    text: str


def shown_refs(run: Path, refs: Mapping[str, str], limit: int) -> tuple[ShownFile, ...]:
    """Return the files that refs (name to path under `run`) lead to, `limit` characters in all.

    A note takes the place of what is left out.
    """
    shown: list[ShownFile] = []
    room = limit
    for ref, path in sorted(refs.items()):
        for file in _files(run / path):
            text = _cut(file, room)
            room = max(0, room - len(text))
            shown.append(ShownFile(ref, str(file.relative_to(run)), text))
    return tuple(shown)


def _files(path: Path) -> list[Path]:
    """Return a file, or the files below a folder; links are not followed."""
    if is_file(path):
        return [path]
    return [path / file for file, _ in files_below(path)] if is_folder(path) else []


def _cut(file: Path, room: int) -> str:
    data, size = read_part(file, 0, MOST_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"[not text: {size} bytes]"
    if len(text) <= room:
        return text.strip()
    return f"{text[:room].strip()}\n[cut: {room} of {len(text)} characters are shown]"


def headline(answer: str) -> str:
    """Return what the coordinator is shown of an answer: all of it, if it is not long."""
    if len(answer) <= HEADLINE_CHARACTERS:
        return answer
    return f"{answer[:HEADLINE_CHARACTERS].rstrip()} [... the whole answer: {ANSWER_FILE}]"
