"""JSON as models write it: syntax slips are repaired, nothing is guessed.

Repaired are single quotes, surplus commas at the end, bare keys, Python's True, False and None,
line breaks within a string, and `\\'`. Ambiguous texts are refused: a string or an object without
its end, a duplicate key, an escape that JSON does not have.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from agiraph.core.json_text import parse_json

SPACE = re.compile(r"\s*")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
CONSTANTS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
QUOTES = {'"': '"', "'": "'"}
ESCAPES = {
    '"': '"', "'": "'", "\\": "\\", "/": "/",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
HEX = re.compile(r"[0-9a-fA-F]{4}")
DEEPEST = 64
DIGITS = 1000


class UnreadableJson(ValueError):
    """A text that is not JSON and cannot be repaired without guessing; names the problem."""


def read_value(text: str, at: int = 0) -> tuple[Any, int]:
    """Return (value, its end) for the value at `at` after spaces; raises UnreadableJson."""
    return _Reader(text).value(_skip(text, at), 0)


def read_whole(text: str) -> Any:
    """Return the value of a whole text; UnreadableJson for further content."""
    value, end = read_value(text)
    end = _skip(text, end)
    if end != len(text):
        raise UnreadableJson(f"there is more behind the value: {_shown(text, end)}")
    return value


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _shown(text: str, at: int) -> str:
    """Return the beginning of the text from the index `at` on, for an error message."""
    return json.dumps(text[at : at + 20], ensure_ascii=False) if at < len(text) else "the end"


def _joined(text: str) -> str:
    """Return text with surrogate pairs, which JSON escapes as two characters, joined."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Reader:
    """Reads values from one text; each method takes the index of a value and returns its end."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > DEEPEST:
            raise UnreadableJson("it is nested too deeply")
        start = self._text[at : at + 1]
        if start == "{":
            return self._object(at, depth)
        if start == "[":
            return self._list(at, depth)
        if start in QUOTES and start:
            return self._string(at)
        if (number := NUMBER.match(self._text, at)) is not None:
            if len(number[0]) > DIGITS:
                raise UnreadableJson("a number has too many digits")
            return parse_json(number[0]), number.end()
        word = WORD.match(self._text, at)
        if word is None or word[0] not in CONSTANTS:
            raise UnreadableJson(f"no value begins with {_shown(self._text, at)}")
        return CONSTANTS[word[0]], word.end()

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}

        def one(at: int) -> int:
            key, at = self._key(at)
            at = self._past(":", at, f"the key {key!r} has no value")
            if key in found:
                raise UnreadableJson(f"the key {key!r} comes twice")
            found[key], at = self.value(_skip(self._text, at), depth + 1)
            return at

        return found, self._items(at, "}", one)

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []

        def one(at: int) -> int:
            value, at = self.value(at, depth + 1)
            found.append(value)
            return at

        return found, self._items(at, "]", one)

    def _items(self, at: int, closer: str, one: Callable[[int], int]) -> int:
        """Read the items between brackets, separated by commas; return the end."""
        start, at = at, _skip(self._text, at + 1)
        while not self._text.startswith(closer, at):
            at = _skip(self._text, one(at))
            if self._text.startswith(",", at):
                at = _skip(self._text, at + 1)
            elif not self._text.startswith(closer, at):
                opened = _shown(self._text, start)
                raise UnreadableJson(f"{opened} is not closed at {_shown(self._text, at)}")
        return at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] in QUOTES and at < len(self._text):
            return self._string(at)
        word = WORD.match(self._text, at)
        if word is None:
            raise UnreadableJson(f"a key is missing at {_shown(self._text, at)}")
        return word[0], word.end()

    def _past(self, sign: str, at: int, problem: str) -> int:
        at = _skip(self._text, at)
        if not self._text.startswith(sign, at):
            raise UnreadableJson(problem)
        return at + len(sign)

    def _string(self, at: int) -> tuple[str, int]:
        quote, start = self._text[at], at
        parts: list[str] = []
        at += 1
        while at < len(self._text):
            sign = self._text[at]
            if sign == quote:
                return _joined("".join(parts)), at + 1
            if sign == "\\":
                part, at = self._escape(at)
                parts.append(part)
            else:
                parts.append(sign)
                at += 1
        raise UnreadableJson(f"the text {_shown(self._text, start)} has no end")

    def _escape(self, at: int) -> tuple[str, int]:
        sign = self._text[at + 1 : at + 2]
        if sign == "u" and (code := HEX.match(self._text, at + 2)) is not None:
            return chr(int(code[0], 16)), code.end()
        if sign not in ESCAPES or not sign:
            raise UnreadableJson(
                f"JSON has no {_shown(self._text[: at + 2], at)} (write \\\\ for \\)"
            )
        return ESCAPES[sign], at + 2
