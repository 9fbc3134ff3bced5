"""Logs: one line an event on stderr, for people or as JSON, with every secret blotted out."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

import structlog

BLOT = "[redacted]"
SECRET_NAME = re.compile(
    r"(api_?key|secret|password|passwd|authorization|cookie|(^|_)(token|ticket|key)$)", re.I
)
SECRET_VALUE = re.compile(
    r"""(?x)
    \b(?:sk|pk|rk|xox[abp]|ghp|gho|glpat)[-_][A-Za-z0-9_\-]{8,}   # keys of the known makers
    | \bBearer\s+[A-Za-z0-9._~+/=\-]{8,}
    | \bAIza[A-Za-z0-9_\-]{20,}
    """
)

EventDict = MutableMapping[str, Any]


def redact(value: Any) -> Any:
    """Return `value` with everything that looks like a secret blotted out, at any depth."""
    if isinstance(value, str):
        return SECRET_VALUE.sub(BLOT, value)
    if isinstance(value, dict):
        return {
            key: BLOT if isinstance(key, str) and SECRET_NAME.search(key) else redact(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(inner) for inner in value]
    return value


def _redact_event(_logger: Any, _method: str, event: EventDict) -> EventDict:
    cleaned: EventDict = redact(dict(event))
    return cleaned


class Lines:
    """Writes lines to a stream. One that cannot be written is lost: a full disk stops nobody."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`."""
        self._out = out

    def msg(self, line: str) -> None:
        """Write a line."""
        try:
            self._out.write(f"{line}\n")
            self._out.flush()
        except (OSError, ValueError):
            pass

    debug = info = warning = error = critical = msg


def set_up_logging(
    level: str = "info",
    style: Literal["text", "json"] = "text",
    stream: TextIO | None = None,
) -> None:
    """Send structlog's and the standard library's records to `stream` (stderr) from now on.

    Libraries' own records are shown from warnings up, ours from `level` up.
    """
    out = stream if stream is not None else sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact_event,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer(default=str)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=out.isatty())
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=lambda *_args: Lines(out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))


def logger(**bound: Any) -> Any:
    """Return a logger that says `bound` with every line."""
    return structlog.get_logger(**bound)
