"""Text of outside agents: bytes to text, lines to JSON objects, an exit code to a reason."""

import codecs
import json
import signal

from agiraph.core.turns import JsonObject

LINE_BYTES = 32 * 1024 * 1024
SHOWN_CHARACTERS = 800
FATAL = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM}
)


class Utf8Decoder:
    """UTF-8 that arrives in pieces; what is none is replaced."""

    def __init__(self) -> None:
        """Begin between two characters."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def text(self, data: bytes) -> str:
        """Return what these bytes complete; b"" ends it."""
        return self._decoder.decode(data, final=not data)


class JsonLinesReader:
    """A JSON object a line, arriving in pieces; a line that is none is passed over."""

    def __init__(self) -> None:
        """Begin at a line's beginning."""
        self._rest = bytearray()
        self.noise = ""

    def objects(self, data: bytes) -> list[JsonObject]:
        """Return the objects that these bytes complete; b"" ends the last line.

        `noise` keeps the end of what was no JSON object: it may say why nothing else came.
        """
        self._rest += data if data else b"\n"
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest if len(rest) <= LINE_BYTES else b"")
        found: list[JsonObject] = []
        for line in lines:
            if (value := _object(line)) is not None:
                found.append(value)
            elif line.strip():
                shown = line.decode("utf-8", "replace").strip()
                self.noise = f"{self.noise}\n{shown}"[-SHOWN_CHARACTERS:]
        return found


def _object(line: bytes) -> JsonObject | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def why_failed(exit_code: int, complaint: str) -> str:
    """Return in words why a process that ended so has failed; '' for exit code 0."""
    if exit_code == 0:
        return ""
    said = " ".join(complaint.split())[-SHOWN_CHARACTERS:]
    how = f"exit code {exit_code}"
    number = -exit_code if exit_code < 0 else exit_code - 128  # so shells and sandboxes tell it
    if number in FATAL:
        how = f"killed by {signal.Signals(number).name}"
    return f"{how}: {said}" if said else how


def text_of(value: object) -> str:
    """Return a JSON value as text to show: text as it is, the texts of a list of blocks joined."""
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
    """Return the service's own words of an error that quotes the service's whole answer."""
    quoted = message.strip().removeprefix("[API Error: ").removesuffix("]")
    try:
        answer = json.loads(quoted)
    except (ValueError, RecursionError):
        return message
    return text_of(mapping(mapping(answer).get("error")).get("message")) or message


def mapping(value: object) -> JsonObject:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int:
    """Return a number of things, 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number else 0  # type: ignore[call-overload]
