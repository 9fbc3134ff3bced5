"""BoardStore: a board whose every change is on disk before anything acts on it."""

import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agiraph.board.board import Board, apply
from agiraph.board.commands import Command
from agiraph.board.decide import decide
from agiraph.board.events import BOARD_EVENT, BoardEpochBegan, BoardEvent
from agiraph.core.errors import Corrupt
from agiraph.core.ids import new_epoch
from agiraph.storage.journal import Journal, read_journal
from agiraph.storage.snapshot import Snapshots, beside

FOLD = 4
"""Increased when the same events give another board: older snapshots are then ignored."""

LATELY = 20
"""The events that a restarted coordinator reports again, as their reports may have been lost."""

BOARD: TypeAdapter[Board] = TypeAdapter(Board)


class BoardStore:
    """The board of one run and its journal, opened or created; for one process.

    The snapshot is at `snapshot`; None: beside the journal. Raises Corrupt, OSError.
    """

    def __init__(self, path: Path, snapshot: Path | None = None) -> None:
        self.path = path
        self._snapshots = Snapshots(snapshot or beside(path), BOARD, FOLD)
        known = self._snapshots.load()
        restored = BoardEpochBegan(ts=time.time(), epoch=new_epoch()).model_dump(mode="json")
        self._journal = Journal(path, known[0] if known else None, if_damaged=restored)
        board = known[1] if known and self._journal.since else Board()
        try:
            self._tail = read_events(self._journal.records, path)
            self._tail_begins = self._journal.count - len(self._tail)
            self.lately: deque[tuple[int, BoardEvent, Board]] = deque(maxlen=LATELY)
            """The last events read at the start: place, event, and the board after it."""
            for number, event in enumerate(self._tail):
                board = _applied(board, event, path, number + 1)
                self.lately.append((self._tail_begins + number, event, board))
            self.board = board
        except BaseException:
            self._journal.close()
            raise

    @property
    def count(self) -> int:
        """The number of events in the journal."""
        return self._journal.count

    def since(self, seen: int) -> list[BoardEvent]:
        """Return the events after the first `seen`, oldest first.

        Events after the snapshot are in memory; only events that the snapshot replaces are read
        again.
        """
        if seen >= self._tail_begins:
            return self._tail[seen - self._tail_begins :]
        return read_events(read_journal(self.path), self.path)[seen:]

    def forget(self, seen: int) -> None:
        """Drop the first `seen` events from memory; they will not be requested again."""
        drop = min(seen - self._tail_begins, len(self._tail) - 1)
        if drop > 0:
            del self._tail[:drop]
            self._tail_begins += drop

    def execute(self, command: Command, now: float) -> tuple[BoardEvent, ...]:
        """Carry a command out like `write`, and wait until its events are on disk."""
        happened = self.write(command, now)
        self.sync()
        return happened

    def write(self, command: Command, now: float) -> tuple[BoardEvent, ...]:
        """Decide, journal and apply a command; return its events, () if it had its effect.

        They are durable when `sync` has returned. Raises IllegalTransition, InvalidInput, OSError;
        the board is then unchanged.
        """
        happened = decide(self.board, command, now)
        board = self.board
        for event in happened:
            board = apply(board, event)
        self._journal.write(*(event.model_dump(mode="json") for event in happened))
        self.board = board
        self._tail.extend(happened)
        return happened

    def sync(self) -> None:
        """Wait until all events are on disk; after an OSError the board must not be used."""
        self._journal.sync()
        self._snapshots.keep_if_due(self._journal.mark, self.board)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def read_board(path: Path) -> Board:
    """Return the board of a run's journal that another process may be writing. Raises Corrupt."""
    return fold_events(read_events(read_journal(path), path), path)


def read_events(records: Iterable[dict[str, Any]], path: Path) -> list[BoardEvent]:
    """Return journaled records as events. Raises Corrupt, which names an invalid record."""
    found: list[BoardEvent] = []
    for number, record in enumerate(records, start=1):
        try:
            found.append(BOARD_EVENT.validate_python(record))
        except ValidationError as error:
            raise _misfit(path, number, str(record.get("type")), error) from None
    return found


def fold_events(happened: Iterable[BoardEvent], path: Path, board: Board | None = None) -> Board:
    """Return the board after these events. Raises Corrupt, which names an impossible event."""
    board = board or Board()
    for number, event in enumerate(happened, start=1):
        board = _applied(board, event, path, number)
    return board


def _applied(board: Board, event: BoardEvent, path: Path, number: int) -> Board:
    try:
        return apply(board, event)
    except (KeyError, IndexError) as error:
        raise _misfit(path, number, event.type, error) from None


def _misfit(path: Path, number: int, kind: str, error: Exception) -> Corrupt:
    return Corrupt(f"{path}: record {number} ({kind}) does not fit: {error}")
