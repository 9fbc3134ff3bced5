"""Matching of typed names with things (by name, id or prefix), and text clean-up for display."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Final, TypeVar

from agiraph.core.errors import NEAREST, Ambiguous, listed, unknown

Thing = TypeVar("Thing", bound=Hashable)

FITS: tuple[Callable[[str, str], bool], ...] = (
    lambda name, text: name == text,
    lambda name, text: name.casefold() == text.casefold(),
    lambda name, text: name.casefold().startswith(text.casefold()),
)
"""The ways to match a typed text with a name; the first that matches any name is used."""


def meant(
    kind: str,
    text: str,
    names: Iterable[tuple[str, Thing]],
    show: Callable[[Thing], str] = str,
    known: Collection[str] | None = None,
) -> Thing:
    """Return the object that `text` names, by the first way of FITS that matches.

    `names` are pairs (name, thing); a thing can have several names. `kind` is the kind of thing,
    for errors. Raises Ambiguous with the candidates as `show` writes them, or InvalidInput with the
    `known` names (by default all of `names`) and similar ones.
    """
    typed, pairs = text.strip(), list(names)
    for fits in FITS if typed else ():
        found = list(dict.fromkeys(thing for name, thing in pairs if fits(name, typed)))
        if len(found) == 1:
            return found[0]
        if found:
            several = listed([show(thing) for thing in found[:NEAREST]], len(found))
            raise Ambiguous(f"{kind} '{text}' could be any of {several}: type more of it")
    shown = dict.fromkeys(show(thing) for _, thing in pairs) if known is None else known
    raise unknown(kind, text, [*shown], [name for name, _ in pairs])


def cut(text: str, most: int) -> str:
    """Return at most `most` characters of a text; a shortened text ends with the full length."""
    if len(text) <= most:
        return text
    tail = f"... ({len(text)} characters in all)"
    return text[: most - len(tail)] + tail


ERROR_CHARACTERS: Final = 300
CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def error_line(text: str, most: int = ERROR_CHARACTERS) -> str:
    """Return the error text of another program or service as one line of at most `most` characters.

    Control characters are removed; a shortened text ends with the full length.
    """
    head = text[: 4 * most]
    line = with_unseen_shown(" ".join(CONTROLS.sub(" ", head).split()))
    if len(head) == len(text) and len(line) <= most:
        return line
    tail = f"... ({len(text)} characters in all)"
    return line[: most - len(tail)] + tail


LINE_END: Final = "⏎"
_LINE_ENDS: Final = re.compile(r"\s*[\n\u2028\u2029]\s*")


def on_one_line(text: str) -> str:
    """Return a text on one line, with `⏎` for its line ends and one space for other white space.

    A line end must be visible: `true # tidy up` and a command below it are not one comment.
    """
    return " ".join(_LINE_ENDS.sub(f" {LINE_END} ", text.strip()).split())


def cut_at_sentence(text: str, most: int) -> str:
    """Return at most `most` characters of a text that end with a sentence or line, if possible."""
    if len(text) <= most:
        return text
    head = text[:most]
    ends = [found.end() for found in SENTENCE_END.finditer(head)]
    return head[: ends[-1]].rstrip() if ends and ends[-1] > most // 2 else head


def short_name(entity: str) -> str:
    """Return `alice` for `alice-3fa9c1`: the six hexadecimal characters are for machines."""
    head, dash, tail = entity.rpartition("-")
    is_number = len(tail) == 6 and all(c in "0123456789abcdef" for c in tail)
    return head if dash and head and is_number else entity


SENTENCE_END: Final = re.compile(r"[.!?][)\"']*(?=\s)|\n")
UNSEEN: Final = re.compile(r"[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]")
"""Invisible characters, and characters that reverse the text direction: `report<U+202E>gpj.exe`
looks like a picture. The web UI has the same list (`frontend/src/ui/format.ts`)."""


def with_unseen_shown(text: str) -> str:
    """Return a text with its invisible characters made visible, as in `report⟨U+202E⟩gpj.exe`."""
    return UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
