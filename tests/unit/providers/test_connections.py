"""Connections to a service: kept, used again, given up when the service hangs up."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from agiraph.providers.connections import Connections
from agiraph.providers.network import client_options

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Act = Callable[[httpx2.AsyncClient, str], Awaitable[None]]

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n3\r\n, y\r\n0\r\n\r\n"


class Service:
    """Answers each request with the next of its `answers`; counts connections and bodies."""

    def __init__(self, *answers: bytes, hangs_up: bool = False) -> None:
        self.answers = list(answers)
        self.hangs_up = hangs_up
        self.connections = 0
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
                self.bodies.append(await reader.readexactly(length))
                writer.write(self.answers.pop(0))
                await writer.drain()
                if self.hangs_up:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()


def run(service: Service, act: Act, timeout: float = 5.0) -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with httpx2.AsyncClient(transport=Connections(), timeout=timeout) as client:
            await act(client, url)
        server.close()
        await asyncio.sleep(0)

    asyncio.run(scenario())


def test_a_connection_is_used_again_and_bodies_arrive_whole() -> None:
    service = Service(WHOLE, CHUNKED, WHOLE)
    texts = []

    async def act(client: httpx2.AsyncClient, url: str) -> None:
        for body in (b"one", b"x" * 300_000, b""):
            texts.append((await client.post(url, content=body)).text)

    run(service, act)
    assert texts == ["ok", "ok, y", "ok"]
    assert [len(body) for body in service.bodies] == [3, 300_000, 0]
    assert service.connections == 1


def test_a_service_that_hung_up_meanwhile_is_reached_anew() -> None:
    service = Service(WHOLE, WHOLE, hangs_up=True)

    async def act(client: httpx2.AsyncClient, url: str) -> None:
        for _ in range(2):
            assert (await client.post(url, content=b"x")).text == "ok"
            await asyncio.sleep(0.02)

    run(service, act)
    assert service.connections == 2


def test_an_answer_that_is_left_half_read_closes_its_connection() -> None:
    service = Service(CHUNKED, WHOLE)

    async def act(client: httpx2.AsyncClient, url: str) -> None:
        async with client.stream("POST", url, content=b"x") as answer:
            assert answer.status_code == 200
        assert (await client.post(url, content=b"x")).text == "ok"

    run(service, act)
    assert service.connections == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", httpx2.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx2.RemoteProtocolError),
        (b"", httpx2.RemoteProtocolError),
    ],
)
def test_what_breaks_off_or_is_no_answer_says_so(answer: bytes, error: type[Exception]) -> None:
    async def act(client: httpx2.AsyncClient, url: str) -> None:
        with pytest.raises(error):
            await client.post(url, content=b"x")

    run(Service(answer, hangs_up=True), act)


def test_silence_is_a_timeout_and_nobody_there_a_failed_connection() -> None:
    async def act(client: httpx2.AsyncClient, url: str) -> None:
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(url, content=b"x")
        with pytest.raises(httpx2.ConnectError):
            await client.post("http://127.0.0.1:1/v1", content=b"x")
        with pytest.raises(httpx2.UnsupportedProtocol):
            await client.post("ftp://127.0.0.1/v1", content=b"x")

    run(Service(b"", WHOLE), act, timeout=0.1)


def test_a_proxy_is_left_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert client_options("https://api.example.com") == {}
    assert isinstance(client_options("http://127.0.0.1:8080")["transport"], Connections)
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("all_proxy", raising=False)
    assert isinstance(client_options("https://api.example.com")["transport"], Connections)
