"""Logs: one line an event on stderr, for people or as JSON, with every secret blotted out.

It stands on the standard library alone: every process of a house writes logs, and what they import
for it, each of them waits for.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal, TextIO

from agiraph.core.redaction import redact
from agiraph.logs.log_file import LogFile

Style = Literal["text", "json"]
OURS = "agiraph"
BOUND_BY_ABOUT = ("address", "incarnation")
"""What a file's lines say by `entity` and the like."""
EVENT_WIDTH = 30
PLAIN = re.compile(r"[^\s\"'=]+")
COLORS = {"debug": 2, "info": 32, "warning": 33, "error": 31, "critical": 31}


class Logger:
    """Says events, each with fields, and with every one of them what is `bound`."""

    def __init__(self, **bound: Any) -> None:
        """Make one that says `bound` with every line."""
        self._bound = bound
        self._to = logging.getLogger(OURS)

    def debug(self, event: str, **fields: Any) -> None:
        """Say what only helps to find a fault."""
        self._say(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Say what happened."""
        self._say(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Say what went wrong and was dealt with."""
        self._say(logging.WARNING, event, fields)

    def error(self, event: str, *, exc_info: Any = None, **fields: Any) -> None:
        """Say what went wrong; `exc_info` is an exception, or True for the one that is handled."""
        self._say(logging.ERROR, event, fields, exc_info)

    def exception(self, event: str, **fields: Any) -> None:
        """Say what went wrong, with the exception that is being handled."""
        self._say(logging.ERROR, event, fields, True)

    def note(self, event: str, **fields: Any) -> None:
        """Write what happened into the process's log file, and say it nowhere else."""
        if self._to.isEnabledFor(logging.INFO):
            extra = {"fields": self._bound | fields, "is_note": True}
            self._to.log(logging.INFO, event, extra=extra)

    def _say(self, level: int, event: str, fields: dict[str, Any], exc_info: Any = None) -> None:
        if self._to.isEnabledFor(level):
            extra = {"fields": self._bound | fields}
            self._to.log(level, event, exc_info=exc_info, extra=extra)


class _Lines(logging.StreamHandler[TextIO]):
    """Writes lines to a stream. One that cannot be written is lost: a full disk stops nobody."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name there
        """Lose it."""

    def filter(self, record: logging.LogRecord) -> Any:
        """Leave out what is noted for the log file alone."""
        return not getattr(record, "is_note", False) and super().filter(record)


class _Formatter(logging.Formatter):
    """Turns a record, ours or a library's, into a line."""

    def __init__(
        self, style: Style, *, colors: bool, about: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self._about = about
        self._is_json = style == "json"
        self._colors = colors

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and under it in text the traceback."""
        level = record.levelname.lower()
        fields = redact(getattr(record, "fields", {}))
        event = redact(record.getMessage() if record.args else str(record.msg))
        told = redact(self.formatException(record.exc_info)) if record.exc_info else ""
        if self._about is not None:
            said = {key: value for key, value in self._about.items() if value is not None}
            fields = said | {k: v for k, v in fields.items() if k not in BOUND_BY_ABOUT}
        if self._is_json:
            row = {**fields, "level": level, "timestamp": _stamp(record), "event": event}
            return json.dumps(row | ({"exception": told} if told else {}), default=str)
        shown = " ".join(f"{key}={_shown(value)}" for key, value in fields.items())
        title = event.ljust(EVENT_WIDTH) if shown else event
        mark = f"\x1b[{COLORS.get(level, 0)}m{level:9}\x1b[0m" if self._colors else f"{level:9}"
        line = f"{_stamp(record)} [{mark}] {title} {shown}".rstrip()
        return f"{line}\n{told}" if told else line


def _stamp(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.created % 1 * 1e6):06}Z"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if PLAIN.fullmatch(text) else repr(value)


def set_up_logging(
    level: str = "info",
    style: Style = "text",
    stream: TextIO | None = None,
    file: LogFile | None = None,
) -> None:
    """Send our own and the standard library's records to `stream` (stderr) from now on.

    With `file`, they are also written there, as JSON, with who writes and at what.
    Libraries' own records are shown from warnings up, ours from `level` up.
    """
    out = stream if stream is not None else sys.stderr
    handler = _Lines(out)
    handler.setFormatter(_Formatter(style, colors=out.isatty()))
    lowest = logging.getLevelName(level.upper())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    if file is not None:
        file.setFormatter(_Formatter("json", colors=False, about=file.about))
        root.addHandler(file)
    root.setLevel(max(logging.WARNING, lowest))
    logging.getLogger(OURS).setLevel(lowest)


def logger(**bound: Any) -> Logger:
    """Return a logger that says `bound` with every line."""
    return Logger(**bound)
