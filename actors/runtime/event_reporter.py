"""EventReporter: sends an actor's events to the recorder: batched, in order, none lost.

Events that happen within a moment go as one message: a step of an agent is several events.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any

from agiraph.core.ids import RECORDER, MessageId, message_id
from agiraph.core.models import Event
from agiraph.messages.event import ReportEvents
from transport.endpoint import Endpoint
from transport.errors import Nacked, TransportError

BATCH = 64
GATHER_SECONDS = 0.05
RETRY_SECONDS = 0.5


class EventReporter:
    """Sends the events of `report` in the background; the caller runs `run` as a task.

    A batch keeps its message id until the router has accepted it, so that a batch that is sent
    again after a broken connection is not recorded twice.
    """

    def __init__(self, endpoint: Endpoint, log: Any) -> None:
        self._endpoint = endpoint
        self._log = log
        self._waiting: deque[Event] = deque()
        self._batch: tuple[MessageId, tuple[Event, ...]] | None = None
        self._has_work = asyncio.Event()
        self._is_hurried = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def report(self, *events: Event) -> None:
        """Queue events; returns at once."""
        if events:
            self._waiting.extend(events)
            self._has_work.set()
            self._is_idle.clear()

    async def flush(self, within_seconds: float | None = None) -> None:
        """Wait until the router has accepted everything reported so far; raises TimeoutError."""
        if not self._is_idle.is_set():
            self._is_hurried.set()
        async with asyncio.timeout(within_seconds):
            await self._is_idle.wait()

    async def run(self) -> None:
        """Send batches until cancelled."""
        while True:
            await self._has_work.wait()
            await self._gather()
            while self._waiting or self._batch:
                await self._send_batch()
            self._has_work.clear()
            self._is_hurried.clear()
            self._is_idle.set()

    async def _gather(self) -> None:
        """Wait a moment for further events of the batch, unless `flush` is waiting."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GATHER_SECONDS):
                await self._is_hurried.wait()

    async def _send_batch(self) -> None:
        if self._batch is None:
            count = min(BATCH, len(self._waiting))
            self._batch = (message_id(), tuple(self._waiting.popleft() for _ in range(count)))
        identity, events = self._batch
        try:
            await self._endpoint.send(RECORDER, ReportEvents(events=events), id=identity)
        except Nacked as error:
            if error.reason == "mailbox_full":
                await asyncio.sleep(RETRY_SECONDS)
                return
            self._log.error("events refused", count=len(events), reason=str(error))
        except TransportError as error:
            self._log.warning("events wait for the router", reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)
            return
        self._batch = None
