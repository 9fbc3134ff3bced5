"""Other machines on the bus: admission, identity, and no loss when a connection is cut."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import zmq

from tests.contracts.bus import PATIENCE, Ping, Task, depths_of, numbers, take, until
from tests.contracts.uplink_home import UplinkHome, uplink_home
from tests.fakes.bad_network import BadNetwork
from transport import protocol, sockets, uplink
from transport.endpoint import Endpoint
from transport.envelope import read_header
from transport.errors import Fenced, Nacked
from transport.peers import HOST_RID
from transport.protocol import hello_frame, link_frame
from transport.sockets import UplinkTarget, curve_keys
from transport.tickets import NO_TICKET

FAR, NEAR = curve_keys(), curve_keys()


@pytest.fixture
async def far_home(tmp_path: Path) -> AsyncIterator[UplinkHome]:
    async with uplink_home(tmp_path) as made:
        yield made


async def test_process_behind_a_relay_communicates_like_a_local_one(
    far_home: UplinkHome,
) -> None:
    await far_home.know(host_far=FAR)
    bob = await far_home.managed.join("bob")
    ada = await far_home.host("far", FAR).join("ada")
    asked = asyncio.create_task(ada.ask("bob", Ping(n=1), within_seconds=PATIENCE))
    await bob.reply(await take(bob), Ping(n=2))
    assert (await asked).body == Ping(n=2)
    for n in range(3):
        await ada.send("bob", Task(n=n))
        await bob.send("ada", Task(n=n))
    assert await numbers(bob, 3) == await numbers(ada, 3) == [0, 1, 2]


async def test_host_is_admitted_by_its_key_and_a_ticket_only_on_its_own_host(
    far_home: UplinkHome,
) -> None:
    await far_home.know(host_far=FAR, host_near=NEAR)
    myself = far_home.direct("host/far", FAR)
    await myself.start(PATIENCE)
    await far_home.supervisor.send("host/far", Ping(n=7))
    assert (await take(myself)).body == Ping(n=7)

    host = far_home.host("near", NEAR)
    stolen = host.endpoint("ada", ticket=far_home.ticket("ada", 1, "host/far"))
    homely = host.endpoint("ada", ticket=far_home.ticket("ada", 1, ""))
    lies = far_home.direct("host/far", NEAR), host.endpoint("host/near", ticket=NO_TICKET)
    for endpoint in (stolen, homely, *lies):
        with pytest.raises(Nacked, match="no valid ticket"):
            await endpoint.start(PATIENCE)
    told = [await far_home.refusal() for _ in ("ada", *lies)]
    assert {one.peer for one in told} == {"host/near"}
    assert len({one.reason for one in told}) == len(told)
    await (ada := await host.join("ada")).send("supervisor", Task(n=1))
    assert await numbers(far_home.supervisor, 1) == [1]
    ada.address = "bob"
    with pytest.raises(Nacked, match="you are not bob#1"):
        await ada.send("supervisor", Task(n=2))
    assert (await far_home.refusal()).reason == "ada#1 spoke as bob"
    assert (await far_home.managed.join("bob")).address == "bob"


async def test_unlisted_key_is_refused_and_a_removed_one_disconnected(
    far_home: UplinkHome,
) -> None:
    invited, refused = curve_keys(), asyncio.Event()
    await far_home.know(invite_x=invited)
    guest = far_home.direct("invite/x", invited)
    await guest.start(PATIENCE)
    await guest.send("supervisor", Task(n=1))
    assert await numbers(far_home.supervisor, 1) == [1]
    await guest.send("bob", Ping(n=2))
    assert (await far_home.refusal()).peer == "invite/x"
    gone = asyncio.Event()
    far_home.supervisor.on_down = lambda address, _: gone.set() if address == "invite/x" else None

    await far_home.know(host_far=FAR)
    async with asyncio.timeout(PATIENCE):
        await gone.wait()
    replayed = far_home.direct("invite/x", invited, on_refused=refused.set)
    starting = asyncio.create_task(replayed.start(PATIENCE))
    async with asyncio.timeout(PATIENCE):
        await refused.wait()
    starting.cancel()
    assert "key is not known" in (await far_home.refusal()).reason
    assert isinstance(await far_home.host("far", FAR).join("ada"), Endpoint)


async def test_each_message_arrives_once_over_a_bad_connection(far_home: UplinkHome) -> None:
    await far_home.know(host_far=FAR)
    with BadNetwork(far_home.url) as network:
        bob = await far_home.managed.join("bob")
        ada = await far_home.host("far", FAR, network.url).join("ada")
        seen = Counter[int](), Counter[int]()

        async def collect(endpoint: Endpoint, found: Counter[int]) -> None:
            while len(found) < 400:
                found.update(await numbers(endpoint, 1))

        async def talk(sender: Endpoint, to: str) -> None:
            for n in range(400):
                await sender.send(to, Task(n=n))

        async def trouble() -> None:
            for number, harm in enumerate((network.cut, network.half_open, network.freeze)):
                await until(partial(has_seen, 200 * (number + 1)))
                harm()
                before = sum(map(len, seen))
                await asyncio.sleep(0.2)  # not for arrivals, but for absence
                network.heal()
                await until(partial(has_seen, before + 1))

        def has_seen(count: int) -> bool:
            return sum(map(len, seen)) >= count

        async with asyncio.timeout(3 * PATIENCE), asyncio.TaskGroup() as group:
            group.create_task(collect(ada, seen[0]))
            group.create_task(collect(bob, seen[1]))
            group.create_task(talk(ada, "bob"))
            group.create_task(talk(bob, "ada"))
            group.create_task(trouble())
    assert all(set(found.values()) == {1} for found in seen)


async def test_flooding_host_delays_no_other_peer(far_home: UplinkHome) -> None:
    await far_home.know(host_far=FAR)
    bob, eve = await far_home.managed.join("bob"), await far_home.host("far", FAR).join("ada")
    is_over = asyncio.Event()

    async def flood() -> None:
        while not is_over.is_set():
            for _ in range(200):
                await eve.send("nobody", Ping(data=bytes(10_000)))
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(flood())
        for n in range(15):
            asked = group.create_task(far_home.supervisor.ask("bob", Ping(n=n)))
            await bob.reply(await take(bob), Ping(n=n))
            assert (await asked).body == Ping(n=n)
        is_over.set()


async def test_host_without_acknowledgements_delays_no_other_peer(
    far_home: UplinkHome,
) -> None:
    await far_home.know(host_far=FAR)
    bob = await far_home.managed.join("bob")
    with zmq.Context[zmq.Socket[bytes]]() as context:
        socket = sockets.uplink_dealer_socket(
            context, UplinkTarget(far_home.url, far_home.keys[0], *FAR)
        )
        socket.setsockopt(zmq.IMMEDIATE, 0)
        socket.setsockopt(zmq.RCVHWM, 1)
        socket.connect(far_home.url)
        socket.send_multipart([HOST_RID, hello_frame("host/far", 1, NO_TICKET, 1)])
        assert await asyncio.to_thread(socket.poll, 20_000)
        async with asyncio.timeout(PATIENCE):
            for n in range(3000):
                far_home.supervisor.post("host/far", Ping(data=bytes(10_000)))
                if n % 3 == 0:
                    await far_home.supervisor.send("host/far", Task(n=n))
                if n % 100 == 0:
                    asked = asyncio.create_task(far_home.supervisor.ask("bob", Ping(n=n)))
                    await bob.reply(await take(bob), Ping(n=n))
                    assert (await asked).body == Ping(n=n)
        depths = await depths_of(far_home.supervisor)
        context.destroy(linger=0)
    assert depths["host/far"][0] == 1000, "they wait in its mailbox"


def test_sockets_between_machines_use_no_heartbeats_of_zeromq() -> None:
    target = UplinkTarget("tcp://127.0.0.1:1", *curve_keys(), curve_keys()[1])
    with zmq.Context[zmq.Socket[bytes]]() as context:
        home = sockets.uplink_router_socket(context, *curve_keys())
        host = sockets.uplink_dealer_socket(context, target)
        for one in (home, host):
            assert one.getsockopt(zmq.HEARTBEAT_IVL) == 0, "their timer can abort the process"
            assert one.getsockopt(zmq.TCP_KEEPALIVE) == 1
        context.destroy(linger=0)


async def test_restarted_router_still_refuses_an_older_incarnation(far_home: UplinkHome) -> None:
    await far_home.know(host_far=FAR)
    host = far_home.host("far", FAR)
    followed_by = await host.join("ada", 2)
    await followed_by.send("supervisor", Task())
    followed_by.abort()
    await far_home.managed.restart_router(far_home.supervisor, "ada", "bob")
    await far_home.know(host_far=FAR)
    with pytest.raises(Fenced, match="followed by #2"):
        await host.join("ada", 1)


async def test_malformed_values_of_a_host_have_no_effect(far_home: UplinkHome) -> None:
    await far_home.know(host_far=FAR)
    context = zmq.Context[zmq.Socket[bytes]]()
    socket = sockets.uplink_dealer_socket(
        context, UplinkTarget(far_home.url, far_home.keys[0], *FAR)
    )
    socket.setsockopt(zmq.IMMEDIATE, 0)
    socket.connect(far_home.url)
    for odd in ([b""], [b"", b"x"], [b"a"], [b"a", b""], [b"a", b"noise"], [b"a", b"b", b"c"]):
        socket.send_multipart(odd)
    beat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender="ada", incarnation=1)
    socket.send_multipart([b"a", beat])
    assert await asyncio.to_thread(socket.poll, 20_000)
    rid, blob = socket.recv_multipart()
    assert (rid, read_header(blob).type) == (b"a", protocol.WHO)
    context.destroy(linger=0)


async def test_connections_per_key_are_bounded(far_home: UplinkHome) -> None:
    await far_home.know(host_far=FAR)
    beat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender="ada", incarnation=1)
    with zmq.Context[zmq.Socket[bytes]]() as context:
        found = []
        for _ in range(uplink.MOST_CONNECTIONS + 1):
            target = UplinkTarget(far_home.url, far_home.keys[0], *FAR)
            found.append(sockets.uplink_dealer_socket(context, target))
            found[-1].setsockopt(zmq.IMMEDIATE, 0)
            found[-1].connect(far_home.url)
            found[-1].send_multipart([b"a", beat])
            if len(found) <= uplink.MOST_CONNECTIONS:
                assert await asyncio.to_thread(found[-1].poll, 20_000)
        refusal = await far_home.refusal()
        assert (refusal.peer, refusal.reason) == ("host/far", "it has 8 connections already")
        context.destroy(linger=0)
    assert isinstance(await far_home.host("far", FAR).join("ada"), Endpoint)


def test_silent_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uplink, "SILENT_SECONDS", 0.1)
    told: list[str] = []
    core = SimpleNamespace(
        admission=SimpleNamespace(known={}),
        counts=Counter(),
        peer_gone=None,
        tell_controller=lambda type, body: told.append(body.get("reason", type)),
    )
    settings = sockets.UplinkSettings("tcp://127.0.0.1:0", *curve_keys())
    with zmq.Context[zmq.Socket[bytes]]() as context:
        poller = zmq.Poller()
        mine = uplink.Uplink(settings, context, cast(Any, core), lambda _: None, lambda *_: None)
        core.on_known()
        mine.turn(poller)
        with socket.create_connection(("127.0.0.1", int(mine.url.rpartition(":")[2]))):
            give_up_at = time.monotonic() + PATIENCE
            while "it said nothing for 0.1 s" not in told:
                assert time.monotonic() < give_up_at
                for ready, _ in poller.poll(mine.timeout_ms()):
                    mine.read(ready)
                mine.turn(poller)
        context.destroy(linger=0)
