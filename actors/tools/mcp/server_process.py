"""McpServerProcess: answers the calls of one server's tools, one task a call.

A call that may be repeated is cancelled when its sender dies: the sender's next incarnation sends
it again. Any other call continues without its sender, and its result is stored (`FetchResult`).
"""

import asyncio
import os
import secrets

from actors.runtime.calls_in_flight import CallInFlight, CallsInFlight
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tools.mcp.callers import Callers
from actors.tools.mcp.connection import McpConnection
from actors.tools.mcp.mcp_calls import McpConnectionLost, call_tool
from actors.tools.mcp.session import ServerFailed
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.ids import TOOLS_PREFIX
from agiraph.mcp.catalog import ServedTool
from agiraph.mcp.registered import with_registered
from agiraph.mcp.rendering import quoted
from agiraph.messages.control import RefusedReply
from agiraph.messages.tool import (
    CallTool,
    CancelTool,
    FetchResult,
    ListTools,
    NoSuchCall,
    ToolProgress,
    ToolResult,
    ToolsListed,
)
from agiraph.settings.mcp_servers import McpServerConfig
from transport.endpoint import Received

MARK_BYTES = 4
PROGRESS_LIMIT = 200
UNKNOWN = (
    "[interrupted] The server '{server}' died while this call ran; its outcome is unknown. "
    "Check its effects before you repeat it."
)
TOO_LONG = (
    "{tool} was not done within {seconds:g} s and was cancelled; its effects until then remain"
)


def main(launch: ActorLaunch) -> int:
    """Run the process of one tool server; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Serve until the process is stopped, or has been idle for a while."""
    server = runtime.address.removeprefix(TOOLS_PREFIX)
    settings = with_registered(runtime.home, runtime.config.mcp.servers, [server])[server]
    connection = McpConnection(runtime, server, settings, dict(os.environ))
    try:
        await McpServerProcess(runtime, server, settings, connection).serve()
    finally:
        await connection.close()


class McpServerProcess:
    """Answers the bus's requests for one server of tools."""

    def __init__(
        self, runtime: Runtime, server: str, settings: McpServerConfig, connection: McpConnection
    ) -> None:
        self._runtime = runtime
        self._server = server
        self._settings = settings
        self._connection = connection
        self._config = runtime.config.mcp
        self._slots = asyncio.Semaphore(self._config.concurrent_calls)
        self._tasks = BackgroundTasks()
        self._in_flight = CallsInFlight(runtime, self._tasks)
        self._callers = Callers(runtime.home, runtime.config.mcp.servers, server)

    async def serve(self) -> None:
        """Answer calls until there have been none for a while."""
        own = self._settings.park_after_seconds
        seconds = self._config.park_after_seconds if own is None else own
        await self._in_flight.serve(self._handle, seconds, self._connection.follow_changes())

    def _handle(self, received: Received) -> None:
        match received.body:
            case CallTool():
                self._call(received, received.body)
            case CancelTool(call=call):
                self._in_flight.cancel(received.header.sender, call)
            case FetchResult(call=call):
                self._in_flight.fetch(received, call, NoSuchCall())
            case ListTools(afresh=afresh):
                self._tasks.start(self._list(received, refresh=afresh))
            case other:
                self._runtime.log.warning(
                    "not for an MCP server process", type=type(other).__name__
                )
        self._runtime.done(received)

    # --- messages --------------------------------------------------------------------------------

    async def _list(self, received: Received, *, refresh: bool) -> None:
        try:
            await asyncio.to_thread(self._callers.check_list, received.header.sender)
        except (AgiraphError, OSError, ValueError) as error:
            await self._in_flight.reply(received, RefusedReply(reason=self._refusal(error)))
            return
        catalog = await self._connection.current_catalog(refresh=refresh)
        await self._in_flight.reply(received, ToolsListed(catalog=catalog))

    def _refusal(self, error: Exception) -> str:
        """Log the reason of a refusal, and return it."""
        self._runtime.log.warning("a request is refused", reason=str(error))
        return str(error)

    def _call(self, received: Received, body: CallTool) -> None:
        id, tool = received.header.id, self._connection.catalog.tool(body.tool)

        async def answer(call: CallInFlight) -> ToolResult:
            self._set_repeatable(call, tool is not None and tool.is_repeatable)
            return await self._result(id, call, body)

        self._in_flight.call(received, answer)

    def _set_repeatable(self, call: CallInFlight, is_repeatable: bool) -> None:
        call.ends_with_sender = is_repeatable
        call.is_stored = not is_repeatable

    # --- one call --------------------------------------------------------------------------------

    async def _result(self, id: bytes, call: CallInFlight, body: CallTool) -> ToolResult:
        seconds = self._settings.timeout_seconds or self._config.timeout_seconds
        try:
            await asyncio.to_thread(self._callers.check_server, call.sender)
            async with self._slots:
                await self._connection.session()  # this time does not count for the call
                tool = self._connection.tool(body.tool)
                catalog, arguments = self._connection.catalog, body.arguments
                await asyncio.to_thread(
                    self._callers.check_call, call.sender, catalog, tool, arguments
                )
                self._set_repeatable(call, tool.is_repeatable)
                async with asyncio.timeout(seconds):
                    text, is_error = await self._ask(id, call, tool, body)
        except ServerFailed as error:
            return _failed(self._failure(error))
        except TimeoutError:
            return _failed(TOO_LONG.format(tool=body.tool, seconds=seconds))
        except Refused as error:
            return _failed(self._connection.redacted(str(error)))
        except Exception as error:
            # An unforeseen failure of one call must not end the other calls.
            self._runtime.log.exception("a call crashed", tool=body.tool)
            return _failed(f"{body.tool} broke ({type(error).__name__})")
        content = self._quoted(f"result of {tool.name}", self._connection.redacted(text))
        return ToolResult(content=content, is_error=is_error)

    def _quoted(self, what: str, text: str) -> str:
        limit, mark = self._config.result_limit, secrets.token_hex(MARK_BYTES)
        return quoted(what, text, limit=limit, mark=mark)

    def _failure(self, error: ServerFailed) -> str:
        """Return why a call failed: our reason, and the server's own text between marks."""
        reason = f"server '{self._server}' failed: {error}"
        said = self._connection.said_in(error)
        return f"{reason}\n{self._quoted('its own text', said)}" if said else reason

    async def _ask(
        self, id: bytes, call: CallInFlight, tool: ServedTool, body: CallTool
    ) -> tuple[str, bool]:
        """Return the tool's result; call again if its server dies and it may be called twice."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            said = self._connection.redacted(message or "")
            text = progress_text(progress, total, said)
            self._runtime.post(call.sender, ToolProgress(call=id, text=text))

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
