"""Names of notes that are valid in every file system and in every link of Obsidian.

A name has no character that Windows or a link forbids, is none of Windows' devices, does not begin
or end with a dot or a space, and is short. Two names of a folder also differ on a file system that
ignores case, and independent of how it composes accents.
"""

import re
import unicodedata
from collections.abc import Set as AbstractSet
from typing import Final

FORBIDDEN: Final = re.compile(r'[\\/:*?"<>|#^\[\]]+')
SPACES: Final = re.compile(r"\s+")
DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"]
)
LONGEST: Final = 120
"""In bytes: with the folder's name and a number a path stays below the limits of every system."""

UNNAMED: Final = "Untitled"


def note_name(title: str) -> str:
    """Return a name for the note of a title, valid in every file system, without the ending."""
    text = unicodedata.normalize("NFC", title)
    text = FORBIDDEN.sub(" ", text)
    # Control and format characters, halves of surrogate pairs, and unassigned characters.
    text = "".join(" " if unicodedata.category(one)[0] in "CZ" else one for one in text)
    name = _cut(SPACES.sub(" ", text), LONGEST)
    if not name:
        return UNNAMED
    return f"_{name}" if name.partition(".")[0].strip().casefold() in DEVICES else name


def free_name(name: str, taken: AbstractSet[str], mark: str) -> str:
    """Return `name`, or if that is in `taken`, a similar name that contains `mark`.

    `taken` are folded names (`folded`).
    """
    if folded(name) not in taken:
        return name
    begins = _marked(name, mark)
    marked, number = f"{begins})", 2
    while folded(marked) in taken:
        marked = f"{begins} {number})"
        number += 1
    return marked


def is_name_for(found: str, name: str, mark: str) -> bool:
    """Whether `found` is a result of `free_name` for `name` and `mark`, whatever was taken."""
    return found == name or found.startswith(_marked(name, mark))


def _marked(name: str, mark: str) -> str:
    return f"{_cut(name, LONGEST - len(mark) - 12)} ({mark}"


def folded(name: str) -> str:
    """Return the form that is equal for all names that some file system treats as the same."""
    if name.isascii():
        return name.lower()
    once = unicodedata.normalize("NFKD", name).casefold()
    return unicodedata.normalize("NFKD", once).casefold()


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text in at most `most` bytes of UTF-8, with clean ends."""
    return text.encode()[:most].decode("utf-8", "ignore").strip(" .")
