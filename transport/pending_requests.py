"""PendingRequests: open questions of one endpoint, and answers that arrived too early.

A passing question fails when it may have been lost: its receiver, its connection or the router
disconnected. A durable one continues waiting, as it will be delivered again. A durable answer
without a question (its asker died meanwhile) is kept for the asker's next incarnation, which asks
again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel

from transport.envelope import Header
from transport.errors import PeerLost, TransportError
from transport.link import PeerDown

MAX_UNCLAIMED = 64


@dataclass(frozen=True, slots=True)
class Received:
    """A received message."""

    header: Header
    body: BaseModel


@dataclass(slots=True)
class PendingRequest:
    """A question that waits for its answer.

    `was_sent`: the link was up when the question was sent.
    """

    to: str
    answer: asyncio.Future[Received]
    is_passing: bool
    was_sent: bool

    def fail(self, error: TransportError) -> None:
        """End the wait with an error, unless the wait is over."""
        fail(self.answer, error)


class PendingRequests:
    """All open questions by id. `put_away` receives a durable answer without a question."""

    def __init__(self, put_away: Callable[[Received], None]) -> None:
        self._put_away = put_away
        self._open: dict[bytes, PendingRequest] = {}
        self._unclaimed: OrderedDict[bytes, Received] = OrderedDict()

    def claim(self, id: bytes, to: str) -> Received | None:
        """Return the answer to a question if it arrived before the question."""
        early = self._unclaimed.get(id)
        if early is None or early.header.sender != to:
            return None
        return self._unclaimed.pop(id)

    def open(self, id: bytes, ask: PendingRequest) -> None:
        """Begin to wait for an answer. Raises ValueError if this question is already open."""
        if id in self._open:
            raise ValueError("this question is being asked already")
        self._open[id] = ask

    def close(self, id: bytes) -> None:
        """End the wait for the answer to a question."""
        answer = self._open.pop(id).answer
        if answer.done() and not answer.cancelled():
            answer.exception()  # retrieved, even without a waiter

    def answered(self, received: Received) -> None:
        """Pass an answer to its question; keep a durable one for a repeated question."""
        asked = received.header.reply_to
        assert asked is not None
        ask = self._open.get(asked)
        if ask is not None and ask.to == received.header.sender and not ask.answer.done():
            ask.answer.set_result(received)
            return
        if not received.header.is_durable:
            return
        self._unclaimed[asked] = received
        if len(self._unclaimed) > MAX_UNCLAIMED:
            # They fill the window of the router's deliveries; the oldest will not be asked for.
            self._put_away_oldest()

    @property
    def unclaimed(self) -> int:
        """How many durable answers are kept without a question."""
        return len(self._unclaimed)

    def put_away_unclaimed(self) -> None:
        """Pass all answers without a question to `put_away`: nobody will ask (again)."""
        while self._unclaimed:
            self._put_away_oldest()

    def welcomed(self, *, was_lossy: bool) -> None:
        """Handle a welcome of the router: earlier questions may be lost."""
        for ask in self._open.values():
            if was_lossy and ask.is_passing and ask.was_sent:
                ask.fail(PeerLost("the router was away; the question may be lost"))
            ask.was_sent = True

    def peer_down(self, event: PeerDown) -> None:
        """Fail questions to a peer that is not connected, or lost its connection for a moment."""
        if event.ask is not None:
            ask = self._open.get(event.ask)
            if ask is not None and ask.is_passing:
                ask.fail(PeerLost(f"{event.address} is not there"))
            return
        how = "was cut off; the question may be lost" if event.is_back else "is not there any more"
        for ask in self._open.values():
            if ask.to == event.address and ask.is_passing:
                ask.fail(PeerLost(f"{event.address} {how}"))

    def refused(self, id: bytes, by: str, error: TransportError) -> None:
        """Fail a question that the router or its receiver has refused."""
        ask = self._open.get(id)
        if ask is not None and by in ("router", ask.to):
            ask.fail(error)

    def fail_all(self, error: TransportError) -> None:
        """End every wait with an error."""
        for ask in self._open.values():
            ask.fail(error)

    def _put_away_oldest(self) -> None:
        _, oldest = self._unclaimed.popitem(last=False)
        self._put_away(oldest)


def fail(future: asyncio.Future[Received] | asyncio.Future[None], error: TransportError) -> None:
    """Set an error on a future, unless the future is done."""
    if not future.done():
        future.set_exception(error)
        future.exception()  # retrieved: its waiter may have been cancelled
