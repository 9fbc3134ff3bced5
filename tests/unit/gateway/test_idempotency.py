"""Calls with an Idempotency-Key: carried out once, answered the same, through deaths."""

import asyncio
import errno
import json
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from actors.gateway.call_cause import SCOPE_KEY, CallCause
from actors.gateway.http.idempotency import IdempotencyMiddleware
from actors.gateway.state.idempotency_store import IdempotencyStore
from agiraph.core.clock import SystemClock


class Endpoint:
    """Answers every call with a number of its own; keeps the causes it was called with."""

    def __init__(self, status: int = 201) -> None:
        self.causes: list[CallCause | None] = []
        self.bodies: list[bytes] = []
        self.status = status
        self.gate = asyncio.Event()
        self.gate.set()
        self.called = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.causes.append(scope.get(SCOPE_KEY))
        self.bodies.append((await receive())["body"])
        self.called.set()
        await self.gate.wait()
        start = {"type": "http.response.start", "status": self.status}
        await send({**start, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b"%d" % len(self.causes)})


@pytest.fixture
def keys(tmp_path: Path) -> IdempotencyStore:
    return IdempotencyStore(tmp_path / "repeats.jsonl", 1.0)


async def call(
    once: IdempotencyMiddleware,
    key: str = "k",
    body: bytes = b"{}",
    method: str = "POST",
    header: bytes | None = None,
) -> tuple[int, bytes, dict[bytes, bytes]]:
    """Make one call; return status, body and headers. `header`: the key as it stands there."""
    headers = [(b"idempotency-key", key.encode())] if key else []
    if header is not None:
        headers = [(b"idempotency-key", header)]
    scope = {"type": "http", "method": method, "path": "/x", "headers": headers}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await once(scope, receive, send)
    return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("key", [b"", b"  "])
def test_a_key_that_is_empty_is_refused_and_nothing_done(
    keys: IdempotencyStore, method: str, key: bytes
) -> None:
    endpoint = Endpoint()
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())
    status, body, _ = asyncio.run(call(once, "k", method=method, header=key))
    assert status == 400
    assert "the header Idempotency-Key is empty" in json.loads(body)["detail"]
    assert endpoint.causes == []


def test_what_changes_nothing_needs_no_key_that_holds(keys: IdempotencyStore) -> None:
    endpoint = Endpoint(200)
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())
    assert asyncio.run(call(once, "k", method="GET", header=b""))[0] == 200


def test_the_second_call_gets_the_first_answer(keys: IdempotencyStore) -> None:
    endpoint = Endpoint()
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    async def scenario() -> None:
        first = await call(once)
        second = await call(once)
        assert first[:2] == second[:2] == (201, b"1")
        assert b"idempotency-replayed" not in first[2]
        assert second[2][b"idempotency-replayed"] == b"true"

    asyncio.run(scenario())
    assert endpoint.bodies == [b"{}"]
    keys.close()


def test_without_a_key_and_for_reading_every_call_is_its_own(keys: IdempotencyStore) -> None:
    once = IdempotencyMiddleware(Endpoint(), keys, SystemClock())

    async def scenario() -> None:
        assert [(await call(once, key=""))[1] for _ in range(2)] == [b"1", b"2"]
        assert [(await call(once, method="GET"))[1] for _ in range(2)] == [b"3", b"4"]

    asyncio.run(scenario())
    keys.close()


def test_another_body_under_the_same_key_is_refused(keys: IdempotencyStore) -> None:
    endpoint = Endpoint()
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    async def scenario() -> None:
        await call(once)
        status, body, headers = await call(once, body=b'{"other":1}')
        assert status == 422
        assert headers[b"content-type"] == b"application/problem+json"
        assert b"key-reused" in body

    asyncio.run(scenario())
    assert len(endpoint.causes) == 1
    keys.close()


def test_two_calls_at_once_are_carried_out_once(keys: IdempotencyStore) -> None:
    endpoint = Endpoint()
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    async def scenario() -> None:
        endpoint.gate.clear()
        calls = [asyncio.create_task(call(once)) for _ in range(3)]
        await endpoint.called.wait()
        endpoint.gate.set()
        assert [answer[1] for answer in await asyncio.gather(*calls)] == [b"1"] * 3

    asyncio.run(scenario())
    keys.close()


def test_a_refusal_is_no_answer_to_keep(keys: IdempotencyStore) -> None:
    endpoint = Endpoint(status=409)
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    async def scenario() -> None:
        assert (await call(once))[0] == 409
        endpoint.status = 200
        assert (await call(once))[:2] == (200, b"2")

    asyncio.run(scenario())
    keys.close()


def test_a_call_that_died_is_made_again_with_the_same_cause(tmp_path: Path) -> None:
    endpoint = Endpoint()

    async def first(keys: IdempotencyStore) -> None:
        endpoint.gate.clear()
        dying = asyncio.create_task(call(IdempotencyMiddleware(endpoint, keys, SystemClock())))
        await endpoint.called.wait()
        dying.cancel()
        await asyncio.wait([dying])

    async def second(keys: IdempotencyStore) -> None:
        endpoint.gate = asyncio.Event()
        endpoint.gate.set()
        assert (await call(IdempotencyMiddleware(endpoint, keys, SystemClock())))[0] == 201

    for act in (first, second):
        keys = IdempotencyStore(tmp_path / "repeats.jsonl", 1.0)
        asyncio.run(act(keys))
        keys.close()
    before, after = endpoint.causes
    assert before is not None
    assert after is not None
    assert (before.id, before.at) == (after.id, after.at)
    assert (before.is_again, after.is_again) == (False, True)
    assert before.message("x") == after.message("x")
    assert before.run == after.run


@pytest.mark.parametrize("key", ["x" * 256, "tab\there"])
def test_a_key_that_is_none_is_refused(keys: IdempotencyStore, key: str) -> None:
    once = IdempotencyMiddleware(Endpoint(), keys, SystemClock())
    assert asyncio.run(call(once, key=key))[0] == 422
    keys.close()


def test_what_a_full_disk_cut_off_is_carried_out_again_under_its_cause(
    keys: IdempotencyStore,
) -> None:
    endpoint = Endpoint(status=507)
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    async def scenario() -> None:
        calling = asyncio.create_task(call(once))
        await endpoint.called.wait()
        endpoint.status = 201
        status, _, _ = await calling
        assert status == 201

    asyncio.run(scenario())
    assert len(endpoint.causes) == 2
    first, again = endpoint.causes
    assert first is not None
    assert again is not None
    assert first.id == again.id
    keys.close()


def test_without_room_for_its_key_a_call_is_refused_and_not_begun(
    keys: IdempotencyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = Endpoint()
    once = IdempotencyMiddleware(endpoint, keys, SystemClock())

    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("agiraph.storage.journal.append_all", full)
            status, body, _ = await call(once)
        assert status == 507
        assert b"disk is full" in body
        assert endpoint.causes == []
        assert (await call(once))[0] == 201

    asyncio.run(scenario())
    keys.close()
