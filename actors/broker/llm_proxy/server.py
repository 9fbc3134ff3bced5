"""uvicorn on loopback inside the broker's loop. Imported when the first door is opened."""

import asyncio
import logging
import socket
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from actors.runtime.inner_server import InnerServer
from agiraph.core.errors import Refused

HOST = "127.0.0.1"
BACKLOG = 128
HEAD_SECONDS = 20.0
HEAD_BYTES = 65536
IDLE_SECONDS = 300
END_SECONDS = 0.5
NOISE = ("without completing response", "Invalid HTTP request received", "Unsupported upgrade")


class _Impatient(H11Protocol):
    """A connection whose next request must have a whole head soon after it has begun."""

    head_seconds: ClassVar[float] = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin with no deadline."""
        super().__init__(*args, **named)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a head."""
        super().connection_made(transport)
        self._expect(True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._expect(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        is_head = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        self._expect(is_head and not self.transport.is_closing())

    def _expect(self, is_head: bool) -> None:
        if is_head and self._late is None:
            self._late = self.loop.call_later(self.head_seconds, self.transport.abort)
        elif not is_head and self._late is not None:
            self._late.cancel()
            self._late = None


def bind(port: int) -> socket.socket:
    """Return a socket bound to `port` of the loopback; if that is taken, to any. Raises Refused."""
    for wanted in dict.fromkeys((port, 0)):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((HOST, wanted))
        except OSError as error:
            listener.close()
            if wanted == 0:
                raise Refused(f"the door cannot listen on {HOST} ({error.strerror})") from error
            continue
        listener.setblocking(False)
        return listener
    raise AssertionError("unreachable")


class ProxyServer:
    """A server that listens."""

    def __init__(self, app: Any, listener: socket.socket, connections: int) -> None:
        """Serve `app` on `listener` for at most `connections` at once, once started."""
        self._listener = listener
        config = uvicorn.Config(
            app,
            http=_Impatient,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=HEAD_BYTES,
            limit_concurrency=connections,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=1,
            backlog=BACKLOG,
        )
        self._server = InnerServer(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    async def start(self) -> None:
        """Begin to serve; raises what uvicorn raises if it cannot."""
        logging.getLogger("uvicorn.error").addFilter(_is_worth_telling)
        self._task = asyncio.create_task(self._server.serve([self._listener]))
        opened = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait([self._task, opened], return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        if self._task.done():
            self._task.result()
            raise Refused("the door's server ended as soon as it began")

    async def stop(self) -> None:
        """Stop listening and cut off what is under way."""
        if self._task is None:
            return
        self._server.should_exit = self._server.force_exit = True
        for running in list(self._server.server_state.tasks):
            running.cancel()
        await asyncio.wait([self._task], timeout=END_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=END_SECONDS)
        self._listener.close()


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Leave out what is no fault of the server: answers cut off on purpose, what is no HTTP."""
    said = record.getMessage()
    return not any(noise in said for noise in NOISE)
