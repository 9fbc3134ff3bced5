"""Messages lost or doubled in thousands of simulated deaths: sender, receiver and router in turn.

The real switch, link and endpoint in one event loop, the real mailboxes on disk. A death is a
process's end as the others see it: what it had not written is gone, frames on their way are lost.
The sender numbers its messages and writes down which were accepted; the receiver writes a message
down together with its effect, and says done a moment later; each may be struck between any two of
these.

Run it as `python -m benchmarks.deaths`; `--kills N`, `--seed S`.
"""

import asyncio
import json
import random
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import click
from pydantic import BaseModel

from benchmarks.figures import Figure
from transport.codec import Codec
from transport.errors import TransportError
from transport.stored_mailboxes import StoredMailboxes
from transport.testing.loopback import LoopbackRouter

KILLS = 10_000
QUICK_KILLS = 500
IN_FLIGHT = 4
TURNS_BETWEEN = 8
SENDER, RECEIVER, ROUTER = "ada", "bob", "router"
WITHIN_SECONDS = 30.0

Result = dict[str, int]


class Numbered(BaseModel):
    """One of the messages."""

    TYPE: ClassVar[str] = "numbered"
    DURABLE: ClassVar[bool] = True
    n: int


CODEC = Codec([Numbered])


class Sender:
    """Sends 0, 1, 2, ...; `accepted` is its journal: up to here the router keeps them all."""

    def __init__(self, router: LoopbackRouter) -> None:
        self._router = router
        self._incarnation = 0
        self.accepted = 0
        self.last: int | None = None
        self.live()

    def live(self) -> None:
        """Begin an incarnation."""
        self._incarnation += 1
        self._endpoint = self._router.endpoint(SENDER, self._incarnation, codec=CODEC)
        self._life = asyncio.create_task(self._send())

    async def die(self) -> None:
        """End as a killed process does."""
        await _kill(self._life)
        self._endpoint.abort()

    async def _send(self) -> None:
        await self._endpoint.start()
        while self.last is None or self.accepted < self.last:
            numbers = range(self.accepted, self.accepted + IN_FLIGHT)
            await asyncio.gather(*(self._send_one(n) for n in numbers))
            self.accepted = numbers.stop

    async def _send_one(self, n: int) -> None:
        await self._endpoint.send(RECEIVER, Numbered(n=n), id=n.to_bytes(16, "big"))


class Receiver:
    """`journal` lists (id, number) of all that had its effect; it is read at each beginning."""

    def __init__(self, router: LoopbackRouter, dice: random.Random) -> None:
        self._router = router
        self._dice = dice
        self._incarnation = 0
        self.journal: list[tuple[bytes, int]] = []
        self.live()

    def live(self) -> None:
        """Begin an incarnation."""
        self._incarnation += 1
        self._endpoint = self._router.endpoint(RECEIVER, self._incarnation, codec=CODEC)
        self._life = asyncio.create_task(self._receive())

    async def die(self) -> None:
        """End as a killed process does."""
        await _kill(self._life)
        self._endpoint.abort()

    async def _receive(self) -> None:
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
        """Leave a gap, now and then, in which a death may fall."""
        for _ in range(self._dice.randrange(3)):
            await asyncio.sleep(0)


def run(kills: int = KILLS, seed: int = 1) -> Result:
    """Strike `kills` times and return what came of it."""
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        return asyncio.run(_storm(Path(folder) / "mailboxes.db", kills, random.Random(seed)))


async def _storm(path: Path, kills: int, dice: random.Random) -> Result:
    mailboxes = _open(path)
    router = LoopbackRouter(mailboxes)
    receiver, sender = Receiver(router, dice), Sender(router)
    struck: Counter[str] = Counter()
    for _ in range(kills):
        for _ in range(dice.randrange(TURNS_BETWEEN * 4)):
            await asyncio.sleep(0)
        who = dice.choice((SENDER, RECEIVER, ROUTER))
        struck[who] += 1
        if who == ROUTER:
            mailboxes.close()  # with no commit: what was not written is lost
            mailboxes = _open(path)
            router.restart(mailboxes)
        else:
            one = sender if who == SENDER else receiver
            await one.die()
            one.live()
    await _settle(sender, receiver)
    sent = sender.accepted
    for one in (sender, receiver):
        await one.die()
    mailboxes.close()
    journal = [n for _, n in receiver.journal]
    counts = Counter(journal)
    return {
        "kills": struck.total(),
        **{f"kills_{who}": count for who, count in sorted(struck.items())},
        "messages": sent,
        "lost": sum(1 for n in range(sent) if n not in counts),
        "doubled": sum(count - 1 for count in counts.values()),
        "out_of_order": sum(1 for one, next in pairwise(journal) if next < one),
    }


async def _settle(sender: Sender, receiver: Receiver) -> None:
    """Let what was sent arrive; gives up in time, and what is missing then counts as lost."""
    sender.last = sender.accepted + IN_FLIGHT
    with suppress(TimeoutError):
        async with asyncio.timeout(WITHIN_SECONDS):
            while sender.accepted < sender.last or len(receiver.journal) < sender.last:  # noqa: ASYNC110 (any turn of the loop may be the one)
                await asyncio.sleep(0)


def _open(path: Path) -> StoredMailboxes:
    # A simulated death leaves the page cache: nothing needs to be synced.
    return StoredMailboxes(path, durability="normal")


async def _kill(life: "asyncio.Task[None]") -> None:
    life.cancel()
    with suppress(asyncio.CancelledError, TransportError):
        await life


def figures(result: Result) -> list[Figure]:
    """Return the one number that matters, as a share of the deaths."""
    wrong = result["lost"] + result["doubled"] + result["out_of_order"]
    seen = (
        f"{result['lost']} lost, {result['doubled']} doubled, {result['out_of_order']} out of "
        f"order of {result['messages']:,} messages"
    )
    what = "messages lost or doubled per simulated death"
    peer = f"{result['kills']:,} deaths of sender, receiver and router"
    return [Figure(what, peer, wrong / result["kills"], "at most", 0, seen)]


@click.command()
@click.option("--kills", type=click.IntRange(min=1), default=KILLS, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(kills: int, seed: int) -> None:
    """Print what came of it."""
    click.echo(json.dumps(run(kills, seed), indent=1))


if __name__ == "__main__":
    main()
