"""Guarantees of the bus during failures, in one process and over ZeroMQ."""

import asyncio
import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.bus import (
    CODEC,
    PATIENCE,
    Addresses,
    ManagedBus,
    Ping,
    Stop,
    Task,
    depths_of,
    number,
    numbers,
    take,
    until_depth,
)
from transport.endpoint import Endpoint
from transport.envelope import MAX_BLOB, Flag, Header, pack
from transport.errors import Fenced, LinkDown, Nacked, PeerLost
from transport.protocol import NACK, WELCOME, WHO
from transport.tickets import make_ticket


def message(sender: str, to: str, *, n: int = 1, incarnation: int = 1, **fields: Any) -> bytes:
    """Return the blob of a durable Task."""
    values: dict[str, Any] = {
        "id": secrets.token_bytes(16),
        "type": Task.TYPE,
        "flags": int(Flag.DURABLE),
    } | fields
    header = Header(version=1, sender=sender, to=to, incarnation=incarnation, **values)
    return pack(header, CODEC.encode(Task(n=n)))


async def test_peers_reconnect_to_a_restarted_router_without_losing_unaccepted_messages(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    lives: list[bytes] = []
    ada.on_welcome = lives.append
    await ada.send("bob", Task(n=0))
    assert await numbers(bob, 1) == [0]
    await managed.bus.restart_router()
    sending = [asyncio.create_task(ada.send("bob", Task(n=n))) for n in range(1, 50)]
    assert await numbers(bob, 49) == list(range(1, 50))
    await asyncio.wait_for(asyncio.gather(*sending), PATIENCE)
    assert len(lives) == 1


async def test_accepted_messages_survive_the_router(managed: ManagedBus) -> None:
    supervisor = await managed.announce("ada", "bob")
    ada = await managed.join("ada")
    ids = [await ada.send("bob", Task(n=n)) for n in range(5)]
    bob = await managed.join("bob")
    assert await numbers(bob, 2) == [0, 1]
    await until_depth(bob, "bob", 3)
    bob.abort()
    await managed.restart_router(supervisor, "ada", "bob")
    await ada.send("bob", Task(n=5))
    await ada.send("bob", Task(n=0), id=ids[0])  # done in the router's last life
    await ada.send("bob", Task(n=3), id=ids[3])  # waiting since then
    heir = await managed.join("bob", 2)
    assert await numbers(heir, 4) == [2, 3, 4, 5]
    await until_depth(ada, "bob", 0)


async def test_messages_of_a_forgotten_address_are_deleted_and_others_kept(
    managed: ManagedBus,
) -> None:
    supervisor = await managed.announce("ada", "bob", "eve", "console/1")
    ada = await managed.join("ada")
    for to in ("bob", "eve", "console/1", "broker"):
        await ada.send(to, Task())
    await managed.restart_router(supervisor)
    for known, kept in (([], {"bob", "eve"}), (["ada", "eve"], {"eve"})):
        await supervisor.send("router", Addresses(known=known))
        depths = await depths_of(supervisor)
        assert {*depths} - {"recorder"} == {"console/1", "broker"} | kept
    await supervisor.send("router", Addresses(known=["ada", "bob", "eve"]))
    await depths_of(supervisor)  # answered after it
    await ada.send("bob", Task(n=1))
    assert await numbers(await managed.join("bob"), 1) == [1]


async def test_message_in_flight_to_a_killed_router_is_sent_again(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    sending = [asyncio.create_task(ada.send("bob", Task(n=n))) for n in range(100)]
    await asyncio.sleep(0)
    await managed.bus.restart_router()
    await asyncio.wait_for(asyncio.gather(*sending), PATIENCE)
    await ada.send("bob", Task(n=100))
    assert await numbers(bob, 101) == list(range(101))


async def test_transient_request_fails_when_the_router_restarts(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    asking = asyncio.create_task(ada.ask("bob", Ping()))
    await take(bob)
    await managed.bus.restart_router()
    await asyncio.wait([asking], timeout=PATIENCE)
    assert isinstance(asking.exception(), PeerLost)


async def test_transient_request_fails_when_its_peer_is_disconnected(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    gone: list[str] = []
    ada.on_down = lambda address, _incarnation: gone.append(address)
    asking = asyncio.create_task(ada.ask("bob", Ping()))
    await take(bob)
    bob.disconnected()
    bob.connected()
    await asyncio.wait([asking], timeout=PATIENCE)
    assert isinstance(asking.exception(), PeerLost)
    assert gone == []


async def test_older_incarnation_is_refused(managed: ManagedBus) -> None:
    await managed.join("ada", 2)
    with pytest.raises(Fenced):
        await managed.join("ada", 1)


async def test_replaced_incarnation_is_fenced(managed: ManagedBus) -> None:
    old = await managed.join("ada", 1)
    receiving = asyncio.create_task(old.receive())
    new = await managed.join("ada", 2)
    async with asyncio.timeout(PATIENCE):
        await old.fenced.wait()
    await asyncio.wait([receiving], timeout=PATIENCE)
    assert isinstance(receiving.exception(), Fenced)
    with pytest.raises(Fenced):
        await old.send("ada", Task())
    await new.send("ada", Task(n=3))
    assert await numbers(new, 1) == [3]


async def test_peer_needs_a_ticket_for_exactly_its_incarnation(
    managed: ManagedBus,
) -> None:
    mine = make_ticket(managed.bus.key, "ada", 1)
    for address, incarnation, ticket in (
        ("ada", 1, bytes(32)),
        ("ada", 2, mine),
        ("supervisor", 1, mine),
    ):
        with pytest.raises(Nacked) as error:
            await managed.bus.endpoint(address, incarnation, ticket=ticket).start(PATIENCE)
        assert error.value.reason == "not_allowed"


async def test_peer_cannot_join_as_the_router(managed: ManagedBus) -> None:
    with pytest.raises(Nacked):
        await managed.bus.endpoint("router").start(PATIENCE)


async def test_peer_cannot_send_under_another_address(managed: ManagedBus) -> None:
    bob = await managed.join("bob")
    eve = await managed.intrude()
    for forged in (message("ada", "bob"), message("eve", "bob", incarnation=2)):
        eve.send(forged)
        type_, body = await eve.next()
        assert (type_, body["reason"]) == (NACK, "not_allowed")
    eve.send(message("eve", "bob", n=4))
    assert await numbers(bob, 1) == [4]


async def test_invalid_frames_are_ignored_by_the_router(managed: ManagedBus) -> None:
    bob = await managed.join("bob")
    eve = await managed.intrude()
    good = message("eve", "bob", n=5)
    for noise in (
        b"",
        b"\x00",
        b"\xff\xff" + good,
        b"\x00\x02\xc1\xc1",
        b"\x01\x00" + b"\x91" * 256,
        good[:20],
        secrets.token_bytes(500),
    ):
        eve.send(noise)
    eve.send(good)
    assert await numbers(bob, 1) == [5]


async def test_peer_without_hello_is_asked_for_it(managed: ManagedBus) -> None:
    eve = await managed.intrude(greet=False)
    eve.send(message("eve", "broker"))
    assert (await eve.next())[0] == WHO
    eve.hello(version=99)
    type_, body = await eve.next()
    assert (type_, body["reason"]) == (NACK, "malformed")
    eve.hello(pid="one")
    assert (await eve.next())[0] == NACK
    eve.hello()
    assert (await eve.next())[0] == WELCOME


async def test_a_blob_over_the_limit_is_refused_by_name(managed: ManagedBus) -> None:
    eve = await managed.intrude()
    eve.send(message("eve", "broker") + bytes(MAX_BLOB))
    type_, body = await eve.next()
    assert (type_, body["reason"]) == (NACK, "too_large")


async def test_undecodable_body_is_reported_to_its_sender_and_removed(
    managed: ManagedBus,
) -> None:
    bob = await managed.join("bob")
    eve = await managed.intrude()
    for odd in (
        message("eve", "bob", type="test.unheard"),
        message("eve", "bob") + b"\xc1",
    ):
        eve.send(odd)
        answers = [await eve.next(), await eve.next()]
        assert any(body.get("reason") == "malformed" for type_, body in answers)
    eve.send(message("eve", "bob", n=6))
    assert await numbers(bob, 1) == [6]
    await until_depth(bob, "bob", 0)
    assert bob.undecodable == 2


async def test_only_the_supervisor_may_control_the_router(managed: ManagedBus) -> None:
    ada = await managed.join("ada")
    for order in (Stop(), Addresses(known=[])):
        with pytest.raises(Nacked) as error:
            await ada.ask("router", order, within_seconds=PATIENCE)
        assert error.value.reason == "not_allowed"
    supervisor = await managed.join("supervisor")
    await supervisor.send("router", Stop())
    assert await managed.bus.router_has_stopped()


async def test_start_without_a_router_fails_before_its_deadline(tmp_path: Path) -> None:
    endpoint = Endpoint(
        url=f"ipc://{tmp_path}/nobody",
        address="ada",
        incarnation=1,
        ticket=bytes(32),
        codec=CODEC,
    )
    with pytest.raises(LinkDown):
        await endpoint.send("bob", Task())
    with pytest.raises(LinkDown):
        await endpoint.start(0.05)
    with pytest.raises(LinkDown):
        await endpoint.send("bob", Task())


async def test_answer_from_another_peer_is_ignored(managed: ManagedBus) -> None:
    ada, bob, eve = [await managed.join(name) for name in ("ada", "bob", "eve")]
    asking = asyncio.create_task(ada.ask("bob", Ping(n=1), within_seconds=PATIENCE))
    asked = await take(bob)
    await eve.send("ada", Ping(n=666), reply_to=asked.header.id)
    await depths_of(eve)
    await bob.reply(asked, Ping(n=2))
    assert number(await asking) == 2
