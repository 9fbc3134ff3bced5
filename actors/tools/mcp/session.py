"""McpSession: one connection with a server, from its start to its end, held open by a task of its
own.

The SDK wants a connection to be closed by the task that opened it; so a task opens it, tells that
it stands, waits to be told to let go or for the server's end, and closes it.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from actors.tools.mcp.transports import Transport, watched
from agiraph.core.errors import Refused

if TYPE_CHECKING:
    from mcp import Client

CLIENT_NAME = "agiraph"
TOOLS_CHANGED = "ToolListChangedNotification"
Changed = Callable[[], None]


class McpSession:
    """A connection with one server; `client` may be used while `is_up`."""

    def __init__(self, name: str, on_change: Changed) -> None:
        """Make one that is not open; `on_change` is called when the server's tools change."""
        self._name = name
        self._on_change = on_change
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._ended = asyncio.Event()
        self._let_go = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.was_rejected = False

    @property
    def client(self) -> "Client":
        """The SDK's client; raises Refused if the connection is gone."""
        if self._client is None or not self.is_up:
            raise Refused(f"server '{self._name}' is gone")
        return self._client

    @property
    def is_up(self) -> bool:
        """Whether the connection stands."""
        return self._up.is_set() and not self._ended.is_set()

    def reject(self) -> None:
        """Hear that the server knows this connection no more: what is said now is not heard."""
        self.was_rejected = True
        self._ended.set()

    def lose(self) -> None:
        """Take the connection for lost: something that was said over it failed."""
        self._ended.set()

    async def open(self, transport: Transport, within_seconds: float) -> None:
        """Connect and shake hands; raises Refused with the reason."""
        self._task = asyncio.create_task(self._hold(transport))
        up = asyncio.create_task(self._up.wait())
        try:
            async with asyncio.timeout(within_seconds):
                await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self.close()
            raise Refused(f"it was not ready within {within_seconds:g} s") from None
        except BaseException:
            await self.close()
            raise
        finally:
            up.cancel()
        if not self._up.is_set():
            error = None if self._task.cancelled() else self._task.exception()
            raise Refused(reason_of(error) if error else "it ended at once")

    async def close(self) -> None:
        """Let the connection go, and its server's process with it."""
        self._let_go.set()
        task = self._task
        if task is None:
            return
        if not self._up.is_set():
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at: it was told, or nobody is left to hear of it

    async def _hold(self, transport: Transport) -> None:
        from mcp import Client
        from mcp.types import Implementation

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its tracebacks are not for our log
        opened = Client(
            watched(transport, self._ended),
            client_info=Implementation(name=CLIENT_NAME, version="1"),
            message_handler=self._hear,
        )
        try:
            async with opened as client:
                self._client = client
                self._up.set()
                async with _listening(client, self._on_change):
                    await _first(self._let_go.wait(), self._ended.wait())
        finally:
            self._ended.set()

    async def _hear(self, message: Any) -> None:
        """Hear what an older server says unasked."""
        if type(message).__name__ == TOOLS_CHANGED:
            self._on_change()


@contextlib.asynccontextmanager
async def _listening(client: "Client", on_change: Changed) -> AsyncIterator[None]:
    """Hear, inside this block, of changes of the tools from a server that wants to be asked."""
    task = asyncio.create_task(_listen(client, on_change))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _listen(client: "Client", on_change: Changed) -> None:
    tools = client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        return
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                on_change()
    except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
        pass  # an older server tells of itself; of any other it is noticed at its next start


async def _first(*works: Awaitable[Any]) -> None:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def reason_of(error: BaseException) -> str:
    """Return what went wrong in words; of a group, the first thing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        named = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{named}"
    return str(error) or type(error).__name__
