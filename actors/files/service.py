"""FilesActor: sends files to workers on other machines, and writes the files that they send.

The requests of one sender are answered in order, each in a thread, so that a slow disk or a large
file does not delay other senders. A sender whose address has a newer process is refused: its files
belong to that process by now.
"""

import asyncio

from actors.files.requests import FileRequests
from actors.runtime.calls_in_flight import CallInFlight, CallsInFlight
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.core.concurrency import BackgroundTasks
from agiraph.messages.body import MessageBody
from transport.endpoint import Received


class FilesActor:
    """Receives the requests from the bus, and has FileRequests answer them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._requests = FileRequests(runtime.home)
        self._calls = CallsInFlight(runtime, BackgroundTasks())
        self._newest: dict[str, int] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def serve(self) -> None:
        """Answer requests until the service is idle."""
        self._requests.transfers.forget_old(self._runtime.clock.now())
        await self._calls.serve(self._take, self._runtime.config.run.park_after_seconds)

    def _take(self, received: Received) -> None:
        header = received.header
        newest = self._newest[header.sender] = max(
            header.incarnation, self._newest.get(header.sender, 0)
        )
        if header.incarnation < newest:
            self._runtime.log.warning("an older process", sender=header.sender)
        elif isinstance(received.body, MessageBody):
            body = received.body
            self._calls.call(received, lambda call: self._answer(call, body))
        self._runtime.done(received)

    async def _answer(self, call: CallInFlight, body: MessageBody) -> MessageBody:
        async with self._turns.setdefault(call.sender, asyncio.Lock()):
            call.ends_with_sender = False  # a thread cannot be ended; the next call waits for it
            return await asyncio.to_thread(self._requests.answer, call.sender, body)


def main(launch: ActorLaunch) -> int:
    """Run the service; return its exit code."""
    return run_actor(launch, lambda runtime: FilesActor(runtime).serve(), waits_for_room=False)
