"""Connections: HTTP/1.1 to a service, kept open between calls; the transport under an SDK's client.

What comes with the HTTP library is made for every case, and spends most of a call's processor time
on locks, layers and one await per header. A broker needs little: a request whose body is bytes, an
answer that streams, no proxy. h11 reads and writes the protocol, asyncio's streams carry it.
Whoever goes through a proxy uses the library's own transport (`network.transport_for`).
"""

import asyncio
import socket
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping

import h11
import httpx2

READ_BYTES = 1 << 16
KEPT_SECONDS = 20.0
KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))

Timeouts = Mapping[str, float | None]
Origin = tuple[str, str, int]


class Connection:
    """One open connection; it serves one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak over these streams."""
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT)
        self._rested_at = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent: the service has not hung up, and not long ago."""
        is_open = not (self._reader.at_eof() or self._writer.is_closing())
        return is_open and time.monotonic() - self._rested_at < KEPT_SECONDS

    async def ask(self, request: httpx2.Request, body: bytes, times: Timeouts) -> h11.Response:
        """Send a request and return the head of its answer."""
        head = h11.Request(
            method=request.method,
            target=request.url.raw_path,
            headers=request.headers.raw,
        )
        pieces = [self._protocol.send(head)]
        if body:
            pieces.append(self._protocol.send(h11.Data(data=body)))
        pieces.append(self._protocol.send(h11.EndOfMessage()))
        try:
            self._writer.write(b"".join(piece for piece in pieces if piece))
            async with asyncio.timeout(times.get("write")):
                await self._writer.drain()
        except TimeoutError:
            raise httpx2.WriteTimeout("the request could not be sent in time") from None
        except OSError as error:
            raise httpx2.WriteError(str(error)) from error
        while True:
            event = await self.next(times)
            if isinstance(event, h11.Response):
                return event

    async def next(self, times: Timeouts) -> h11.Event:
        """Return the next piece of the answer. Raises httpx2.TransportError."""
        try:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(times.get("read")):
                    data = await self._reader.read(READ_BYTES)
                self._protocol.receive_data(data)
        except TimeoutError:
            raise httpx2.ReadTimeout("the service was silent for too long") from None
        except OSError as error:
            raise httpx2.ReadError(str(error)) from error
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        assert isinstance(event, h11.Event)
        return event

    def rest(self) -> bool:
        """Make ready for another request; return whether the service allows one."""
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()
            self._rested_at = time.monotonic()
            return True
        return False

    def close(self) -> None:
        """Let go at once."""
        self._writer.close()


class Connections(httpx2.AsyncBaseTransport):
    """The open connections of one client."""

    def __init__(self) -> None:
        """Be connected with nobody."""
        self._idle: defaultdict[Origin, list[Connection]] = defaultdict(list)
        self._context: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request; its body streams. Raises httpx2.TransportError."""
        body = await request.aread()
        times: Timeouts = request.extensions.get("timeout", {})
        origin = _origin(request.url)
        connection = self._rested(origin) or await self._connected(origin, times)
        try:
            head = await connection.ask(request, body, times)
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(self, origin, connection, times),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": head.reason},
        )

    def put_back(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection whose answer is read to its end, if it may be used again."""
        if connection.rest():
            self._idle[origin].append(connection)
        else:
            connection.close()

    def _rested(self, origin: Origin) -> Connection | None:
        idle = self._idle[origin]
        while idle:
            connection = idle.pop()
            if connection.is_usable:
                return connection
            connection.close()
        return None

    async def _connected(self, origin: Origin, times: Timeouts) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._context is None:
            self._context = httpx2.create_ssl_context()
        context = self._context if scheme == "https" else None
        try:
            async with asyncio.timeout(times.get("connect")):
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=context, limit=READ_BYTES
                )
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"no connection to {host}:{port} in time") from None
        except OSError as error:  # among them ssl.SSLError
            raise httpx2.ConnectError(str(error)) from error
        _keep_alive(writer)
        return Connection(reader, writer)

    async def aclose(self) -> None:
        """Let all idle connections go."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()


class _Body(httpx2.AsyncByteStream):
    """The body of one answer as it comes in; read to its end, its connection can be used again."""

    def __init__(
        self, home: Connections, origin: Origin, connection: Connection, times: Timeouts
    ) -> None:
        self._home = home
        self._origin = origin
        self._connection: Connection | None = connection
        self._times = times

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body's pieces. Raises httpx2.TransportError."""
        while self._connection is not None:
            event = await self._connection.next(self._times)
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                connection, self._connection = self._connection, None
                self._home.put_back(self._origin, connection)

    async def aclose(self) -> None:
        """Hang up if the answer was not read to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _origin(url: httpx2.URL) -> Origin:
    if url.scheme not in ("http", "https"):
        raise httpx2.UnsupportedProtocol(f"{url.scheme}:// is not spoken here")
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Have the system notice a peer that went away in the middle of a long silence."""
    line = writer.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if (option := getattr(socket, name, None)) is not None:
            line.setsockopt(socket.IPPROTO_TCP, option, value)
