"""Parsing the output of external agents: JSON lines, JSON values as text, exit codes as reasons."""

import json
import math
import signal

from agiraph.core.json_text import parse_json
from agiraph.core.record import why_not_stored
from agiraph.core.turns import JsonObject, encodable, json_in
from agiraph.foreign.lines import LineSplitter

LINE_BYTES = 64 << 20
"""The longest line of an external agent; a longer line is skipped."""
SHOWN_CHARACTERS = 800
LONGEST_INTEGER = 20
"""The length of the longest integer of 64 bits in JSON."""
BEYOND_64_BITS = 1 << 64
MOST_AMOUNT = 10**12
"""The largest plausible number of tokens or dollars; sums of such numbers stay below 64 bits."""
FATAL_SIGNALS = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM}
)


class JsonLinesReader:
    """A reader of one JSON object per line, arriving in pieces.

    Other lines are skipped; `noise` is the last part of the skipped text, for error messages.
    """

    def __init__(self) -> None:
        self._lines = LineSplitter(LINE_BYTES)
        self.noise = ""

    def objects(self, data: bytes) -> list[JsonObject]:
        """Return the JSON objects in the lines that `data` completes.

        An empty `data` completes the last line.
        """
        found: list[JsonObject] = []
        for line in self._lines.feed(data or b"\n"):
            if not line.is_whole:
                self._skip(f"(a line of {line.size} bytes was left out: at most {LINE_BYTES})")
            elif (value := _object(line.data)) is not None:
                found.append(value)
            elif line.data.strip():
                self._skip(line.data.decode("utf-8", "replace").strip())
        return found

    def _skip(self, shown: str) -> None:
        self.noise = f"{self.noise}\n{shown}"[-SHOWN_CHARACTERS:]


def _object(line: bytes) -> JsonObject | None:
    """Return the object in a line, None if the line contains no object.

    Numbers that are not finite, and fields whose value cannot be stored, are replaced by null, so
    that a request still has its id and is answered. Lone surrogates are replaced by U+FFFD.
    """
    try:
        value = parse_json(
            line, parse_constant=lambda _: None, parse_float=_finite_or_none, parse_int=_integer
        )
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    stored = {key: None if why_not_stored({key: field}) else field for key, field in value.items()}
    found: JsonObject = encodable(stored)
    return found


def _integer(digits: str) -> int:
    """Return an integer; one with more than LONGEST_INTEGER digits becomes a number of 65 bits."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else BEYOND_64_BITS


def _finite_or_none(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def json_line(message: JsonObject) -> bytes:
    """Return a message as a line for an agent's stdin."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def why_failed(exit_code: int, output: str) -> str:
    """Return why a process with this exit code and output has failed; '' for code 0."""
    if exit_code == 0:
        return ""
    shown = " ".join(output.split())[-SHOWN_CHARACTERS:]
    how = f"exit code {exit_code}"
    number = -exit_code if exit_code < 0 else exit_code - 128  # shells and sandboxes add 128
    if number in FATAL_SIGNALS:
        how = f"killed by {signal.Signals(number).name}"
    return f"{how}: {shown}" if shown else how


def text_of(value: object) -> str:
    """Return a JSON value as text: a string unchanged, the texts of a list of blocks joined."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            return "\n".join(filter(None, map(text_of, value)))
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return json.dumps(value, ensure_ascii=False)


def unquoted(message: str) -> str:
    """Return the model service's message from an error that quotes the service's whole answer."""
    quoted = message.strip().removeprefix("[API Error: ").removesuffix("]")
    return text_of(mapping(mapping(json_in(quoted)).get("error")).get("message")) or message


def mapping(value: object) -> JsonObject:
    """Return a JSON object, or an empty object for any other value."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[JsonObject]:
    """Return the JSON objects of a list, or an empty list for any other value."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def number(value: object) -> int | None:
    """Return an integer unchanged, None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: object) -> int:
    """Return a number as a whole count, 0 for a value that is no plausible number."""
    return int(amount(value) or 0)


def amount(value: object) -> float | None:
    """Return a number from 0 to MOST_AMOUNT unchanged, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= MOST_AMOUNT else None
