"""Messages lost or doubled in thousands of simulated crashes: sender, receiver and router in turn.

The real router core, link and endpoint in one event loop, the real mailboxes on disk. A crash is
the end of a process as the others see it: what it had not written is gone, frames on their way are
lost. The sender numbers its messages and records which were accepted; the receiver records a
message together with its effect, and acknowledges it a moment later; each may crash between any two
of these.
"""

import asyncio
import random
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_most
from transport.codec import Codec
from transport.errors import TransportError
from transport.stored_mailboxes import StoredMailboxes
from transport.testing.loopback import LoopbackRouter

CRASHES, QUICK_CRASHES, FULL_CRASHES = 2_000, 300, 10_000
SEED = 1
IN_FLIGHT = 4
TURNS_BETWEEN = 32
REPORT_EVERY = 500
SENDER, RECEIVER, ROUTER = "ada", "bob", "router"
WITHIN_SECONDS = 30.0


class Numbered(BaseModel):
    """One of the messages."""

    TYPE: ClassVar[str] = "numbered"
    DURABLE: ClassVar[bool] = True
    n: int


CODEC = Codec([Numbered])


class Peer:
    """One process as the others see it; `crash` ends it as a kill does."""

    def __init__(self, router: LoopbackRouter, address: str) -> None:
        self._router = router
        self._address = address
        self._incarnation = 0
        self.start()

    def start(self) -> None:
        """Start an incarnation."""
        self._incarnation += 1
        self._endpoint = self._router.endpoint(self._address, self._incarnation, codec=CODEC)
        self._task = asyncio.create_task(self._run())

    async def crash(self) -> None:
        """End the incarnation; what it had not written is gone."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, TransportError):
            await self._task
        self._endpoint.abort()

    async def _run(self) -> None:
        raise NotImplementedError


class Sender(Peer):
    """Sends 0, 1, 2, ...; `accepted` is its journal: the router has all before this one."""

    accepted = 0
    last: int | None = None

    async def _run(self) -> None:
        await self._endpoint.start()
        while self.last is None or self.accepted < self.last:
            numbers = range(self.accepted, self.accepted + IN_FLIGHT)
            await asyncio.gather(*(self._send_one(n) for n in numbers))
            self.accepted = numbers.stop

    async def _send_one(self, n: int) -> None:
        await self._endpoint.send(RECEIVER, Numbered(n=n), id=n.to_bytes(16, "big"))


class Receiver(Peer):
    """`journal` lists (id, number) of all that had its effect; it is read at each start."""

    def __init__(self, router: LoopbackRouter, dice: random.Random) -> None:
        self._dice = dice
        self.journal: list[tuple[bytes, int]] = []
        super().__init__(router, RECEIVER)

    async def _run(self) -> None:
        known = {id_ for id_, _ in self.journal}
        await self._endpoint.start()
        while True:
            received = await self._endpoint.receive()
            assert isinstance(received.body, Numbered)
            id_, n = received.header.id, received.body.n
            await self._linger()
            if id_ not in known:
                self.journal.append((id_, n))
                known.add(id_)
            await self._linger()
            self._endpoint.done(received)

    async def _linger(self) -> None:
        """Leave a gap, now and then, in which a crash may fall."""
        for _ in range(self._dice.randrange(3)):
            await asyncio.sleep(0)


def run(options: Options) -> list[Figure]:
    """Simulate crashes; every message must have its effect once, in order."""
    count = FULL_CRASHES if options.is_full else options.count(CRASHES, QUICK_CRASHES)
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        path = Path(folder) / "mailboxes.db"
        sent, journal = asyncio.run(_simulate(path, count, random.Random(SEED)))
    counts = Counter(journal)
    lost = sum(1 for n in range(sent) if n not in counts)
    doubled = sum(count - 1 for count in counts.values())
    out_of_order = sum(1 for one, next in pairwise(journal) if next < one)
    seen = f"{lost} lost, {doubled} doubled, {out_of_order} out of order of {sent:,} messages"
    what, peer = "messages lost or doubled per simulated crash", f"{count:,} crashes"
    return [at_most(what, peer, (lost + doubled + out_of_order) / count, 0.0, seen)]


async def _simulate(path: Path, count: int, dice: random.Random) -> tuple[int, list[int]]:
    """Return how many messages were sent, and the numbers of those that had an effect."""
    mailboxes = _open(path)
    router = LoopbackRouter(mailboxes)
    receiver, sender = Receiver(router, dice), Sender(router, SENDER)
    for number in range(count):
        if number % REPORT_EVERY == 0:
            progress(f"{number:,} of {count:,} crashes")
        for _ in range(dice.randrange(TURNS_BETWEEN)):
            await asyncio.sleep(0)
        who = dice.choice((SENDER, RECEIVER, ROUTER))
        if who == ROUTER:
            mailboxes.close()  # with no commit: what was not written is lost
            mailboxes = _open(path)
            router.restart(mailboxes)
        else:
            one = sender if who == SENDER else receiver
            await one.crash()
            one.start()
    await _settle(sender, receiver)
    for one in (sender, receiver):
        await one.crash()
    mailboxes.close()
    return sender.accepted, [n for _, n in receiver.journal]


async def _settle(sender: Sender, receiver: Receiver) -> None:
    """Wait until what was sent has arrived; what is missing at the deadline counts as lost."""
    sender.last = sender.accepted + IN_FLIGHT
    with suppress(TimeoutError):
        async with asyncio.timeout(WITHIN_SECONDS):
            while sender.accepted < sender.last or len(receiver.journal) < sender.last:  # noqa: ASYNC110 (it may be so after any turn of the loop)
                await asyncio.sleep(0)


def _open(path: Path) -> StoredMailboxes:
    # A simulated crash leaves the page cache: nothing needs to be synced.
    return StoredMailboxes(path, durability="normal")
