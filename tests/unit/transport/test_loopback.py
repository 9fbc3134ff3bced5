"""The loopback's faults, and an endpoint without answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from actors.router.main import TOPOLOGY
from tests.contracts.bus import CODEC, PATIENCE, Ping, Result, Task, number, numbers, take, until
from transport.endpoint import Endpoint
from transport.errors import LinkDown
from transport.pending_requests import MAX_UNCLAIMED
from transport.testing.loopback import LoopbackRouter


class Pair(NamedTuple):
    """Two started endpoints on one bus."""

    router: LoopbackRouter
    ada: Endpoint
    bob: Endpoint


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    router = LoopbackRouter(topology=TOPOLOGY)
    ends = [router.endpoint(name, codec=CODEC) for name in ("ada", "bob")]
    for one in ends:
        await one.start(PATIENCE)
    yield Pair(router, *ends)
    for one in ends:
        await one.close()


@pytest.mark.parametrize("cut", ["ada", "bob"])
async def test_a_cut_connection_loses_nothing_and_doubles_nothing(pair: Pair, cut: str) -> None:
    router, ada, bob = pair
    sending = [asyncio.create_task(ada.send("bob", Task(n=n))) for n in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    router.cut(cut)
    router.mend(cut)
    assert await numbers(bob, 5) == [0, 1, 2, 3, 4]
    await asyncio.gather(*sending)
    with pytest.raises(LookupError):
        router.cut("nobody")


async def test_unclaimed_answers_do_not_fill_the_window(pair: Pair) -> None:
    router, ada, bob = pair
    for n in range(MAX_UNCLAIMED * 5):
        await bob.send("ada", Result(n=n), reply_to=n.to_bytes(16, "big"))
    await bob.send("ada", Task(n=1))
    assert number(await take(ada)) == 1
    await until(lambda: router.mailboxes.depths()["ada"][0] <= MAX_UNCLAIMED + 1)


async def test_unclaimed_answers_are_acknowledged(pair: Pair) -> None:
    router, ada, bob = pair
    await bob.send("ada", Result(n=1), reply_to=bytes(16))
    await bob.send("ada", Task(n=1))
    received = await ada.receive()
    ada.put_away_unclaimed()
    ada.done(received)
    await until(lambda: router.mailboxes.depths().get("ada", (0,))[0] == 0)


async def test_ended_endpoint_raises_in_every_waiting_call(pair: Pair) -> None:
    _, ada, bob = pair
    waiting = [
        asyncio.create_task(ada.receive()),
        asyncio.create_task(ada.ask("bob", Ping())),
        asyncio.create_task(ada.ask("bob", Task())),
    ]
    await take(bob)
    ada.abort()
    await asyncio.wait(waiting, timeout=PATIENCE)
    assert all(isinstance(one.exception(), LinkDown) for one in waiting)
    ada.post("bob", Ping())
    with pytest.raises(LinkDown):
        await ada.send("bob", Ping())
    with pytest.raises(ValueError, match="durable"):
        bob.post("ada", Task())


async def test_a_cancelled_send_is_still_delivered(pair: Pair) -> None:
    _, ada, bob = pair
    sending = asyncio.create_task(ada.send("bob", Task(n=1)))
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    assert await numbers(bob, 1) == [1]


async def test_an_endpoint_knows_whether_a_message_would_be_delivered_again(pair: Pair) -> None:
    _, ada, bob = pair
    assert not ada.has_undone
    await bob.send("ada", Task(n=1))
    await until(lambda: ada.has_unread)
    received = await ada.receive()
    assert (ada.has_unread, ada.has_undone) == (False, True)
    ada.done(received)
    assert not ada.has_undone
    await bob.send("ada", Result(n=1), reply_to=bytes(16))
    await bob.send("ada", Task(n=2))
    ada.done(await ada.receive())
    assert not ada.has_undone, "an answer that nobody asks for is put away"
