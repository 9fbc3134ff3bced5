"""BoardPages: the files that people read about a board: node status, the plan, listed counts.

All of them can be computed from the board's journal, and are written again at each start of the
coordinator. So nothing waits for them, and changes that follow each other closely are written
together. The delay grows with the amount of text and with the slowness of the disk: writing takes
at most a tenth of the time.
"""

import asyncio
import time
from collections.abc import Callable

from actors.coordinator.files import AgentFiles
from actors.coordinator.public_events import NodeEvent
from actors.coordinator.record import AgentRecord
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.core.ids import NodeId

GATHER_SECONDS = 0.2
LONGEST_SECONDS = 2.0
SHARE = 0.1
"""The share of the time that may be spent on writing."""


class BoardPages:
    """Writes the pages of one run's board; the caller runs `run` as a task."""

    def __init__(self, files: AgentFiles, record: AgentRecord) -> None:
        self._files = files
        self._record = record
        self._nodes: set[NodeId] = set()
        self._has_news = asyncio.Event()

    @property
    def are_written(self) -> bool:
        """Whether the pages show the current board."""
        return not self._has_news.is_set()

    def note(self, event: e.BoardEvent) -> None:
        """Remember which pages an event changes."""
        if isinstance(event, e.NodeCreated):
            self._nodes.add(event.node.id)
        elif isinstance(event, NodeEvent):
            self._nodes.add(event.node_id)
        self._has_news.set()

    def write(self, board: Board) -> None:
        """Write the pages that have changed."""
        for node in self._nodes:
            self._files.write_status(board, board.nodes[node])
        self._files.write_plan(board)
        self._record.count(board)
        self._nodes.clear()
        self._has_news.clear()

    async def run(self, board: Callable[[], Board]) -> None:
        """Write changed pages until cancelled, each time a moment after the first change."""
        gather = GATHER_SECONDS
        while True:
            await self._has_news.wait()
            await asyncio.sleep(gather)
            began = time.monotonic()
            if not self.are_written:
                self.write(board())
            took = time.monotonic() - began
            gather = min(max(GATHER_SECONDS, took / SHARE), LONGEST_SECONDS)
