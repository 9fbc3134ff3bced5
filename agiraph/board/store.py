"""BoardStore: a board whose every change is on disk before anyone acts on it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agiraph.board.board import Board, apply
from agiraph.board.commands import Command
from agiraph.board.decide import decide
from agiraph.board.events import BOARD_EVENT, BoardEvent
from agiraph.errors import Corrupt
from agiraph.journal import Journal, read_journal
from agiraph.snapshot import Snapshots

FOLD = 1
"""Raised when the same events come to mean another board: older snapshots then do not count."""

BOARD: TypeAdapter[Board] = TypeAdapter(Board)


class BoardStore:
    """The board of one run and its journal; one process holds it."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal at `path` and fold it; Corrupt, OSError."""
        self._snapshots = Snapshots(path, BOARD, FOLD)
        known = self._snapshots.load()
        self._journal = Journal(path, since=known[0] if known else None)
        begin = known[1] if known and self._journal.since else Board()
        try:
            self.board = fold_records(self._journal.records, path, begin)
        except BaseException:
            self._journal.close()
            raise

    def execute(self, command: Command, now: float) -> tuple[BoardEvent, ...]:
        """Decide, journal, apply; return what happened, () if the command had its effect before.

        Raises IllegalTransition, InvalidInput, OSError; the board is then as it was.
        """
        happened = decide(self.board, command, now)
        board = self.board
        for event in happened:
            board = apply(board, event)
        self._journal.append(*(event.model_dump(mode="json") for event in happened))
        self.board = board
        self._snapshots.keep_if_due(self._journal.mark, board)
        return happened

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def read_board(path: Path) -> Board:
    """Return the board of a run's journal that another process may be writing; Corrupt."""
    return fold_records(read_journal(path), path)


def fold_records(
    records: Iterable[dict[str, Any]], path: Path, board: Board | None = None
) -> Board:
    """Return the board after journaled records; Corrupt names the record that cannot have been."""
    board = board or Board()
    for number, record in enumerate(records, start=1):
        try:
            board = apply(board, BOARD_EVENT.validate_python(record))
        except (ValidationError, KeyError, IndexError) as error:
            kind = record.get("type")
            raise Corrupt(f"{path}: record {number} ({kind}) does not fit: {error}") from None
    return board
