"""One HTTP/1.1 connection: uvicorn's over httptools (llhttp, in C), with bounds and deadlines.

The parser keeps what it has of a head for itself and for as long as one likes, so the head is
bounded here: in time, whatever trickles in meanwhile, and in bytes. What comes behind a chunked
body as its trailer is dropped: the gate has looked at the headers by then.
"""

import asyncio
import urllib.parse
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from actors.gateway.events.client_timeouts import (
    SPARE_CONNECTIONS,
    TOO_MANY,
    ClientTimeouts,
    StallTimeout,
)
from actors.gateway.http.exchange import HEADERS, WHOLE, refuse

NO_HTTP = "this is no HTTP/1.1 request"
CLOSES = b"connection: close\r\n"
OURS = b"content-type: application/json\r\n" + b"".join(b"%b: %b\r\n" % one for one in HEADERS)
"""What every whole answer bears."""


class JoinedTransport:
    """A transport that is written to in pieces, and passes them on as one."""

    def __init__(self, transport: asyncio.Transport) -> None:
        """Write to `transport`."""
        self._transport = transport
        self._parts: list[bytes] = []
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Keep a piece."""
        self._parts.append(data)

    def flush(self) -> None:
        """Pass on what is kept, with one call of the kernel."""
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Pass on what is kept, and hang up."""
        self.flush()
        self._transport.close()


class RequestCycle(RequestResponseCycle):
    """A request and its answer, whose head waits for the first piece of its body."""

    transport: JoinedTransport  # type: ignore[assignment]

    async def send(self, message: Any) -> None:
        """Take a piece of the answer, or all of it."""
        if message["type"] == WHOLE:
            await self._send_whole(message["status"], message["body"], message["closes"])
            return
        try:
            await super().send(message)
        finally:
            if message["type"] != "http.response.start":
                self.transport.flush()

    async def _send_whole(self, status: int, body: bytes, closes: bool) -> None:
        """Send an answer of JSON at once; its headers are ours, and need not be looked through."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if closes or not self.keep_alive:
            self.keep_alive = False
            last = CLOSES
        else:
            last = b""
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        dated = b"".join(b"%b: %b\r\n" % pair for pair in self.default_headers)
        head = STATUS_LINE[status], dated, b"content-length: %d\r\n" % len(body), OURS, last
        self.transport.write(b"".join((*head, b"\r\n", b"" if self._is_head else body)))
        self.transport.flush()
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    @property
    def _is_head(self) -> bool:
        return self.scope["method"] == "HEAD"

    async def receive(self) -> Any:
        """Return a piece of the request; a client that waits to be told so may send its body."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.waiting_for_100_continue = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.transport.flush()
        return await super().receive()


class HttpConnection(HttpToolsProtocol):
    """An HTTP connection with deadlines."""

    patience: ClassVar[ClientTimeouts]

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin with no deadline."""
        super().__init__(*args, **named)
        self._head: asyncio.TimerHandle | None = None
        self._in_message = False
        self._in_head = True
        self._head_bytes = 0
        self._begun = 0
        self._stall = StallTimeout(self.loop, self.patience.stall_seconds)

    # --- the connection ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a head, or refuse one connection too many."""
        super().connection_made(transport)
        over = len(self.connections) - self.patience.connections
        if over > SPARE_CONNECTIONS:
            transport.abort()
            return
        if over > 0:
            self.app = _refuse_one_too_many
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget every deadline."""
        self._expect_nothing()
        self._stall.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece; a head that has begun must be whole in time, and not too large."""
        if self.parser is None or self.transport.is_closing():
            return
        was_idle, self._begun = not self._in_message, 0
        super().data_received(data)
        if self.transport.is_closing():
            return
        is_first = was_idle and self._begun < 2
        if self._in_message and self._in_head:
            self._expect_head()
            if is_first or not self._begun:
                self._head_bytes += len(data)
        elif is_first and not self._begun:  # empty lines, say
            self._expect_head()
        if self._head_bytes > self.patience.header_bytes:
            self._refuse(b"431 Request Header Fields Too Large", "the head is too large")

    def pause_writing(self) -> None:
        """The client is behind."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """It has caught up."""
        super().resume_writing()
        self._stall.end()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also when its client never takes the rest of the answer."""
        super().timeout_keep_alive_handler()
        self._stall.begin(self.transport)

    # --- what the parser tells ---

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_message = self._in_head = True
        self._head_bytes = 0
        self._begun += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is dropped."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to serve a request, when those before it on this connection are answered."""
        self._in_head = False
        self._head_bytes = 0
        self._expect_nothing()
        version = self.parser.get_http_version()
        scope = self.scope
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["http_version"] = version
        if self.parser.should_upgrade() and self._should_upgrade():
            return
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["path"] = urllib.parse.unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]
        before, self.cycle = self.cycle, self._answering(version)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._in_message = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Give the client a time to take the answer."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._stall.begin(self.transport)

    def _answering(self, version: str) -> RequestCycle:
        """Return the request that begins; behind an upgrade that we do not do comes no other."""
        goes_on = version != "1.0" and self.parser.should_keep_alive()
        return RequestCycle(
            scope=self.scope,
            transport=JoinedTransport(self.transport),  # type: ignore[arg-type]
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=goes_on and not self.parser.should_upgrade(),
            on_response=self.on_response_complete,
        )

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to its WebSocket."""
        self._expect_nothing()
        self._stall.end()
        if self.app is _refuse_one_too_many:
            self._refuse(b"503 Service Unavailable", TOO_MANY.detail)
        else:
            super().handle_websocket_upgrade()

    # --- refusing without the application ---

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(b"400 Bad Request", NO_HTTP)

    def _expect_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.patience.head_seconds, self._head_is_late)

    def _expect_nothing(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        self._head = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_head()  # a request before it is still being answered
            return
        self._refuse(b"408 Request Timeout", "the request did not come in time")

    def _refuse(self, status: bytes, detail: str) -> None:
        """Answer past the parser, whose state is that of a request which never was, and hang up."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what the application still says goes nowhere
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        body = b'{"type":"about:blank","title":"%b","status":%b,"detail":"%b"}' % (
            status[4:],
            status[:3],
            detail.encode(),
        )
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/problem+json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(body), body)
        )
        self.transport.close()
        self._stall.begin(self.transport)


async def _refuse_one_too_many(scope: Any, receive: Any, send: Any) -> None:
    """Answer on a connection that is one too many."""
    await refuse("http", send, TOO_MANY, "")
