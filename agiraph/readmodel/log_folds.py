"""LogFolds: cached folds of growing logs, so that each line is processed only once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Generic, TypeVar

from agiraph.core.models import Event
from agiraph.http.api import TrafficView
from agiraph.storage.journal import parse_line
from agiraph.storage.segment_reader import Line, SegmentReader
from agiraph.tracing.timeline import RunTimeline

Made = TypeVar("Made")

MOST: Final = 8
PAGE: Final = 2000
LONGEST_TEXT: Final = 160
NO_RUN: Final = b"null"


class _LogFold(Generic[Made]):
    """The fold of one log: the value made of its lines up to line number `after`."""

    def __init__(self, path: Path, made: Made) -> None:
        self.reader, self.made = SegmentReader(path), made
        self.after = 0
        self.turn = threading.Lock()


class LogFolds(Generic[Made]):
    """The folds of the MOST most recently requested logs; usable in several threads.

    `add` adds a line to the fold of the lines before it.
    """

    def __init__(self, add: Callable[[Made, Line], None]) -> None:
        self._add = add
        self._folds: OrderedDict[tuple[Path, str], _LogFold[Made]] = OrderedDict()
        self._turn = threading.Lock()

    @contextmanager
    def current(self, path: Path, of: str, make: Callable[[], Made]) -> Iterator[Made]:
        """Yield the fold of a log up to now, to be read within the block only.

        `of` distinguishes several folds of one log, `make` returns the fold of no lines. Raises
        Corrupt, OSError.
        """
        with self._turn:
            fold = self._folds.pop((path, of), None) or _LogFold(path, make())
            self._folds[path, of] = fold
            if len(self._folds) > MOST:
                self._folds.popitem(last=False)
        with fold.turn:
            if fold.after > fold.reader.last():  # the log was replaced
                fold.made, fold.after = make(), 0
            while lines := fold.reader.lines(fold.after, PAGE):
                for line in lines:
                    self._add(fold.made, line)
                    fold.after = line[0]
            yield fold.made


def add_to_timeline(made: RunTimeline, line: Line) -> None:
    """Add a log line to a run's timeline; lines of other runs and damaged ones are skipped."""
    made.seq, text = line
    if made.run.encode() not in text and NO_RUN not in text:
        return
    record = parse_line(text.rstrip(b"\n"))[0]
    if record is not None and record.get("run_id") in (None, made.run):
        made.apply(Event.model_validate({**record, "seq": line[0]}))


Traffic = dict[tuple[str, str], TrafficView]


def add_to_traffic(made: Traffic, line: Line) -> None:
    """Count a message log's line by sender and receiver; damaged lines are skipped."""
    record = parse_line(line[1].rstrip(b"\n"))[0]
    if record is None:
        return
    key = (record["from"], record["to"])
    known = made.get(key)
    last = {"last_seq": line[0], "last_at": record["ts"]}
    last |= {
        "last_text": record["content"][:LONGEST_TEXT],
        "count": known.count + 1 if known else 1,
    }
    made[key] = TrafficView.model_validate({"from": key[0], "to": key[1], **last})
