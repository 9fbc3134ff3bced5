"""Deadlines on connections, and a WebSocket whose client must take what it is sent.

uvicorn waits for ever for the rest of a head, and for a client to take what was sent. Here a head
has a time to be whole (`http_connection.py`); what waits for a client is bounded by the transport's
buffer (64 KiB) and, when nothing is taken for too long, dropped with its connection. The body of a
request has its deadline in the gate, which reads it.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from agiraph.core.config import HttpConfig
from agiraph.http.api import ApiError

FRAMES = "agiraph.frames"
"""The extension of a WebSocket's scope that holds its DirectFrames."""

SPARE_CONNECTIONS = 64
"""Beyond the bound on connections so many more are told so, further ones are cut off."""


TOO_MANY = ApiError(503, "too many connections are open (http.connections): come back later")


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """How long one waits for a client, and for how many of them."""

    head_seconds: float
    stall_seconds: float
    connections: int
    header_bytes: int

    @classmethod
    def of(cls, http: HttpConfig) -> "ClientTimeouts":
        """Return what the settings say."""
        return cls(http.head_seconds, http.stall_seconds, http.connections, http.header_bytes)


class StallTimeout:
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


class TimedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose client must take what it is sent."""

    patience: ClassVar[ClientTimeouts]

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin with no deadline."""
        super().__init__(*args, **named)
        self._stall = StallTimeout(self.loop, self.patience.stall_seconds)

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
