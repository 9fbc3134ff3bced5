"""The endpoint: how a process uses the bus, in asyncio.

    send      a durable message: returns when the router has stored it; a passing one: at once
    ask       send, and wait for the answer        reply   answer a received message
    receive   the next message that is not an answer   done    its effect is recorded

An endpoint is a thin shell around `Link`: a wire carries the frames, futures carry the answers.
"""

import asyncio
import hashlib
import os
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from pydantic import BaseModel

from transport import tickets
from transport.codec import Codec, is_durable, type_of
from transport.envelope import ID_BYTES, MAX_BLOB, VERSION, Flag, Header, pack
from transport.errors import (
    DeadlineExceeded,
    Fenced,
    LinkDown,
    MalformedBody,
    Nacked,
    NotStored,
    TransportError,
    UnknownType,
)
from transport.link import (
    Link,
    LinkEnded,
    LinkState,
    LinkWelcomed,
    MessageAccepted,
    MessageArrived,
    MessageRefused,
    PeerDown,
)
from transport.pending_requests import PendingRequest, PendingRequests, Received, fail
from transport.wire import Wire, ZmqWire

__all__ = ["Endpoint", "Received"]

TICK_SECONDS = 1.0
CLOSE_SECONDS = 2.0
MAX_INBOX = 10_000


class Endpoint:
    """One incarnation of an address, on the bus.

    `on_down(address, incarnation)` is called when a peer disconnected; `on_welcome(epoch)` each
    time the router has (again) admitted us. `fenced` is set when this process must exit: a newer
    incarnation of the address exists, or the router refuses us. While the router's disk is full a
    durable message waits for room; without `waits_for_room` it is refused with NotStored.
    """

    def __init__(
        self,
        *,
        url: str,
        address: str,
        incarnation: int,
        ticket: bytes,
        codec: Codec,
        wire: Wire | None = None,
        waits_for_room: bool = True,
    ) -> None:
        self.address = address
        self.incarnation = incarnation
        self.trace: str | None = None
        """The trace of every message that is sent without its own trace."""
        self.fenced = asyncio.Event()
        self.on_down: Callable[[str, int], None] | None = None
        self.on_welcome: Callable[[bytes], None] | None = None
        self.undecodable = 0
        self._url = url
        self._codec = codec
        self._link = Link(
            address, incarnation, ticket, os.getpid(), raises_when_full=not waits_for_room
        )
        self._wire = wire or ZmqWire(url, tickets.routing_id(ticket))
        self._accepting: dict[bytes, asyncio.Future[None]] = {}
        self._asks = PendingRequests(put_away=self.done)
        self._inbox: deque[Received] = deque()
        self._changed = asyncio.Event()
        self._failure: TransportError | None = LinkDown(f"{address} has not started its endpoint")
        self._ticker: asyncio.TimerHandle | None = None
        self._is_flushing = False

    @property
    def is_up(self) -> bool:
        """Whether the router has admitted us and the connection is open."""
        return self._link.state is LinkState.UP and self._failure is None

    @property
    def has_unread(self) -> bool:
        """Whether a message has arrived that `receive` has not returned yet."""
        return bool(self._inbox)

    @property
    def has_undone(self) -> bool:
        """Whether a durable message has arrived that is not acknowledged as done.

        The router would deliver that message to the next incarnation. Unclaimed answers do not
        count.
        """
        return self._link.holds > self._asks.unclaimed

    # --- life -----------------------------------------------------------------------------------

    async def start(self, within_seconds: float = 10) -> None:
        """Connect and say hello. Raises LinkDown (no router in time), Fenced, or Nacked."""
        self._loop = asyncio.get_running_loop()
        self._failure = None
        self._wire.open(self)
        self._tick_at = self._loop.time() + TICK_SECONDS
        self._ticker = self._loop.call_at(self._tick_at, self._tick)
        try:
            async with asyncio.timeout(within_seconds):
                await self._until(lambda: self._link.state is LinkState.UP)
        except TimeoutError:
            self._close_wire(LinkDown(f"no router at {self._url} within {within_seconds:g} s"), 0)
            raise LinkDown(f"no router at {self._url} within {within_seconds:g} s") from None
        except BaseException as error:
            self._close_wire(
                error if isinstance(error, TransportError) else LinkDown("not started"), 0
            )
            raise

    async def close(self) -> None:
        """Wait a moment for messages that are not yet accepted, send bye, and close."""
        link = self._link
        linger = 0.0
        try:
            if link.state is LinkState.UP and self._failure is None:
                async with asyncio.timeout(CLOSE_SECONDS):
                    self._flush()
                    await self._until(lambda: link.is_idle)
                    link.close()
                    self._flush()
                    await self._until(lambda: link.state is LinkState.LEFT)
                linger = CLOSE_SECONDS
        except (TimeoutError, TransportError):
            pass  # the next incarnation sends the messages that were not accepted
        finally:
            self._close_wire(LinkDown(f"{self.address} has closed its endpoint"), linger)

    def abort(self) -> None:
        """Close at once without a bye: other peers see the same as if this process had died."""
        self._close_wire(LinkDown(f"{self.address} has aborted its endpoint"), 0)

    # --- sending --------------------------------------------------------------------------------

    async def send(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        reply_to: bytes | None = None,
        trace: str | None = None,
    ) -> bytes:
        """Send a message and return its id.

        A durable message: returns once the router has stored it; waits while the router is away; if
        the caller is cancelled it may still be delivered. A passing one: returns at once, and may
        be dropped. Raises Nacked, NotStored, Fenced, LinkDown (closed), MalformedBody.
        """
        header = self._header(to, body, id, reply_to, trace)
        if not header.is_durable:
            self._submit(header, self._pack(header, body))
            return header.id
        await self._accepted(header, body)
        return header.id

    def post(self, to: str, body: BaseModel, *, reply_to: bytes | None = None) -> None:
        """Send a passing message and return at once; with a full socket the oldest are dropped.

        A message larger than the limit is dropped, too. Raises ValueError for a durable body.
        """
        header = self._header(to, body, None, reply_to, None)
        if header.is_durable:
            raise ValueError(f"{header.type} is durable: send it")
        if self._failure is None:
            try:
                blob = self._pack(header, body)
            except Nacked:
                return
            self._submit(header, blob)

    async def ask(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Received:
        """Send a request and return the message that answers it (`done` it if it is durable).

        A passing request fails with PeerLost if `to` disconnects or the router restarts; a durable
        one continues waiting, as it will be delivered again. Raises DeadlineExceeded, and the
        errors of `send`.
        """
        header = self._header(to, body, id, None, None, flags=Flag.ASK)
        early = self._asks.claim(header.id, to)
        if early is not None:
            return early
        answer: asyncio.Future[Received] = asyncio.get_running_loop().create_future()
        is_up = self._link.state is LinkState.UP
        self._asks.open(header.id, PendingRequest(to, answer, not header.is_durable, is_up))
        try:
            async with asyncio.timeout(within_seconds):
                if header.is_durable:
                    await self._accepted(header, body)
                else:
                    self._submit(header, self._pack(header, body))
                return await answer
        except TimeoutError:
            raise DeadlineExceeded(
                f"{to} did not answer {header.type} within {within_seconds or 0:g} s"
            ) from None
        finally:
            self._asks.close(header.id)

    async def reply(self, received: Received, body: BaseModel, *, id: bytes | None = None) -> bytes:
        """Answer a request; return the answer's id, the same for a repeated durable answer.

        An answer that cannot be sent (it is too large, or a value in it cannot be encoded) is
        replaced by the codec's refusal: without a reply the requester would wait forever.
        """
        try:
            return await self._reply(received.header, body, id)
        except (Nacked, MalformedBody) as error:
            refusal = self._codec.refusal
            if refusal is None or (isinstance(error, Nacked) and error.reason != "too_large"):
                raise
            why = f"the answer of {self.address} to {received.header.type} cannot be sent: {error}"
            return await self._reply(received.header, refusal(reason=why), id)

    async def _reply(self, asked: Header, body: BaseModel, id: bytes | None) -> bytes:
        if id is None and is_durable(type(body)):
            id = _answer_id(self.address, asked.id)
        return await self.send(asked.sender, body, id=id, reply_to=asked.id, trace=asked.trace)

    # --- receiving ------------------------------------------------------------------------------

    async def receive(self) -> Received:
        """Return the next message that is not an answer. Raises Fenced, Nacked, LinkDown."""
        await self._until(lambda: bool(self._inbox))
        return self._inbox.popleft()

    def done(self, received: Received) -> None:
        """Acknowledge that a durable message has had its effect; no effect for a passing one."""
        if received.header.is_durable:
            self._link.done(received.header.id)
            self._flush_soon()

    # --- WireEvents -----------------------------------------------------------------------------

    def connected(self) -> None:
        """Say hello to the router: a connection is open."""
        self._link.connected(self._loop.time())
        self._flush_soon()

    def disconnected(self) -> None:
        """Handle the loss of the connection; the wire reconnects."""
        self._link.disconnected()

    def writable(self) -> None:
        """Send the frames that waited for room."""
        self._flush_soon()

    def frame(self, blob: bytes) -> None:
        """Handle one frame from the router."""
        for event in self._link.arrived(blob, self._loop.time()):
            match event:
                case MessageArrived(header, body):
                    self._deliver(header, body)
                case MessageAccepted(id):
                    self._settle(id, None)
                case MessageRefused(id, reason, detail, by):
                    self._refused(id, reason, detail, by)
                case PeerDown():
                    self._peer_down(event)
                case LinkWelcomed():
                    self._welcomed(event)
                case LinkEnded():
                    self._ended(event)
                case _:
                    assert_never(event)
        self._flush_soon()

    # --- inside ---------------------------------------------------------------------------------

    def _deliver(self, header: Header, body: bytes) -> None:
        """Decode a message and pass it to the asker that waits for it, or to `receive`."""
        is_tap = header.to != self.address
        flags = header.flags | Flag.TAP if is_tap else header.flags & ~Flag.TAP
        header = replace(header, flags=int(flags))
        try:
            received = Received(header, self._codec.decode(header.type, body))
        except (UnknownType, MalformedBody) as error:
            self.undecodable += 1
            self._link.done(header.id)
            if not is_tap:
                self._link.refuse(header, str(error)[:200])
            return
        if header.reply_to is not None and not is_tap:
            self._asks.answered(received)
        elif len(self._inbox) < MAX_INBOX or header.is_durable:
            self._inbox.append(received)
            self._changed.set()

    def put_away_unclaimed(self) -> None:
        """Acknowledge every answer without a question: this process will not ask (again)."""
        self._asks.put_away_unclaimed()

    def _welcomed(self, event: LinkWelcomed) -> None:
        self._asks.welcomed(was_lossy=event.lost)
        self._changed.set()
        if self.on_welcome is not None:
            self.on_welcome(event.epoch)

    def _peer_down(self, event: PeerDown) -> None:
        self._asks.peer_down(event)
        is_gone = event.ask is None and not event.is_back
        if is_gone and self.on_down is not None:
            self.on_down(event.address, event.incarnation)

    def _refused(self, id: bytes, reason: str, detail: str, by: str) -> None:
        error = NotStored(detail) if reason == "not_stored" else Nacked(reason, detail)
        self._asks.refused(id, by, error)
        if by == "router":
            self._settle(id, error)

    def _ended(self, event: LinkEnded) -> None:
        if event.state is LinkState.LEFT:
            self._changed.set()
        elif event.state is LinkState.FENCED:
            self._fail_all(Fenced(event.detail))
            self.fenced.set()
        else:
            self._fail_all(Nacked(event.reason, event.detail))
            self.fenced.set()

    async def _accepted(self, header: Header, body: BaseModel) -> None:
        """Send a durable message and wait until the router has stored it."""
        waiting = self._accepting.get(header.id)
        if waiting is None:
            blob = self._pack(header, body)
            self._raise_failure()
            waiting = asyncio.get_running_loop().create_future()
            self._accepting[header.id] = waiting
            self._submit(header, blob)
        await asyncio.shield(waiting)

    def _settle(self, id: bytes, error: TransportError | None) -> None:
        waiting = self._accepting.pop(id, None)
        if waiting is None:
            self._changed.set()
        elif error is None:
            waiting.set_result(None)
        else:
            fail(waiting, error)
        if not self._accepting:
            self._changed.set()

    def _submit(self, header: Header, blob: bytes) -> None:
        self._raise_failure()
        is_expendable = header.reply_to is None and not header.flags & Flag.ASK
        self._link.submit(
            header.id,
            blob,
            durable=header.is_durable,
            expendable=is_expendable,
            now=self._loop.time(),
        )
        if is_expendable:
            self._flush_soon()
        else:
            self._flush()  # a caller waits for it

    def _header(
        self,
        to: str,
        body: BaseModel,
        id: bytes | None,
        reply_to: bytes | None,
        trace: str | None,
        flags: Flag = Flag(0),  # noqa: B008 (immutable)
    ) -> Header:
        if is_durable(type(body)):
            flags |= Flag.DURABLE
        return Header(
            VERSION,
            secrets.token_bytes(ID_BYTES) if id is None else id,
            type_of(type(body)),
            to,
            self.address,
            self.incarnation,
            reply_to,
            time.time(),
            int(flags),
            trace if trace is not None else self.trace,
        )

    def _pack(self, header: Header, body: BaseModel) -> bytes:
        blob = pack(header, self._codec.encode(body))
        if len(blob) > MAX_BLOB:
            raise Nacked("too_large", f"{header.type} has {len(blob)} bytes of {MAX_BLOB}")
        return blob

    def _flush_soon(self) -> None:
        """Send at the end of this turn of the loop: many messages at once."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        self._link.flush_acks()
        out = self._link.out
        while out and self._wire.send(out.first()):
            out.pop()
        if self._link.is_idle:
            self._changed.set()

    def _tick(self) -> None:
        """Run once a second: update the time of the link, and check for lost wake-ups."""
        now = self._loop.time()
        self._link.tick(now, max(0.0, now - self._tick_at))
        self._wire.poll()
        self._flush_soon()
        self._tick_at = now + TICK_SECONDS
        self._ticker = self._loop.call_at(self._tick_at, self._tick)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so()`. Raises the failure of this endpoint when it has ended."""
        while not is_so() and self._failure is None:
            self._changed.clear()
            await self._changed.wait()
        if not is_so():
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail_all(self, error: TransportError) -> None:
        """Fail all waiters: this endpoint no longer sends or receives."""
        self._failure = self._failure or error
        self._asks.fail_all(error)
        for waiting in self._accepting.values():
            fail(waiting, error)
        self._accepting.clear()
        self._changed.set()

    def _close_wire(self, error: TransportError, linger_seconds: float) -> None:
        self._fail_all(error)
        if self._ticker is not None:
            self._ticker.cancel()
        self._wire.close(linger_seconds)


def _answer_id(address: str, asked: bytes) -> bytes:
    seed = address.encode() + b"\x1freply\x1f" + asked
    return hashlib.blake2b(seed, digest_size=ID_BYTES).digest()
