"""DeadlockWatch: looks at the board after every change, and notes rings of waits once they last.

A wait that has just been left by a message may stand on the board for a moment still; so a ring
counts once it has stood for a second.
"""

import asyncio

from actors.coordinator.board_service import BoardService
from agiraph.board import commands as c
from agiraph.board.deadlock import Deadlock, find_deadlocks

SETTLE_SECONDS = 1.0


class DeadlockWatch:
    """The watch over one run's board."""

    def __init__(self, board_service: BoardService) -> None:
        """Watch the board of `board_service`."""
        self._board_service = board_service

    @property
    def is_at_rest(self) -> bool:
        """Whether no ring stands that has not been noted."""
        return not self._fresh()

    async def run(self) -> None:
        """Watch for as long as the process lives."""
        while True:
            await self._board_service.changes.until(lambda: bool(self._fresh()))
            before = self._fresh()
            await asyncio.sleep(SETTLE_SECONDS)
            for found in self._fresh():
                if found in before:
                    self._board_service.execute(c.NoteDeadlock(found.ring, found.text))

    def _fresh(self) -> tuple[Deadlock, ...]:
        board = self._board_service.board
        return tuple(found for found in find_deadlocks(board) if found.ring not in board.deadlocks)
