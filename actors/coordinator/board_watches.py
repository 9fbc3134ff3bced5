"""What watches a run's board for what no command does: deadlocks, and times that come."""

import asyncio
from contextlib import suppress

from actors.coordinator.board_service import BoardService
from agiraph.board import commands as c
from agiraph.board.deadlock import Deadlock, find_deadlocks
from agiraph.board.rules.stages import due_at
from agiraph.core.clock import Clock

SETTLE_SECONDS = 1.0


class DeadlockWatch:
    """Notes cycles of waits once they last.

    A wait that has just been left by a message may be on the board for a moment still; so a
    cycle counts once it has stood for a second.
    """

    def __init__(self, board_service: BoardService) -> None:
        self._board_service = board_service

    @property
    def is_at_rest(self) -> bool:
        """Whether no cycle stands that has not been noted."""
        return not self._fresh()

    async def run(self) -> None:
        while True:
            await self._board_service.changes.until(lambda: bool(self._fresh()))
            before = self._fresh()
            await asyncio.sleep(SETTLE_SECONDS)
            for found in self._fresh():
                if found in before:
                    self._board_service.execute(c.NoteDeadlock(found.cycle, found.text))

    def _fresh(self) -> tuple[Deadlock, ...]:
        board = self._board_service.board
        return tuple(found for found in find_deadlocks(board) if found.cycle not in board.deadlocks)


class StageTimeouts:
    """Lets the open stage continue without its stragglers when its time is up, and a node that
    failed be tried again once its delay is over.

    The time counts from the stage's start, which is in the board's journal, so a coordinator
    that was restarted gives it no second more. While a stage has a limit its coordinator does not
    park, nor while a node waits for its next attempt: nobody else would check the time.
    """

    def __init__(self, board_service: BoardService, clock: Clock) -> None:
        self._board_service = board_service
        self._clock = clock

    @property
    def is_ticking(self) -> bool:
        """Whether the open stage has nodes at work and a limit, or a node waits to be retried."""
        return self._due() is not None

    async def run(self) -> None:
        while True:
            due = self._due()
            left = None if due is None else max(0.0, due - self._clock.now())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed_from(due)
            self.expire()
            self._board_service.go_on()

    def expire(self) -> None:
        """Let the open stage go on if its time is up; otherwise do nothing."""
        board, due = self._board_service.board, due_at(self._board_service.board)
        if due is not None and board.open_stage is not None and due <= self._clock.now():
            self._board_service.execute(c.EndStageEarly(board.open_stage))

    def _due(self) -> float | None:
        retry = self._board_service.retry_due(self._clock.now())
        return min(filter(None, (due_at(self._board_service.board), retry)), default=None)

    async def _changed_from(self, due: float | None) -> None:
        await self._board_service.changes.until(lambda: self._due() != due)
