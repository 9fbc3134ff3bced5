"""The loopback's faults on order, and that the bus heals from each of them."""

import asyncio

import pytest

from actors.router.topology import TOPOLOGY
from tests.contracts.bus import CODEC, PATIENCE, Ping, Result, Task, number, numbers, take, until
from transport.endpoint import Endpoint
from transport.errors import LinkDown, PeerLost
from transport.pending_requests import MAX_UNCLAIMED
from transport.testing.loopback import LoopbackRouter


async def pair(router: LoopbackRouter) -> tuple[Endpoint, Endpoint]:
    """Return two started endpoints, ada and bob."""
    ada, bob = router.endpoint("ada", codec=CODEC), router.endpoint("bob", codec=CODEC)
    await ada.start(PATIENCE)
    await bob.start(PATIENCE)
    return ada, bob


def test_a_cut_connection_loses_nothing_and_doubles_nothing() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        for cut in ("ada", "bob"):
            router.hold(cut, "up")
            sending = [asyncio.create_task(ada.send("bob", Task(n=n))) for n in range(5)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            router.cut(cut)
            router.release(cut, "up")
            router.mend(cut)
            assert await numbers(bob, 5) == [0, 1, 2, 3, 4]
            await asyncio.gather(*sending)
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_a_repeated_frame_has_its_effect_once() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        router.repeat_next("ada", "up", 3)
        router.repeat_next("bob", "down", 3)
        for n in range(3):
            await ada.send("bob", Task(n=n))
        await ada.send("bob", Task(n=3))
        assert await numbers(bob, 4) == [0, 1, 2, 3]
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_a_lost_delivery_comes_with_the_next_greeting() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        router.drop_next("bob", "down")
        await ada.send("bob", Task(n=1))
        router.cut("bob")
        router.mend("bob")
        assert await numbers(bob, 1) == [1]
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_a_vanished_peer_is_reported() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        asking = asyncio.create_task(ada.ask("bob", Ping()))
        await take(bob)
        router.vanish("bob")
        with pytest.raises(PeerLost):
            await asking
        with pytest.raises(LookupError):
            router.cut("nobody")
        await ada.close()
        bob.abort()

    asyncio.run(story())


def test_messages_survive_a_router_whose_mailboxes_do() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        router.hold("bob", "down")
        await ada.send("bob", Task(n=1))
        router.restart(router.mailboxes)
        router.release("bob", "down")
        assert await numbers(bob, 1) == [1]
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_answers_that_nobody_asks_for_do_not_fill_the_window() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        for n in range(MAX_UNCLAIMED * 5):
            await bob.send("ada", Result(n=n), reply_to=n.to_bytes(16, "big"))
        await bob.send("ada", Task(n=1))
        assert number(await take(ada)) == 1
        await until(lambda: router.mailboxes.depths()["ada"][0] <= MAX_UNCLAIMED + 1)
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_answers_to_what_nobody_will_ask_again_are_put_away() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        await bob.send("ada", Result(n=1), reply_to=bytes(16))
        await bob.send("ada", Task(n=1))
        received = await ada.receive()
        ada.put_away_unclaimed()
        ada.done(received)
        await until(lambda: router.mailboxes.depths().get("ada", (0,))[0] == 0)
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_an_ended_endpoint_says_so_to_all_who_wait() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
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
        await ada.close()
        await bob.close()

    asyncio.run(story())


def test_a_cancelled_send_is_still_delivered() -> None:
    async def story() -> None:
        router = LoopbackRouter(topology=TOPOLOGY)
        ada, bob = await pair(router)
        router.hold("ada", "up")
        sending = asyncio.create_task(ada.send("bob", Task(n=1)))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        router.release("ada", "up")
        assert await numbers(bob, 1) == [1]
        await ada.close()
        await bob.close()

    asyncio.run(story())
