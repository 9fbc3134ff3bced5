"""Spellings of a service's own key in a text, and their removal. Pure.

A service, or a proxy in front of it, may repeat the key of a request: in an error, in a page for
debugging, as text of a model. Answers enter conversations, journals and events, so the key is
replaced as soon as an answer is read (events: `agiraph.llm.wire.key_redactor`).

A text is checked both raw and decoded: each character of the key may be written as itself, as a
JSON escape (also escaped repeatedly) or in percent-encoding, and the key may be part of a text in
base64. The case of letters is ignored: HTTP libraries write some headers in lower case.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from agiraph.core.redaction import map_texts
from agiraph.core.turns import ModelResponse

MARK = "[key]"
SHORTEST_KEY = 6
"""A shorter key is a placeholder such as `x`, which every text contains."""
SURE_LENGTH = 16
ESCAPE: Final = re.compile(
    r"\\+(?:u(?P<unit>[0-9a-f]{4})|(?P<mark>[\"/]))?|%(?:25)*(?P<byte>[0-9a-f]{2})", re.IGNORECASE
)
"""A character that is escaped or encoded, once or several times."""
BEGUN_ESCAPE: Final = re.compile(r"(?:\\+(?:u[0-9a-f]{0,3})?|%(?:25)*[0-9a-f]?)\Z", re.IGNORECASE)
LONGEST_SPELLING = 16
"""The most characters that may spell one character of the key; an escape has six."""
KEPT_KEYS = 100

Span = tuple[int, int]


def forms(key: str) -> tuple[str, ...]:
    """Return the spellings of a key in a text, the longest first; () for a placeholder.

    The key of a local service (`none`, `ollama`) is a usual word, so a short key needs a digit.
    """
    if len(key) < SHORTEST_KEY or not (len(key) >= SURE_LENGTH or re.search("[0-9]", key)):
        return ()
    found = {key, quote(key, safe=""), json.dumps(key)[1:-1], *_in_base64(key.encode())}
    return tuple(sorted(filter(None, found), key=len, reverse=True))


def _in_base64(key: bytes) -> Iterator[str]:
    """Yield the characters of base64 that the key alone determines, at any offset."""
    for before in range(3):
        length = (before + len(key)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + key)[-(-before * 8 // 6) : length].decode()


@dataclass(frozen=True, slots=True)
class _Decoded:
    """A text without escapes; character `n` of it is at `places[n]` of the original.

    `places` has the end of the original as its last entry.
    """

    text: str
    places: list[int]


def _lower(text: str) -> str:
    """Return a text in lower case; all characters keep their places."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    # One capital letter of Turkish has two characters in lower case.
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in text)


def _plain(text: str) -> str:
    """Return a text with its JSON escapes and percent-encoding decoded."""
    return ESCAPE.sub(_meaning, text) if "\\" in text or "%" in text else text


def _decoded(text: str) -> _Decoded:
    """Return a decoded text, with the original place of each of its characters."""
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for found in ESCAPE.finditer(text):
        parts += (text[end : found.start()], _meaning(found))
        places += range(end, found.start() + 1)
        end = found.end()
    parts.append(text[end:])
    places += range(end, len(text) + 1)
    return _Decoded("".join(parts), places)


def _meaning(found: re.Match[str]) -> str:
    code = found["unit"] or found["byte"]
    return chr(int(code, 16)) if code else found["mark"] or "\\"


@dataclass(frozen=True, slots=True)
class KeySpelling:
    """The spellings of a key in lower case: `forms` for raw text, `decoded` for decoded text."""

    key: str
    forms: tuple[str, ...]
    decoded: tuple[str, ...]

    def spans(self, text: str) -> list[Span]:
        """Return the places of the key, in order and without overlap."""
        if not self.is_in(text):
            return []
        found = list(_found(self.forms, _lower(text)))
        if (decoded := _decoded(text)).text != text:
            for start, end in _found(self.decoded, _lower(decoded.text)):
                found.append((decoded.places[start], decoded.places[end]))
        return _joined(found)

    def is_in(self, text: str) -> bool:
        """Whether the key is in a text."""
        lower = _lower(text)
        for form in self.forms:
            if form in lower:
                return True
        plain = _plain(text)
        if plain is text:
            return False
        lower = _lower(plain)
        return any(form in lower for form in self.decoded)

    def may_have_part_in(self, text: str) -> bool:
        """Whether the key is in a text, or could begin at its end."""
        return self.beginning(text) > 0 or self.is_in(text)

    def without(self, text: str) -> str:
        """Return a text in which each occurrence of the key is replaced by MARK."""
        if not self.is_in(text):
            return text
        for start, end in reversed(self.spans(text)):
            text = text[:start] + MARK + text[end:]
        return text

    def beginning(self, text: str) -> int:
        """Return the length of the longest suffix of a text that could be the start of the key."""
        if not self.forms:
            return 0
        text = text[-LONGEST_SPELLING * len(self.forms[0]) :]
        found, lower = 0, _lower(text)
        for form in self.forms:
            found = max(found, _beginning(form, lower))
        if "\\" not in text and "%" not in text:
            return found
        begun = BEGUN_ESCAPE.search(text)
        rest = begun[0] if begun else ""
        decoded = _decoded(text.removesuffix(rest))
        lower = _lower(decoded.text)
        for form in self.decoded:
            length = _beginning(form, lower)
            if not rest or _may_begin(form[length], rest):
                start = decoded.places[len(decoded.text) - length]
                found = max(found, len(text) - start)
        return found

    def is_half(self, text: str) -> bool:
        """Whether a text, a beginning of the key, contains at least half of the key."""
        return len(_plain(text)) * 2 >= len(self.key)


@lru_cache(maxsize=KEPT_KEYS)
def spelling(key: str) -> KeySpelling:
    """Return the spellings of a key; empty for a placeholder."""
    known = forms(key)
    decoded = map(_plain, known)
    return KeySpelling(key, _lower_forms(known), _lower_forms(decoded))


def _lower_forms(forms: Iterable[str]) -> tuple[str, ...]:
    """Return forms in lower case, the longest first."""
    return tuple(sorted(set(map(_lower, forms)), key=len, reverse=True))


def _found(forms: tuple[str, ...], text: str) -> Iterator[Span]:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))


def _joined(spans: list[Span]) -> list[Span]:
    """Return spans in order, overlapping spans joined."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            start, end = joined[-1][0], max(end, joined.pop()[1])
        joined.append((start, end))
    return joined


def _beginning(form: str, text: str) -> int:
    """Return the length of the longest suffix of `text` that is a proper prefix of `form`."""
    start = text.find(form[0], max(0, len(text) - len(form) + 1))
    while start >= 0 and not form.startswith(text[start:]):
        start = text.find(form[0], start + 1)
    return len(text) - start if start >= 0 else 0


def _may_begin(character: str, escape: str) -> bool:
    """Whether `escape`, an incomplete escape sequence, could be completed to `character`."""
    digits = escape.lower().lstrip("\\%")
    codes = [f"{ord(one):04x}" for one in (character, character.upper()[0])]
    if escape[0] == "\\":
        return not digits or any(f"u{code}".startswith(digits) for code in codes)
    if re.fullmatch("(?:25)*2?", digits) is not None:
        return True
    return any(code[-2:].startswith(digits[-1]) for code in codes)


def without_key(text: str, key: str) -> str:
    """Return `text` without the key, and without any part of at least half of it."""
    if len(key) < SHORTEST_KEY:
        return text
    text = spelling(key).without(text).replace(key, MARK)
    lower_key = _lower(key)
    half = lower_key[: (len(key) + 1) // 2]
    if len(half) >= SHORTEST_KEY and forms(key):
        while (start := (lower := _lower(text)).find(half)) >= 0:
            end = start + len(half)
            while text[end : end + 1] and lower_key.startswith(lower[start : end + 1]):
                end += 1
            text = text[:start] + MARK + text[end:]
    return text


def response_without_key(response: ModelResponse, key: str) -> ModelResponse:
    """Return a whole answer without the key, even if JSON escapes or short parts hid it."""
    known = spelling(key)
    if not known.forms:
        return response
    calls = [
        call.model_copy(
            update={
                "arguments": map_texts(call.arguments, known.without),
                "malformed": map_texts(call.malformed, known.without),
            }
        )
        for call in response.tool_calls
    ]
    return response.model_copy(
        update={
            "text": map_texts(response.text, known.without),
            "tool_calls": tuple(calls),
            "provider_data": map_texts(response.provider_data, known.without),
        }
    )
