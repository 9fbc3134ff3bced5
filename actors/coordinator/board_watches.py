"""Watches on a run's board for changes that no command causes: deadlocks and expired times."""

import asyncio
from contextlib import suppress

from actors.coordinator.board_service import BoardService
from agiraph.board import commands as c
from agiraph.board.deadlock import Deadlock, find_deadlocks
from agiraph.board.rules.stages import due_at
from agiraph.core.clock import Clock

SETTLE_SECONDS = 1.0


class DeadlockWatch:
    """Records cycles of waits that persist.

    A wait that a message has just ended may still be on the board for a moment; so a cycle counts
    only after it has existed for a second.
    """

    def __init__(self, board_service: BoardService) -> None:
        self._board_service = board_service

    @property
    def is_at_rest(self) -> bool:
        """Whether every cycle of waits on the board has been recorded."""
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
    """Ends the open stage without its stragglers when its time is over; retries failed nodes.

    The time counts from the stage's start, which is in the board's journal, so a restart of the
    coordinator does not extend it. The coordinator does not park while a stage has a time limit or
    a node waits for its next attempt: no other process would check the time.
    """

    def __init__(self, board_service: BoardService, clock: Clock) -> None:
        self._board_service = board_service
        self._clock = clock

    @property
    def is_ticking(self) -> bool:
        """Whether a running stage has a time limit, or a node waits to be retried."""
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
        """End the open stage if its time is over; otherwise do nothing."""
        board, due = self._board_service.board, due_at(self._board_service.board)
        if due is not None and board.open_stage is not None and due <= self._clock.now():
            self._board_service.execute(c.EndStageEarly(board.open_stage))

    def _due(self) -> float | None:
        retry = self._board_service.retry_due(self._clock.now())
        return min(filter(None, (due_at(self._board_service.board), retry)), default=None)

    async def _changed_from(self, due: float | None) -> None:
        await self._board_service.changes.until(lambda: self._due() != due)
