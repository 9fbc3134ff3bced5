"""Guarantees of the bus for durable messages, in one process and over ZeroMQ."""

import asyncio

import pytest

from tests.contracts.bus import (
    PATIENCE,
    ManagedBus,
    Ping,
    Refusal,
    Result,
    Task,
    Text,
    depths_of,
    number,
    numbers,
    take,
    until,
    until_depth,
)
from transport.errors import DeadlineExceeded, Nacked, PeerLost


async def test_messages_of_one_sender_arrive_in_order_beyond_the_window(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    async with asyncio.TaskGroup() as group:
        for n in range(300):
            group.create_task(ada.send("bob", Task(n=n)))
    assert await numbers(bob, 300) == list(range(300))


async def test_send_returns_once_the_router_stores_the_message_without_recipient(
    managed: ManagedBus,
) -> None:
    await managed.announce("ada", "bob")
    ada = await managed.join("ada")
    for n in range(3):
        await ada.send("bob", Task(n=n))
    assert (await depths_of(ada))["bob"][0] == 3
    bob = await managed.join("bob")
    assert await numbers(bob, 3) == [0, 1, 2]
    await until_depth(ada, "bob", 0)


async def test_an_unknown_recipient_is_an_error_for_the_sender(managed: ManagedBus) -> None:
    await managed.announce("ada")
    ada = await managed.join("ada")
    with pytest.raises(Nacked) as durable:
        await ada.send("nobody", Task())
    with pytest.raises(Nacked) as asked:
        await ada.ask("nobody", Ping())
    assert durable.value.reason == asked.value.reason == "unknown_recipient"
    assert "nobody" in durable.value.detail


async def test_message_for_an_unknown_address_waits_for_the_list_of_the_supervisor(
    managed: ManagedBus,
) -> None:
    ada = await managed.join("ada")
    sending = [asyncio.create_task(ada.send(to, Task(n=1))) for to in ("bob", "eve")]
    await depths_of(ada)
    assert not any(task.done() for task in sending)
    await managed.announce("ada", "bob")
    await sending[0]
    with pytest.raises(Nacked):
        await sending[1]
    assert await numbers(await managed.join("bob"), 1) == [1]


async def test_a_full_mailbox_is_an_error_for_the_sender(managed: ManagedBus) -> None:
    ada = await managed.join("ada")
    large = Task(data=bytes(15 * 1024 * 1024))
    for _ in range(4):
        await ada.send("broker", large)
    with pytest.raises(Nacked) as error:
        await ada.send("broker", large)
    assert error.value.reason == "mailbox_full"


async def test_too_large_message_is_refused_and_the_link_stays_connected(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    with pytest.raises(Nacked) as error:
        await ada.send("bob", Task(data=bytes(16 * 1024 * 1024)))
    assert error.value.reason == "too_large"
    await ada.send("bob", Task(n=7))
    assert await numbers(bob, 1) == [7]


@pytest.mark.parametrize("question", [Ping(n=1), Task(n=1)], ids=["passing", "durable"])
@pytest.mark.parametrize("answered_with", [Ping, Task], ids=["passing", "durable"])
async def test_an_answer_that_is_too_large_is_a_refusal_for_its_requester(
    managed: ManagedBus, question: Ping | Task, answered_with: type[Ping | Task]
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    asking = asyncio.create_task(ada.ask("bob", question, within_seconds=PATIENCE))
    asked = await take(bob)
    await bob.reply(asked, answered_with(data=bytes(16 * 1024 * 1024)))
    refused = (await asking).body
    assert isinstance(refused, Refusal)
    assert asked.header.type in refused.reason
    assert "too_large" in refused.reason
    await bob.send("ada", Task(n=7))
    assert await numbers(ada, 1) == [7]


async def test_too_large_transient_message_is_dropped(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    ada.post("bob", Ping(n=1, data=bytes(16 * 1024 * 1024)))
    await ada.send("bob", Task(n=7))
    assert await numbers(bob, 1) == [7]


async def test_unfinished_messages_go_to_the_next_incarnation_in_order(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    for n in range(5):
        await ada.send("bob", Task(n=n))
    assert await numbers(bob, 2) == [0, 1]
    held = await take(bob)
    assert number(held) == 2
    await until_depth(ada, "bob", 3)
    bob.abort()
    heir = await managed.join("bob", 2)
    assert await numbers(heir, 3) == [2, 3, 4]


async def test_the_same_id_is_delivered_once(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    id = bytes(range(16))
    assert await ada.send("bob", Task(n=1), id=id) == id
    await ada.send("bob", Task(n=1), id=id)
    assert await numbers(bob, 1) == [1]
    await until_depth(bob, "bob", 0)
    await ada.send("bob", Task(n=1), id=id)
    await ada.send("bob", Task(n=2))
    assert await numbers(bob, 1) == [2]


async def test_a_request_is_answered(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")

    async def serve() -> None:
        for _ in range(2):
            asked = await take(bob)
            await bob.reply(asked, Result(n=number(asked) + 1))
            bob.done(asked)

    serving = asyncio.create_task(serve())
    for request in (Task(n=1), Ping(n=5)):
        answer = await ada.ask("bob", request, within_seconds=PATIENCE)
        ada.done(answer)
        assert number(answer) == request.n + 1
        assert answer.header.sender == "bob"
    await serving


async def test_answer_is_kept_for_the_next_incarnation_of_its_requester(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    id = bytes(range(16))
    asking = asyncio.create_task(ada.ask("bob", Task(n=1), id=id))
    asked = await take(bob)
    ada.abort()
    await asyncio.wait([asking])
    await bob.reply(asked, Result(n=9))
    await bob.reply(asked, Result(n=9))  # run again after a crash: the same id
    bob.done(asked)
    heir = await managed.join("ada", 2)
    answer = await heir.ask("bob", Task(n=1), id=id, within_seconds=PATIENCE)
    heir.done(answer)
    assert number(answer) == 9
    await until_depth(heir, "ada", 0)
    await until_depth(heir, "bob", 0)
    assert isinstance(asking.exception(), Exception)


async def test_request_ends_at_its_deadline(managed: ManagedBus) -> None:
    ada = await managed.join("ada")
    await managed.join("bob")
    with pytest.raises(DeadlineExceeded):
        await ada.ask("bob", Ping(), within_seconds=0.05)


async def test_transient_request_to_an_absent_peer_fails_fast(managed: ManagedBus) -> None:
    ada = await managed.join("ada")
    with pytest.raises(PeerLost):
        await ada.ask("broker", Ping())


async def test_transient_request_fails_when_its_peer_is_replaced(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    gone: list[tuple[str, int]] = []
    ada.on_down = lambda address, incarnation: gone.append((address, incarnation))
    asking = asyncio.create_task(ada.ask("bob", Ping()))
    await take(bob)
    bob.abort()
    await managed.join("bob", 2)
    await asyncio.wait([asking], timeout=PATIENCE)
    assert isinstance(asking.exception(), PeerLost)
    assert ("bob", 1) in gone


async def test_departure_of_a_peer_is_announced(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    gone: list[tuple[str, int]] = []
    ada.on_down = lambda address, incarnation: gone.append((address, incarnation))
    await bob.close()
    await until(lambda: gone == [("bob", 1)])


async def test_close_waits_until_every_sent_message_is_accepted(managed: ManagedBus) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    sending = [asyncio.create_task(ada.send("bob", Task(n=n))) for n in range(50)]
    await asyncio.sleep(0)
    await ada.close()
    await asyncio.gather(*sending)
    assert await numbers(bob, 50) == list(range(50))


async def test_recorder_gets_a_copy_of_texts_only(
    managed: ManagedBus,
) -> None:
    ada, bob = await managed.join("ada"), await managed.join("bob")
    recorder = await managed.join("recorder")
    await ada.send("bob", Task(n=1))
    await ada.send("bob", Ping(n=2))
    await ada.send("bob", Text(n=3))
    await ada.send("recorder", Text(n=4))
    answered = await take(bob)
    await bob.reply(answered, Result(n=5))
    await bob.send("ada", Text(n=6))
    seen = [await take(recorder) for _ in range(3)]
    assert [(number(one), one.header.is_tap) for one in seen] == [
        (3, True),
        (4, False),
        (6, True),
    ]
    assert seen[0].header.to == "bob"
    assert not answered.header.is_tap
