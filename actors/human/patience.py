"""Deadlines on connections: slow heads, readers that do not read, and too many at once.

uvicorn waits for ever for the rest of a head, and for a client to take what was sent. Here a head
has a time to be whole, whatever trickles in meanwhile; what waits for a client is bounded by the
transport's buffer (64 KiB) and, when nothing is taken for too long, dropped with its connection.
The body of a request has its deadline in the gate, which reads it.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from actors.human.exchange import refuse
from agiraph.api import ApiError
from agiraph.config import HttpConfig

FRAMES = "agiraph.frames"
"""The extension of a WebSocket's scope that holds its DirectFrames."""

SPARE_CONNECTIONS = 64
"""Beyond the bound on connections so many more are told so, further ones are cut off."""


TOO_MANY = ApiError(503, "too many connections are open (http.connections): come back later")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one waits for a client, and for how many of them."""

    head_seconds: float
    stall_seconds: float
    connections: int
    header_bytes: int

    @classmethod
    def of(cls, http: HttpConfig) -> "Patience":
        """Return what the settings say."""
        return cls(http.head_seconds, http.stall_seconds, http.connections, http.header_bytes)


class Stall:
    """Cuts a connection off when its client takes nothing for too long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Wait for `seconds`, once begun."""
        self._loop = loop
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """Count from now, unless it counts already."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._over, transport)

    def end(self) -> None:
        """Stop counting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self, transport: asyncio.Transport) -> None:
        self._timer = None
        if transport.is_closing() or transport.get_write_buffer_size():
            transport.abort()


class PatientHttp(H11Protocol):
    """An HTTP connection with deadlines."""

    patience: ClassVar[Patience]

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin with no deadline."""
        super().__init__(*args, **named)
        self._head: asyncio.TimerHandle | None = None
        self._stall = Stall(self.loop, self.patience.stall_seconds)

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
        """Take a piece; a head that has begun must be whole in time."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            if self.conn.trailing_data[0]:
                self._expect_head()
        else:
            self._expect_nothing()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to its WebSocket."""
        self._expect_nothing()
        self._stall.end()
        if self.app is _refuse_one_too_many:
            self._refuse(b"503 Service Unavailable", TOO_MANY.detail)
        else:
            super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Give the client a time to take the answer."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._stall.begin(self.transport)

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

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or a head that is too large."""
        if len(self.conn.trailing_data[0]) > self.patience.header_bytes:
            self._refuse(b"431 Request Header Fields Too Large", "the head is too large")
        else:
            self._refuse(b"400 Bad Request", "this is no HTTP/1.1 request")

    def _expect_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.patience.head_seconds, self._head_is_late)

    def _expect_nothing(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        self._head = None
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout", "the request did not come in time")

    def _refuse(self, status: bytes, detail: str) -> None:
        """Answer past h11, whose state is that of a request which never was, and hang up."""
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


class DirectFrames:
    """A connection's transport, for frames that are made once and written to many."""

    def __init__(self, protocol: WebSocketsSansIOProtocol) -> None:
        """Write to the transport of `protocol`."""
        self._protocol = protocol

    @property
    def takes_more(self) -> bool:
        """Whether its client is there and has taken what it was sent."""
        protocol = self._protocol
        if not protocol.handshake_complete or protocol.close_sent or protocol.disconnected:
            return False
        return protocol.writable.is_set() and not protocol.transport.is_closing()

    def write(self, frames: bytes) -> None:
        """Write frames as they are."""
        self._protocol.transport.write(frames)


class PatientWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose client must take what it is sent."""

    patience: ClassVar[Patience]

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin with no deadline."""
        super().__init__(*args, **named)
        self._stall = Stall(self.loop, self.patience.stall_seconds)

    def handle_connect(self, event: Request) -> None:
        """Begin to serve; the application may write whole frames past the protocol."""
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            extensions = cast("dict[str, object]", self.scope["extensions"])
            extensions[FRAMES] = DirectFrames(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._stall.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client is behind."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """It has caught up."""
        super().resume_writing()
        self._stall.end()

    def keepalive_timeout(self) -> None:
        """Let a client go that answers no ping, whether or not it takes the goodbye."""
        super().keepalive_timeout()
        self.transport.abort()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Nobody serves this connection any more: it must be gone soon."""
        super().on_task_complete(task)
        if not self.disconnected:
            self._stall.begin(self.transport)


async def _refuse_one_too_many(scope: Any, receive: Any, send: Any) -> None:
    """Answer on a connection that is one too many."""
    await refuse("http", send, TOO_MANY, "")


def patient(patience: Patience) -> tuple[type[PatientHttp], type[PatientWebSocket]]:
    """Return the two kinds of connection with this patience."""
    names = {"patience": patience}
    return (
        type("PatientHttp", (PatientHttp,), names),
        type("PatientWebSocket", (PatientWebSocket,), names),
    )
