"""CallsInFlight: the calls that an actor is answering, one task each.

A call is identified by its sender and the id of its message; only this sender is answered and can
cancel it. If it is sent again while it runs (its sender or the router was restarted), it continues,
and the answer goes to the newest message. If it is sent again after its end, the stored answer is
sent, if its kind is stored. A call whose sender is gone is cancelled, after a grace period if there
is one: the sender's next incarnation sends it again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from actors.runtime.ask_again import LONGEST_PAUSE_SECONDS
from actors.runtime.runtime import Runtime
from agiraph.core.concurrency import BackgroundTasks, first_to_end
from agiraph.messages.body import MessageBody
from transport.endpoint import Received
from transport.errors import TransportError

AT_LEAST_SECONDS = 2 * LONGEST_PAUSE_SECONDS
"""The sender that woke a process asks again after a pause: the process must still exist then."""

Key = tuple[str, bytes]
STORED_ANSWERS = 64


@dataclass(slots=True)
class CallInFlight:
    """One call: the messages that await its answer, the newest last, and its task.

    `digest` returns the digest that distinguishes questions with the same id. `is_stored`: its
    answer is stored; `ends_with_sender`: the call is cancelled when its sender is gone.
    """

    requests: list[Received]
    digest: Callable[[], bytes] = bytes
    is_stored: bool = False
    ends_with_sender: bool = True
    task: "asyncio.Task[None]" = field(init=False)
    cancellation: asyncio.TimerHandle | None = None

    @property
    def sender(self) -> str:
        """The address of the newest message's sender."""
        return self.requests[-1].header.sender

    def is_ending(self) -> bool:
        """Whether the call's task has ended or is being cancelled: it gives no answer."""
        return self.task.done() or bool(self.task.cancelling())

    def keep(self) -> None:
        """Revoke the planned cancellation of the call, if there is one."""
        if self.cancellation is not None:
            self.cancellation.cancel()
            self.cancellation = None


Answer = Callable[[CallInFlight], Awaitable[MessageBody]]


class CallsInFlight:
    """The calls in progress, each among `tasks`, and the last answers that are stored.

    A call whose sender is gone is cancelled after `orphan_seconds`.
    """

    def __init__(
        self, runtime: Runtime, tasks: BackgroundTasks, *, orphan_seconds: float = 0
    ) -> None:
        self._runtime = runtime
        self._tasks = tasks
        self._orphan_seconds = orphan_seconds
        self._calls: dict[Key, CallInFlight] = {}
        self._answers: dict[Key, tuple[bytes, MessageBody]] = {}

    async def serve(
        self,
        take: Callable[[Received], None],
        park_after_seconds: float,
        *alongside: Coroutine[Any, Any, object],
    ) -> None:
        """Pass messages to `take` until one of `alongside` ends; parks when idle for long.

        The process parks after `park_after_seconds` without messages and calls.
        """
        self._runtime.endpoint.on_down = self.peer_down
        await self._runtime.ready()
        taking = take_until_idle(
            self._runtime, take, lambda: self._tasks.is_empty, park_after_seconds
        )
        try:
            await first_to_end(taking, self._tasks.until_broken(), *alongside)
        finally:
            await self._tasks.stop()

    def call(self, received: Received, answer: Answer, digest: Callable[[], bytes] = bytes) -> None:
        """Answer a message with the result of `answer`, which is called once for a call."""
        key = (received.header.sender, received.header.id)
        stored = self._answers.get(key)
        if stored is not None and stored[0] == digest():
            self._tasks.start(self.reply(received, stored[1]))
            return
        running = self._calls.get(key)
        if running and running.digest() == digest() and not running.is_ending():
            running.requests = [received]
            running.keep()
            return
        if running is not None:
            running.task.cancel()
        call = self._calls[key] = CallInFlight([received], digest)
        call.task = self._tasks.start(self._run(key, call, answer))
        # A callback: a task that is cancelled before its first step never reaches a `finally`.
        call.task.add_done_callback(lambda task: self._forget(key, call))

    def fetch(self, received: Received, id: bytes, missing: MessageBody) -> None:
        """Answer a message with the answer of an earlier call, `missing` if there is none."""
        key = (received.header.sender, id)
        running = self._calls.get(key)
        if running is not None and not running.is_ending():
            running.requests.append(received)
            return
        _, answer = self._answers.get(key, (b"", missing))
        self._tasks.start(self.reply(received, answer))

    def cancel(self, sender: str, id: bytes) -> None:
        """Cancel the call `id` of this sender, if it runs."""
        if (call := self._calls.get((sender, id))) is not None:
            call.task.cancel()

    def peer_down(self, address: str, incarnation: int) -> None:
        """Cancel the calls of a peer that is gone, after the grace period."""
        for call in self._calls.values():
            header = call.requests[-1].header
            if not call.ends_with_sender or call.sender != address:
                continue
            if header.incarnation == incarnation:
                call.keep()
                loop = asyncio.get_running_loop()
                call.cancellation = loop.call_later(self._orphan_seconds, call.task.cancel)

    async def reply(self, received: Received, body: MessageBody) -> None:
        """Send an answer; a sender that cannot be reached asks again after its restart."""
        try:
            await self._runtime.reply(received, body)
        except TransportError as error:
            self._runtime.log.warning("an answer could not be sent", reason=str(error))

    async def _run(self, key: Key, call: CallInFlight, answer: Answer) -> None:
        body = await answer(call)
        for request in call.requests:
            await self.reply(request, body)
        if call.is_stored:
            self._answers.pop(key, None)
            self._answers[key] = (call.digest(), body)
            if len(self._answers) > STORED_ANSWERS:
                del self._answers[next(iter(self._answers))]

    def _forget(self, key: Key, call: CallInFlight) -> None:
        call.keep()
        if self._calls.get(key) is call:
            del self._calls[key]


async def take_until_idle(
    runtime: Runtime,
    take: Callable[[Received], None],
    is_idle: Callable[[], bool],
    park_after_seconds: float,
) -> None:
    """Pass every message to `take`; park after an idle `park_after_seconds` (0: never).

    Never returns: parking ends the process.
    """
    patience = max(park_after_seconds, AT_LEAST_SECONDS) if park_after_seconds else None
    receiving = asyncio.ensure_future(runtime.receive())
    try:
        while True:
            done, _ = await asyncio.wait({receiving}, timeout=patience)
            if done:
                take(receiving.result())
                receiving = asyncio.ensure_future(runtime.receive())
            elif runtime.is_announced and is_idle():
                runtime.park()
    finally:
        receiving.cancel()
