"""uvicorn inside our own loop: no signal handlers of its own, and an end that never drags.

It listens elsewhere than on loopback only with TLS, or when it was told so in as many words.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import uvicorn

from actors.gateway.events.client_timeouts import ClientTimeouts, TimedWebSocket
from actors.gateway.http.connection import HttpConnection
from actors.gateway.http.exchange import App
from actors.runtime.inner_server import InnerServer
from agiraph.core.config import HttpConfig
from agiraph.core.errors import Refused

DRAIN_SECONDS = 0.6
BACKLOG = 128
FRAME_LIMIT = 4096

NOISE = (
    "without completing handshake",
    "without completing response",
    "Invalid HTTP request received",
    "Unsupported upgrade request",
)


class _Server(InnerServer):
    """One whose clients must shake hands soon, where it speaks TLS."""

    def __init__(self, config: uvicorn.Config, head_seconds: float) -> None:
        super().__init__(config)
        self._head_seconds = head_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        with _handshakes_within(self._head_seconds if self.config.ssl else None):
            await super().startup(sockets)


@contextmanager
def _handshakes_within(seconds: float | None) -> Iterator[None]:
    """Let whatever begins to listen here wait no longer for a client's TLS handshake.

    asyncio waits a minute by default, and uvicorn has no word for it; a connection that has not
    shaken hands is not yet among those that are counted.
    """
    if seconds is None:
        yield
        return
    loop: Any = asyncio.get_running_loop()
    loop.create_server = partial(loop.create_server, ssl_handshake_timeout=seconds)
    try:
        yield
    finally:
        del loop.create_server


def bind(host: str, port: int, remembered: int | None) -> socket.socket:
    """Return a socket bound to `port`; if that is 0, to the `remembered` port if it is free.

    A gateway that comes back at its old port spares its clients looking for it.
    Raises Refused if the address cannot be had.
    """
    if port == 0 and remembered:
        try:
            return _bound(host, remembered)
        except OSError:
            pass  # somebody else has it by now
    try:
        return _bound(host, port)
    except OSError as error:
        raise Refused(
            f"cannot listen on {host}:{port} ({error.strerror}); set http.host and http.port"
        ) from error


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """Return the URL at which this machine reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def tls_of(http: HttpConfig) -> ssl.SSLContext | None:
    """Return what TLS is spoken with, None without TLS; raise Refused naming what is wrong.

    Refuses, too, what would open the API to the network in the clear.
    """
    refusal = http.why_refused()
    if refusal is not None:
        raise Refused(refusal)
    if not http.tls_cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(http.tls_cert, http.tls_key)
    except OSError as error:  # ssl.SSLError is one
        raise Refused(
            f"http.tls_cert '{http.tls_cert}' and http.tls_key '{http.tls_key}' cannot be used "
            f"({error.strerror or error})"
        ) from None
    return context


@asynccontextmanager
async def serving(
    app: App, listener: socket.socket, http: HttpConfig, tls: ssl.SSLContext | None = None
) -> AsyncIterator["asyncio.Task[None]"]:
    """Serve `app` on `listener` inside the block; yield the task, which ends only by a fault."""
    patience = ClientTimeouts.of(http)
    names = {"patience": patience}
    server = _Server(
        uvicorn.Config(
            app,
            http=type("PatientHttp", (HttpConnection,), names),
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws=type("PatientWebSocket", (TimedWebSocket,), names),
            ssl_context_factory=(lambda *_: tls) if tls is not None else None,
            ws_max_size=FRAME_LIMIT,
            ws_per_message_deflate=False,
            backlog=BACKLOG,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        ),
        http.head_seconds,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_worth_telling)
    task = asyncio.create_task(server.serve([listener]))
    try:
        opened = asyncio.create_task(server.listening.wait())
        await asyncio.wait([task, opened], return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        yield task
    finally:
        await _end(server, task)
        listener.close()


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Leave out what anybody who can connect could fill the log with.

    Each of these is answered or ended as it should be: a WebSocket that is refused before its
    handshake, what is no HTTP, an answer that is cut off because its key has ended.
    """
    said = record.getMessage()
    return not any(noise in said for noise in NOISE)


async def _end(server: _Server, task: "asyncio.Task[None]") -> None:
    """Let what is in flight finish for a moment, then cut it off."""
    server.should_exit = True
    await asyncio.wait([task], timeout=DRAIN_SECONDS)
    if task.done():
        return
    server.force_exit = True
    for connection in list(server.server_state.tasks):
        connection.cancel()
    await asyncio.wait([task], timeout=DRAIN_SECONDS / 2)
    task.cancel()
    await asyncio.wait([task], timeout=DRAIN_SECONDS / 2)
