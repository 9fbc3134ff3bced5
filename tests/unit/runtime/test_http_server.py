"""The HTTP server inside an actor: its port, its deadlines, and its end."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from actors.gateway.server import FIRST_PORT, PORTS_TRIED, bind, url_of
from actors.runtime import http_server
from actors.runtime.http_server import (
    SPARE_CONNECTIONS,
    ConnectionLimits,
    HttpServer,
    listen,
)
from agiraph.core.errors import Refused
from agiraph.http.errors import IS_EXTRA
from agiraph.settings.config import load_config

HOST = "127.0.0.1"
LIMITS = ConnectionLimits(connections=2, head_bytes=4096, head_seconds=30, drain_seconds=0)
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
LARGE = 8 * 1024 * 1024
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Application:
    """Answers 503 on a connection beyond the bound, else 200; /large without an end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.set()
        status = 503 if scope["state"][IS_EXTRA] else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        is_large = scope["path"] == "/large"
        body = b"x" * (LARGE if is_large else 2)
        await send({"type": "http.response.body", "body": body, "more_body": is_large})
        try:
            while is_large and (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self.ended.set()


@asynccontextmanager
async def serving(
    app: Application | None = None, stall_seconds: float = 30.0, head_seconds: float = 30.0
) -> AsyncIterator[int]:
    listener = listen(HOST, [0], stall_seconds)
    port = listener.getsockname()[1]
    limits = replace(LIMITS, head_seconds=head_seconds)
    server = HttpServer(app or Application(), listener, limits, ws="none")
    server.start()
    try:
        async with asyncio.timeout(20):
            yield port
    finally:
        await server.stop()


async def status_of(stream: Stream) -> bytes:
    return (await stream[0].readline())[9:12]


@pytest.mark.parametrize("begun", [b"", b"GET /", HEAD + b"X: "])
async def test_late_request_head_is_answered_with_408(begun: bytes) -> None:
    async with serving(head_seconds=0.2) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(begun)
        assert (await reader.read()).startswith(b"HTTP/1.1 408")
        writer.close()


async def test_late_second_request_of_a_connection_is_closed() -> None:
    async with serving(head_seconds=1.0) as port:
        stream = await asyncio.open_connection(HOST, port)
        stream[1].write(HEAD + b"\r\n")
        assert await status_of(stream) == b"200"
        await stream[0].readuntil(b"0\r\n\r\n")
        stream[1].write(HEAD)
        assert await status_of(stream) == b"408"
        stream[1].close()


async def test_client_that_reads_nothing_is_disconnected() -> None:
    app = Application()
    async with serving(app, stall_seconds=0.2) as port:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((HOST, port))
            client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await app.ended.wait()


async def test_connections_beyond_the_bound_are_marked_and_far_beyond_reset() -> None:
    async with serving() as port:
        crowd = [await asyncio.open_connection(HOST, port) for _ in range(3 + SPARE_CONNECTIONS)]
        for place, status in ((0, b"200"), (2, b"503"), (-1, b"")):
            crowd[place][1].write(HEAD + b"\r\n")
            try:
                assert await status_of(crowd[place]) == status
            except ConnectionResetError:
                assert status == b""
        for _, writer in crowd:
            writer.close()


async def test_stop_closes_unfinished_responses() -> None:
    app = Application()
    async with serving(app) as port:
        stream = await asyncio.open_connection(HOST, port)
        stream[1].write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await app.begun.wait()
        assert not app.ended.is_set()
    assert app.ended.is_set()
    stream[1].close()


async def test_a_stop_waits_for_no_tick_and_answers_carry_the_date(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "DATE_SECONDS", 3600.0)
    async with asyncio.timeout(20), serving() as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"\r\ndate: " in await reader.read()
        writer.close()


# --- the gateway's port ---


def settings(port: int) -> Any:
    return load_config().http.model_copy(update={"port": port})


def test_restarted_gateway_reuses_its_port() -> None:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    with bind(settings(0), port) as listener:
        assert url_of(listener) == f"http://{HOST}:{port}"


def test_occupied_old_port_is_replaced_and_a_configured_one_refused() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with bind(settings(0), port) as listener:
            assert listener.getsockname()[1] not in (0, port)
        with bind(settings(0), None) as first, bind(settings(0), None) as second:
            ports = [one.getsockname()[1] for one in (first, second)]
            assert FIRST_PORT <= ports[0] < ports[1] < FIRST_PORT + PORTS_TRIED
        with pytest.raises(Refused, match=r"cannot listen on 127\.0\.0\.1:\d+ .*http\.port"):
            bind(settings(port), None)
