"""BoardPages: what people read of the board: each node's status, the plan, what listings count.

All of it follows from the board's journal and is written anew at each start of the coordinator. So
nothing waits for it, and what happens within a moment is written once. The more there is to write,
and the slower the disk, the longer that moment: writing takes at most a tenth of the time.
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
"""How much of the time may be spent on writing."""


class BoardPages:
    """Writes the pages of one run's board; the caller runs `run` as a task."""

    def __init__(self, files: AgentFiles, record: AgentRecord) -> None:
        self._files = files
        self._record = record
        self._nodes: set[NodeId] = set()
        self._has_news = asyncio.Event()

    @property
    def are_written(self) -> bool:
        """Whether they say how the board is."""
        return not self._has_news.is_set()

    def note(self, event: e.BoardEvent) -> None:
        """Note that an event has changed what they say."""
        if isinstance(event, e.NodeCreated):
            self._nodes.add(event.node.id)
        elif isinstance(event, NodeEvent):
            self._nodes.add(event.node_id)
        self._has_news.set()

    def write(self, board: Board) -> None:
        """Write what has changed."""
        for node in self._nodes:
            self._files.write_status(board, board.nodes[node])
        self._files.write_plan(board)
        self._record.count(board)
        self._nodes.clear()
        self._has_news.clear()

    async def run(self, board: Callable[[], Board]) -> None:
        """Write them again and again, a moment after the first change."""
        gather = GATHER_SECONDS
        while True:
            await self._has_news.wait()
            await asyncio.sleep(gather)
            began = time.monotonic()
            if not self.are_written:
                self.write(board())
            took = time.monotonic() - began
            gather = min(max(GATHER_SECONDS, took / SHARE), LONGEST_SECONDS)
