"""uvicorn inside an actor's event loop. Imports uvicorn: only an actor that serves imports this.

uvicorn closes idle connections and limits a request's head in bytes. Four features for which it has
no setting are added here from the outside, without touching its internals:

- the deadline for a whole request head, and the limit on connections (`TimedConnection`, an
  asyncio protocol in front of uvicorn's);
- the deadline for a client that does not read its response: the kernel's TCP_USER_TIMEOUT,
  set on the listening socket and inherited by each connection (Linux; elsewhere there is none);
- sleeping until there is work: uvicorn's own loop checks ten times a second whether it must
  stop.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from agiraph.http.errors import IS_EXTRA

App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]

BACKLOG = 128
SPARE_CONNECTIONS = 64
"""This many connections beyond the limit are answered (see IS_EXTRA), further ones are reset."""

DATE_SECONDS = 1.0
"""How often the date for the Date header is read."""

_CONNECTION = "timed_connection"
_DETAIL = b'{"type":"about:blank","title":"Request Timeout","status":408,"detail":"%b"}'
_LATE = _DETAIL % b"the request did not come in time"
LATE_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_LATE), _LATE)
)

NOISE = (
    "without completing handshake",
    "without completing response",
    "Invalid HTTP request received",
    "Unsupported upgrade request",
)
"""Messages with which any client could fill the log; each case is answered or ended properly."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The number of connections, and how long the server waits for a client.

    `idle_seconds` is between two requests of a connection; a request in progress has
    `drain_seconds` to end when the server stops.
    """

    connections: int
    head_bytes: int
    head_seconds: float
    idle_seconds: int = 5
    drain_seconds: int = 1


class TimedConnection(asyncio.Protocol):
    """A connection of uvicorn that is closed if a request's head does not arrive in time.

    uvicorn creates it instead of its own class, with the same arguments.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._limits = limits
        self._connections = server_state.connections
        self._state = {**app_state, _CONNECTION: self, IS_EXTRA: False}
        self._inner = H11Protocol(config, server_state, self._state, _loop)
        self._requests = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first head; reset the connection if there are far too many."""
        count = len(self._connections) + 1
        if count > self._limits.connections + SPARE_CONNECTIONS:
            transport.abort()
            return
        self._state[IS_EXTRA] = count > self._limits.connections
        self._transport = transport
        self._inner.connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell uvicorn's protocol that the connection has ended."""
        self._cancel_deadline()
        if self._transport is not None:
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to uvicorn; outside of a request they begin a head."""
        if self._transport is None or self._transport.is_closing():
            return
        if not self._requests:
            self._await_head()
        self._inner.data_received(data)

    def eof_received(self) -> None:
        """Tell uvicorn's protocol that the client sends no more bytes."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """Tell uvicorn's protocol to stop writing."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Tell uvicorn's protocol to continue writing."""
        self._inner.resume_writing()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Serve a request inside the block: the deadline for a head does not run meanwhile."""
        self._cancel_deadline()
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    def abort(self) -> None:
        """Reset the connection: its client sees that there will be no answer, and may ask again."""
        if self._transport is not None:
            self._transport.abort()

    def _await_head(self) -> None:
        if self._deadline is None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self._limits.head_seconds, self._on_late_head)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_late_head(self) -> None:
        self._deadline = None
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(LATE_RESPONSE)
            self._transport.close()


class _Server(uvicorn.Server):
    """A uvicorn that leaves signals to the actor's runtime, and is stopped by a method."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Make `serve` return soon."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Return when the server must stop; update the Date header until then."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._stopping.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


class HttpServer:
    """An ASGI application served on a bound socket, from `start` to `stop`.

    `options` are further options of `uvicorn.Config`.
    """

    def __init__(
        self,
        app: App,
        listener: socket.socket,
        limits: ConnectionLimits,
        *,
        tls: ssl.SSLContext | None = None,
        **options: Any,
    ) -> None:
        self._listener = listener
        self._config = uvicorn.Config(
            _timed(app),
            http=partial(TimedConnection, limits),  # type: ignore[arg-type]  # it is called alone
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=limits.head_bytes,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=limits.drain_seconds,
            ssl_context_factory=(lambda *_: tls) if tls is not None else None,
            backlog=BACKLOG,
            **options,
        )
        self._server = _Server(self._config)
        self.task: asyncio.Task[None] | None = None
        """Ends by itself only by a fault."""

    def start(self) -> None:
        """Begin to serve, including the connections that exist already."""
        logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
        self._config.load()
        self.task = asyncio.create_task(self._server.serve([self._listener]))

    async def stop(self) -> None:
        """Stop listening, let requests in progress end for `drain_seconds`, cut off the rest."""
        self._server.stop()
        if self.task is not None:
            await asyncio.wait([self.task])
        self._listener.close()


def _timed(app: App) -> App:
    """Return `app` with a wrapper that tells its connection when a request begins and ends.

    If the server stops during a request, the connection is reset without a response: the client
    must not take the request as refused or as done.
    """

    async def serve(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        connection: TimedConnection = scope["state"].pop(_CONNECTION)
        with connection.request():
            try:
                await app(scope, receive, send)
            except asyncio.CancelledError:
                connection.abort()
                await asyncio.sleep(0)  # uvicorn notices that the client is gone

    return serve


def listen(host: str, ports: Iterable[int], stall_seconds: float) -> socket.socket:
    """Return a listening socket at the first of `ports` that is free; 0 is any.

    A connection whose client reads nothing for `stall_seconds` is reset by the kernel. Raises the
    last port's OSError.
    """
    problem = OSError("no port was named")
    for port in ports:
        try:
            return _bound(host, port, stall_seconds)
        except OSError as error:
            problem = error
    raise problem


def _bound(host: str, port: int, stall_seconds: float) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            milliseconds = max(1, int(1000 * stall_seconds))
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _is_worth_logging(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(noise in message for noise in NOISE)
