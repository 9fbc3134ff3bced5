"""ToolHost: answers the calls of one server's tools, one task a call.

A call is identified by its sender and the id of its message. Sent again while it runs, it goes on;
sent again after its end, it is answered with the stored result. A call that may be repeated is
cancelled when its sender dies: the sender's next incarnation sends it again. Any other call goes on
without its sender, and its result is stored for whoever asks for it (`FetchResult`).
"""

import asyncio
import os
import secrets
from dataclasses import dataclass, field

from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.runtime.idle_service import take_until_idle
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tools.mcp.connection import McpConnection
from actors.tools.mcp.mcp_calls import McpConnectionLost, call_tool
from agiraph.core.errors import Refused
from agiraph.core.ids import TOOLS_PREFIX
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.catalog import ServedTool
from agiraph.mcp.rendering import quoted
from agiraph.messages import (
    CallTool,
    CancelTool,
    FetchResult,
    ListTools,
    NoSuchCall,
    ToolProgress,
    ToolResult,
    ToolsListed,
)
from agiraph.messages.body import Body
from transport.endpoint import Received
from transport.errors import TransportError

Key = tuple[str, bytes]
"""A call: its sender, and the id of its message. Only the sender is answered, or can cancel it."""

STORED_RESULTS = 64
MARK_BYTES = 4
PROGRESS_LIMIT = 200
UNKNOWN = (
    "[interrupted] The server '{server}' died while this call ran; its outcome is unknown. "
    "Look at what it has done before you try it again."
)
TOO_LONG = (
    "{tool} was not done within {seconds:g} s and was cancelled; what it has done by then stands"
)


def main(launch: ActorLaunch) -> int:
    """Run the host of one server of tools; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Serve until the process is stopped, or has been idle for a while."""
    server = runtime.address.removeprefix(TOOLS_PREFIX)
    settings = runtime.config.mcp.servers[server]
    connection = McpConnection(runtime, server, settings, dict(os.environ))
    try:
        await ToolHost(runtime, server, settings, connection).serve()
    finally:
        await connection.close()


@dataclass(slots=True)
class McpCallInFlight:
    """One call: the messages that await its result, the newest last, and its task."""

    requests: list[Received]
    is_repeatable: bool
    task: "asyncio.Task[None]" = field(init=False)


class ToolHost:
    """The shell round one server."""

    def __init__(
        self, runtime: Runtime, server: str, settings: McpServerConfig, connection: McpConnection
    ) -> None:
        self._runtime = runtime
        self._server = server
        self._settings = settings
        self._connection = connection
        self._config = runtime.config.mcp
        self._in_flight: dict[Key, McpCallInFlight] = {}
        self._results: dict[Key, ToolResult] = {}
        self._slots = asyncio.Semaphore(self._config.concurrent_calls)
        self._tasks = BackgroundTasks()

    async def serve(self) -> None:
        """Answer calls until there have been none for a while."""
        self._runtime.endpoint.on_down = self._peer_down
        await self._runtime.ready()
        changes = self._connection.follow_changes()
        try:
            await first_to_end(self._receive(), changes, self._tasks.until_broken())
        finally:
            await self._tasks.stop()

    async def _receive(self) -> None:
        own = self._settings.park_after_seconds
        seconds = self._config.park_after_seconds if own is None else own
        await take_until_idle(self._runtime, self._handle, lambda: self._tasks.is_empty, seconds)

    def _handle(self, received: Received) -> None:
        match received.body:
            case CallTool():
                self._call(received, received.body)
            case CancelTool(call=call):
                self._cancel(received, call)
            case FetchResult(call=call):
                self._fetch(received, call)
            case ListTools(afresh=afresh):
                self._tasks.start(self._list(received, refresh=afresh))
            case other:
                self._runtime.log.warning("not for a tool host", type=type(other).__name__)
        self._runtime.done(received)

    # --- messages --------------------------------------------------------------------------------

    async def _list(self, received: Received, *, refresh: bool) -> None:
        catalog = await self._connection.current_catalog(refresh=refresh)
        await self._reply(received, ToolsListed(catalog=catalog))

    def _call(self, received: Received, body: CallTool) -> None:
        key = (received.header.sender, received.header.id)
        running = self._in_flight.get(key)
        if running is not None and not (running.task.done() or running.task.cancelling()):
            running.requests = [received]
            return
        if (stored := self._results.get(key)) is not None:
            self._tasks.start(self._reply(received, stored))
            return
        tool = self._connection.catalog.tool(body.tool)
        call = McpCallInFlight([received], is_repeatable=tool is not None and tool.is_repeatable)
        self._in_flight[key] = call
        call.task = self._tasks.start(self._run(key, call, body))
        call.task.add_done_callback(lambda task: self._forget(key, call))

    def _fetch(self, received: Received, id: bytes) -> None:
        key = (received.header.sender, id)
        running = self._in_flight.get(key)
        if running is not None and not running.task.cancelling():
            running.requests.append(received)
            return
        self._tasks.start(self._reply(received, self._results.get(key) or NoSuchCall()))

    def _forget(self, key: Key, call: McpCallInFlight) -> None:
        if self._in_flight.get(key) is call:
            del self._in_flight[key]

    def _cancel(self, received: Received, id: bytes) -> None:
        call = self._in_flight.get((received.header.sender, id))
        if call is not None:
            call.task.cancel()

    def _peer_down(self, address: str, incarnation: int) -> None:
        for call in self._in_flight.values():
            header = call.requests[-1].header
            if call.is_repeatable and (header.sender, header.incarnation) == (address, incarnation):
                call.task.cancel()

    async def _reply(self, request: Received, body: Body) -> None:
        try:
            await self._runtime.reply(request, body)
        except TransportError as error:  # the sender asks again when it is back
            self._runtime.log.warning("an answer could not be sent", reason=str(error))

    # --- one call --------------------------------------------------------------------------------

    async def _run(self, key: Key, call: McpCallInFlight, body: CallTool) -> None:
        result = await self._result(key[1], call, body)
        if not call.is_repeatable:
            self._results[key] = result
            if len(self._results) > STORED_RESULTS:
                del self._results[next(iter(self._results))]
        for request in call.requests:
            await self._reply(request, result)

    async def _result(self, id: bytes, call: McpCallInFlight, body: CallTool) -> ToolResult:
        seconds = self._settings.timeout_seconds or self._config.timeout_seconds
        try:
            async with self._slots:
                await self._connection.session()  # its time is not the call's
                tool = self._connection.tool(body.tool)
                call.is_repeatable = tool.is_repeatable
                async with asyncio.timeout(seconds):
                    text, is_error = await self._ask(id, call, tool, body)
        except TimeoutError:
            return _failed(TOO_LONG.format(tool=body.tool, seconds=seconds))
        except Refused as error:
            return _failed(self._connection.redacted(str(error)))
        except Exception as error:
            # A call that fails in an unforeseen way must not end all the others.
            self._runtime.log.exception("a call crashed", tool=body.tool)
            return _failed(f"{body.tool} broke ({type(error).__name__})")
        mark = secrets.token_hex(MARK_BYTES)
        content = quoted(tool.name, text, limit=self._config.result_limit, mark=mark)
        return ToolResult(content=self._connection.redacted(content), is_error=is_error)

    async def _ask(
        self, id: bytes, call: McpCallInFlight, tool: ServedTool, body: CallTool
    ) -> tuple[str, bool]:
        """Call the tool, again if its server dies and the tool may be called twice."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            text = self._connection.redacted(progress_text(progress, total, message))
            self._runtime.post(call.requests[-1].header.sender, ToolProgress(call=id, text=text))

        for is_last in (False, True):
            session = await self._connection.session()
            try:
                return await call_tool(session, tool, body.arguments, report)
            except McpConnectionLost as error:
                self._runtime.log.warning("lost its server", tool=tool.tool, reason=str(error))
                if not tool.is_repeatable and not session.was_rejected:
                    raise Refused(UNKNOWN.format(server=self._server)) from None
                if is_last:
                    raise
        raise AssertionError("the second time returns or raises")


def progress_text(done: float, total: float | None, message: str | None) -> str:
    """Return the progress of a call as one short line."""
    share = f"{done:g}" + (f" of {total:g}" if total else "")
    return f"{share} {' '.join((message or '').split())}".strip()[:PROGRESS_LIMIT]


def _failed(reason: str) -> ToolResult:
    return ToolResult(content=reason, is_error=True)
