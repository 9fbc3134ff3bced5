"""StageTimeouts: lets the open stage go on without its stragglers when its time is up.

The time counts from the stage's start, which stands in the board's journal, so a coordinator that
was restarted gives it no second more. While a stage has a limit its coordinator does not park:
nobody else would look at the clock.
"""

import asyncio
from contextlib import suppress

from actors.coordinator.board_service import BoardService
from agiraph.board.commands import ExpireStage
from agiraph.board.stage_rules import due_at
from agiraph.core.clock import Clock


class StageTimeouts:
    """The deadline of whatever stage is open."""

    def __init__(self, board_service: BoardService, clock: Clock) -> None:
        """Watch the board of `board_service`."""
        self._board_service = board_service
        self._clock = clock

    @property
    def is_ticking(self) -> bool:
        """Whether the open stage has nodes at work and a limit."""
        return due_at(self._board_service.board) is not None

    async def run(self) -> None:
        """Keep the limit of every stage, for as long as the process lives."""
        while True:
            due = due_at(self._board_service.board)
            left = None if due is None else max(0.0, due - self._clock.now())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed_from(due)
            self.expire()

    def expire(self) -> None:
        """Let the open stage go on if its time is up; otherwise do nothing."""
        board, due = self._board_service.board, due_at(self._board_service.board)
        if due is not None and board.open_stage is not None and due <= self._clock.now():
            self._board_service.execute(ExpireStage(board.open_stage))

    async def _changed_from(self, due: float | None) -> None:
        await self._board_service.changes.until(lambda: due_at(self._board_service.board) != due)
