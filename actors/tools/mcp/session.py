"""McpSession: one connection with a server, from its start to its end.

The SDK requires that a connection is closed by the task that opened it; so one task opens it, waits
until it must be closed or the server has ended, and closes it.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from actors.tools.mcp.incoming import IncomingMessages, OutgoingMessages
from actors.tools.mcp.transports import Transport
from agiraph.core.concurrency import first_to_end
from agiraph.core.errors import Refused
from agiraph.mcp.mending import LeftOut

if TYPE_CHECKING:
    from mcp import Client

CLIENT_NAME = "agiraph"
TOOLS_CHANGED = "ToolListChangedNotification"


class ServerFailed(Refused):
    """A server failed; the message is Agiraph's own, `said` is the server's text about it.

    `said` ('': none) is untrusted, of any length, and may contain secrets. Only
    `McpConnection.said_in` reads it.
    """

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.said = said


class McpSession:
    """A connection with one server; `client` may be used while `is_up`.

    `on_change` is called when the server's tools have changed, `on_odd` with each line that is no
    message. `left_out` are the entries left out of its lists. `was_rejected`: the server does not
    know this session any more, so it has not executed the last request.
    """

    def __init__(
        self, name: str, on_change: Callable[[], None], on_odd: Callable[[str], None]
    ) -> None:
        self._name = name
        self._on_change = on_change
        self._on_odd = on_odd
        self.left_out: tuple[LeftOut, ...] = ()
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._ended = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.was_rejected = False

    @property
    def client(self) -> "Client":
        """The SDK's client. Raises Refused if the connection has ended."""
        if self._client is None or not self.is_up:
            raise Refused(f"server '{self._name}' is gone")
        return self._client

    @property
    def is_up(self) -> bool:
        """Whether the session is connected."""
        return self._up.is_set() and not self._ended.is_set()

    def reject(self) -> None:
        """Record that the server does not know this session any more."""
        self.was_rejected = True
        self._ended.set()

    def mark_lost(self) -> None:
        """Record that the connection is lost: a request over it failed."""
        self._ended.set()

    async def open(self, transport: Transport, within_seconds: float) -> None:
        """Connect within `within_seconds`. Raises Refused, ServerFailed if the server failed."""
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
            raise failure_of(error) if error else ServerFailed("it ended at once")

    async def close(self) -> None:
        """Close the connection, which ends a server's local process."""
        self._closing.set()
        task = self._task
        if task is None:
            return
        if not self._up.is_set():
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved: it was reported, or is not needed

    async def _hold(self, transport: Transport) -> None:
        from mcp import Client
        from mcp.types import Implementation

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its tracebacks must not enter our log
        opened = Client(
            self._followed(transport),
            client_info=Implementation(name=CLIENT_NAME, version="1"),
            message_handler=self._on_message,
        )
        try:
            async with opened as client:
                self._client = client
                self._up.set()
                following = asyncio.create_task(self._follow_changes(client))
                try:
                    await first_to_end(self._closing.wait(), self._ended.wait())
                finally:
                    following.cancel()
                    await asyncio.wait({following})
        finally:
            self._ended.set()

    @contextlib.asynccontextmanager
    async def _followed(self, transport: Transport) -> AsyncIterator[Any]:
        """Yield the streams of a transport: answers are repaired, and their end is recorded."""
        async with transport as (read, write):
            outgoing = OutgoingMessages(write)
            incoming = IncomingMessages(
                read,
                outgoing,
                on_end=self._ended.set,
                on_odd=self._on_odd,
                on_left_out=self._leave_out,
            )
            yield incoming, outgoing

    def _leave_out(self, *parts: LeftOut) -> None:
        self.left_out += parts

    async def _on_message(self, message: Any) -> None:
        """Handle a notification (a server of the older protocol)."""
        if type(message).__name__ == TOOLS_CHANGED:
            self._on_change()

    async def _follow_changes(self, client: "Client") -> None:
        """Subscribe to changes of the tools at a server of the newer protocol."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._on_change()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            pass  # older servers send notifications; others are listed at their next start


def failure_of(error: BaseException) -> ServerFailed:
    """Return an error of the SDK or the system as ServerFailed; of a group, its first error."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        named = f" ({error.filename})" if error.filename else ""
        return ServerFailed(f"{error.strerror}{named}")
    if isinstance(error, MCPError):
        is_closed = error.code == CONNECTION_CLOSED
        reason = "its connection was closed" if is_closed else "it answered with an error"
        return ServerFailed(reason, str(error))
    return ServerFailed(f"the exchange with it failed ({type(error).__name__})", str(error))
