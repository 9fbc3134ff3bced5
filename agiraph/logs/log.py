"""Logs: structlog over the standard library's handlers, with every secret redacted.

Each line goes to stderr, readable or as JSON, and as JSON into the process's log file. The writer
and its work (entity, incarnation, run, node) come from context variables, see `bind`.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, cast

from agiraph.core.redaction import redact
from agiraph.imports import left_out
from agiraph.logs.log_file import LogFile

# structlog imports rich, if installed, for tracebacks that are not used here: that would take
# longer than structlog itself, in every process.
with left_out("rich"):
    import structlog
    from structlog.contextvars import bind_contextvars, bound_contextvars, merge_contextvars
    from structlog.stdlib import BoundLogger, ProcessorFormatter, filter_by_level
    from structlog.typing import EventDict, Processor

Style = Literal["text", "json"]
OURS = "agiraph"
FILE_ONLY = "is_file_only"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Logger(BoundLogger):
    """structlog's logger, with `note` for messages that go into the log file alone."""

    def note(self, event: str, **fields: Any) -> None:
        """Log at level info, but only to the process's log file."""
        self._proxy_to_logger("info", event, **{FILE_ONLY: True}, **fields)


def logger(**bound: Any) -> Logger:
    """Return a logger whose lines all have the fields `bound`."""
    processors = (filter_by_level, merge_contextvars, ProcessorFormatter.wrap_for_formatter)
    wrapped = structlog.wrap_logger(
        logging.getLogger(OURS), processors, wrapper_class=Logger, context_class=dict, **bound
    )
    return cast(Logger, wrapped)


def bind(**fields: Any) -> None:
    """Add these fields to every line logged in this context, and in tasks begun in it.

    A field of None is left out.
    """
    bind_contextvars(**fields)


@contextmanager
def bound(**fields: Any) -> Iterator[None]:
    """Add these fields to every line that is logged in the block, as `bind` does."""
    with bound_contextvars(**fields):
        yield


def set_up_logging(
    level: str = "info",
    style: Style = "text",
    stream: TextIO | None = None,
    file: LogFile | None = None,
    rotate: Callable[[], None] = lambda: None,
) -> None:
    """Write all logs of this process to `stream` (None: stderr) and, as JSON, to `file`.

    `rotate` is called after each line on `stream`: it begins the next file of a redirected stderr.
    Records of libraries are logged from warnings up, ours from `level` up.
    """
    out = stream if stream is not None else sys.stderr
    handler = _StreamHandler(out, rotate)
    handler.setFormatter(formatter(style, colors=out.isatty()))
    lowest = logging.getLevelName(level.upper())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    if file is not None:
        file.setFormatter(formatter("json"))
        root.addHandler(file)
    root.setLevel(max(logging.WARNING, lowest))
    logging.getLogger(OURS).setLevel(lowest)


def formatter(style: Style, *, colors: bool = False) -> logging.Formatter:
    """Return the formatter of records, ours or a library's, as lines without secrets."""
    renderer: Processor = structlog.processors.JSONRenderer(default=str)
    if style == "text":
        renderer = structlog.dev.ConsoleRenderer(
            colors=colors, sort_keys=False, exception_formatter=structlog.dev.plain_traceback
        )
    return ProcessorFormatter(
        processors=(_add_level_and_time, structlog.processors.format_exc_info, _clean, renderer),
        foreign_pre_chain=(merge_contextvars,),
    )


class _StreamHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a stream; a line that cannot be written (a full disk) is lost."""

    def __init__(self, stream: TextIO, rotate: Callable[[], None]) -> None:
        super().__init__(stream)
        self._rotate = rotate

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, then rotate the redirected stream's file if it is large."""
        super().emit(record)
        self._rotate()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name there
        """Drop a line that could not be written."""

    def filter(self, record: logging.LogRecord) -> Any:
        """Return whether a record is for this stream: some are only for the process's log file."""
        is_file_only = isinstance(record.msg, dict) and FILE_ONLY in record.msg
        return not is_file_only and super().filter(record)


def _add_level_and_time(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Return the event with the record's level and time (handlers run at different times)."""
    record: logging.LogRecord = event["_record"]
    at = datetime.fromtimestamp(record.created, UTC).strftime(TIME)
    event.update(level=record.levelname.lower(), timestamp=at)
    return event


def _clean(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Return the event redacted, without fields that are None or internal to this module."""
    inner = ("_record", "_from_structlog", FILE_ONLY)
    cleaned: EventDict = redact(
        {key: value for key, value in event.items() if key not in inner and value is not None}
    )
    return cleaned
