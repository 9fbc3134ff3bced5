"""A TCP connection with faults on request: a proxy in a thread, in front of a server.

freeze      nothing gets through, no side notices; data arrives after `heal`, as TCP guarantees cut
all connections are reset, new ones are reset at once, until `heal` half_open   the server's ends of
all connections are reset, the clients' stay, silent delay       each byte takes this long, in both
directions
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

RESET = struct.pack("ii", 1, 0)


class BadNetwork:
    """Passes connections at `url` on to `target` (tcp://host:port), which may start later."""

    def __init__(self, target: str = "") -> None:
        self.target = target
        self.url = ""
        self._delay = 0.0
        self._is_cut = False
        self._writers: dict[asyncio.StreamWriter, bool] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def delay(self, seconds: float) -> None:
        """Delay each byte by `seconds` from now on."""
        self._delay = seconds

    def freeze(self) -> None:
        """Let nothing through, silently."""
        self._do(self._passes.clear)

    def cut(self) -> None:
        """Reset all connections, and every new one."""
        self._is_cut = True
        self._do(lambda: self._reset(True, False))

    def half_open(self) -> None:
        """Reset only the server's ends of all connections; their clients hear nothing more."""
        self._do(lambda: self._reset(True))

    def heal(self) -> None:
        """Let everything through again, and new connections in."""
        self._is_cut = False
        self._do(self._passes.set)

    def _do(self, act: Callable[[], None]) -> None:
        done = threading.Event()
        self._loop.call_soon_threadsafe(act)
        self._loop.call_soon_threadsafe(done.set)
        done.wait()

    async def _open(self) -> None:
        self._passes = asyncio.Event()
        self._passes.set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        self._server.close()
        self._reset(True, False)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _reset(self, *sides: bool) -> None:
        """Reset the connections to the server (True), from the clients (False)."""
        for writer, is_to_server in list(self._writers.items()):
            if is_to_server in sides:
                del self._writers[writer]
                _reset(writer)

    async def _connected(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        if self._is_cut:
            _reset(to_client)
            return
        place = urlsplit(self.target)
        try:
            from_server, to_server = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            _reset(to_client)
            return
        self._writers |= {to_server: True, to_client: False}
        for reader, writer in ((from_client, to_server), (from_server, to_client)):
            waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
            for work in (self._read(reader, waiting), self._write(waiting, writer)):
                task = asyncio.get_running_loop().create_task(work)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _read(
        self, reader: asyncio.StreamReader, waiting: asyncio.Queue[tuple[float, bytes]]
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                waiting.put_nowait((self._loop.time() + self._delay, data))
            waiting.put_nowait((0.0, b""))

    async def _write(
        self, waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(due - self._loop.time())
                await self._passes.wait()
                if not data:
                    if self._writers.pop(writer, None) is not None:
                        writer.close()
                    return
                writer.write(data)
                await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
