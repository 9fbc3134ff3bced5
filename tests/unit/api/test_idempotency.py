"""Calls with an Idempotency-Key: executed once, answered the same, even after crashes."""

import asyncio
import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from agiraph.api.auth.credentials import Principal
from agiraph.api.call_cause import SCOPE_KEY, CallCause
from agiraph.api.idempotency import IdempotencyMiddleware
from agiraph.core.clock import SystemClock
from agiraph.inbox.idempotency_store import IdempotencyStore


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
def keys(tmp_path: Path) -> Iterator[IdempotencyStore]:
    store = IdempotencyStore(tmp_path / "repeats.jsonl", 1.0)
    yield store
    store.close()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def once(endpoint: Endpoint, keys: IdempotencyStore) -> IdempotencyMiddleware:
    return IdempotencyMiddleware(endpoint, keys, SystemClock())


async def call(
    once: IdempotencyMiddleware,
    key: str = "k",
    body: bytes = b"{}",
    method: str = "POST",
    header: bytes | None = None,
    caller: Principal | None = None,
) -> tuple[int, bytes, dict[bytes, bytes]]:
    """Make one call; return status, body and headers. `header`: the key as it is there."""
    headers = [(b"idempotency-key", key.encode())] if key else []
    if header is not None:
        headers = [(b"idempotency-key", header)]
    scope = {
        "type": "http",
        "method": method,
        "path": "/x",
        "headers": headers,
        "state": {"caller": caller},
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await once(scope, receive, send)
    return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("key", [b"", b"  "])
async def test_an_empty_key_is_refused_and_nothing_done(
    once: IdempotencyMiddleware, endpoint: Endpoint, method: str, key: bytes
) -> None:
    status, body, _ = await call(once, method=method, header=key)
    assert status == 400
    assert "the header Idempotency-Key is empty" in json.loads(body)["detail"]
    assert endpoint.causes == []


@pytest.mark.parametrize("key", ["x" * 256, "tab\there"])
async def test_an_invalid_key_is_refused(once: IdempotencyMiddleware, key: str) -> None:
    assert (await call(once, key=key))[0] == 422


async def test_the_second_call_gets_the_first_answer(
    once: IdempotencyMiddleware, endpoint: Endpoint
) -> None:
    first = await call(once)
    second = await call(once)
    assert first[:2] == second[:2] == (201, b"1")
    assert b"idempotency-replayed" not in first[2]
    assert second[2][b"idempotency-replayed"] == b"true"
    assert endpoint.bodies == [b"{}"]


async def test_calls_without_a_key_and_reading_calls_are_always_executed(
    once: IdempotencyMiddleware,
) -> None:
    assert [(await call(once, key=""))[1] for _ in range(2)] == [b"1", b"2"]
    assert [(await call(once, method="GET"))[1] for _ in range(2)] == [b"3", b"4"]
    assert (await call(once, method="GET", header=b""))[1] == b"5"


async def test_read_only_token_leaves_no_key_in_the_store(
    once: IdempotencyMiddleware, keys: IdempotencyStore
) -> None:
    answers = [(await call(once, caller=Principal("ci", "read")))[1] for _ in range(2)]
    assert answers == [b"1", b"2"]
    assert "k" not in keys


async def test_other_body_with_the_same_key_is_refused(
    once: IdempotencyMiddleware, endpoint: Endpoint
) -> None:
    await call(once)
    status, body, headers = await call(once, body=b'{"other":1}')
    assert status == 422
    assert headers[b"content-type"] == b"application/problem+json"
    assert b"key-reused" in body
    assert len(endpoint.causes) == 1


async def test_two_calls_at_once_are_carried_out_once(
    once: IdempotencyMiddleware, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    calls = [asyncio.create_task(call(once)) for _ in range(3)]
    await endpoint.called.wait()
    endpoint.gate.set()
    assert [answer[1] for answer in await asyncio.gather(*calls)] == [b"1"] * 3


async def test_a_refusal_is_not_stored(once: IdempotencyMiddleware, endpoint: Endpoint) -> None:
    endpoint.status = 409
    assert (await call(once))[0] == 409
    endpoint.status = 200
    assert (await call(once))[:2] == (200, b"2")


async def test_call_interrupted_by_a_crash_is_repeated_with_the_same_cause(
    once: IdempotencyMiddleware, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.gate.clear()
    crashing = asyncio.create_task(call(once))
    await endpoint.called.wait()
    crashing.cancel()
    await asyncio.wait([crashing])
    endpoint.gate.set()
    reopened = IdempotencyStore(tmp_path / "repeats.jsonl", 1.0)
    assert (await call(IdempotencyMiddleware(endpoint, reopened, SystemClock())))[0] == 201
    reopened.close()
    before, after = endpoint.causes
    assert before is not None
    assert after is not None
    assert (before.id, before.at) == (after.id, after.at)
    assert (before.is_again, after.is_again) == (False, True)
    assert before.message("x") == after.message("x")
    assert before.run == after.run


async def test_call_interrupted_by_a_full_disk_is_repeated_with_the_same_cause(
    once: IdempotencyMiddleware, endpoint: Endpoint
) -> None:
    endpoint.status = 507
    calling = asyncio.create_task(call(once))
    await endpoint.called.wait()
    endpoint.status = 201
    assert (await calling)[0] == 201
    first, again = endpoint.causes
    assert first is not None
    assert again is not None
    assert first.id == again.id


async def test_call_is_refused_if_its_key_cannot_be_stored(
    once: IdempotencyMiddleware, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("agiraph.storage.journal.append_all", full)
        status, body, _ = await call(once)
    assert status == 507
    assert b"disk is full" in body
    assert endpoint.causes == []
    assert (await call(once))[0] == 201
