"""ToolHost: takes calls from the bus, runs one task a call, answers whoever asked last.

A call is known by the id of its message. Asked again while it runs, it goes on; asked again after
its end, it is answered from what was kept. The asker of a call that may be repeated can be
forgotten when it dies: its next incarnation asks again. Any other call goes on without its asker,
and what it returns is kept for whoever asks what became of it.
"""

import asyncio
import secrets
from dataclasses import dataclass, field

from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.runtime.idle_service import take_until_idle
from actors.runtime.runtime import Runtime
from actors.tools.mcp.connection import McpConnection
from actors.tools.mcp.mcp_calls import McpCallOptions, McpConnectionLost, say
from actors.tools.mcp.results import CallResults
from agiraph.core.errors import Refused
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.catalog import ServedTool
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
"""A call: who asks, and the id of its message. Nobody else is answered, or can cancel it."""

WORD_BYTES = 4
PROGRESS_LIMIT = 200
UNKNOWN = (
    "[interrupted] The server '{server}' died while this call ran; its outcome is unknown. "
    "Look at what it has done before you try it again."
)
TOO_LONG = (
    "{tool} was not done within {seconds:g} s and was cancelled; what it has done by then stands"
)


@dataclass(slots=True)
class McpCallInFlight:
    """One call: its newest questions and its task."""

    asked: list[Received]
    is_repeatable: bool
    task: "asyncio.Task[None]" = field(init=False)


class ToolHost:
    """The shell round one server."""

    def __init__(
        self, runtime: Runtime, server: str, settings: McpServerConfig, keeping: McpConnection
    ) -> None:
        """Serve `server` over `runtime`."""
        self._runtime = runtime
        self._server = server
        self._settings = settings
        self._keeping = keeping
        self._config = runtime.config.mcp
        self._in_flight: dict[Key, McpCallInFlight] = {}
        self._results = CallResults()
        self._slots = asyncio.Semaphore(self._config.concurrent_calls)
        self._side = BackgroundTasks()

    async def serve(self) -> None:
        """Take calls until there have been none for a while."""
        self._runtime.endpoint.on_down = self._peer_down
        await self._runtime.ready()
        try:
            await first_to_end(self._receive(), self._keeping.watch(), self._side.until_broken())
        finally:
            await self._side.stop()

    async def _receive(self) -> None:
        own = self._settings.park_after_seconds
        seconds = self._config.park_after_seconds if own is None else own
        await take_until_idle(self._runtime, self._take, lambda: self._side.is_empty, seconds)

    def _take(self, received: Received) -> None:
        match received.body:
            case CallTool():
                self._call(received, received.body)
            case CancelTool(call=call):
                self._cancel(received, call)
            case FetchResult(call=call):
                self._fetch(received, call)
            case ListTools(afresh=afresh):
                self._side.start(self._list(received, afresh=afresh))
            case other:
                self._runtime.log.warning("not for a tool host", type=type(other).__name__)
        self._runtime.done(received)

    # --- what is asked ---------------------------------------------------------------------------

    async def _list(self, received: Received, *, afresh: bool) -> None:
        await self._answer(received, ToolsListed(catalog=await self._keeping.known(afresh=afresh)))

    def _call(self, received: Received, body: CallTool) -> None:
        key = (received.header.sender, received.header.id)
        running = self._in_flight.get(key)
        if running is not None and not (running.task.done() or running.task.cancelling()):
            running.asked = [received]
            return
        if (known := self._results.get(key)) is not None:
            self._side.start(self._answer(received, known))
            return
        tool = self._keeping.catalog.tool(body.tool)
        call = McpCallInFlight([received], is_repeatable=tool is not None and tool.is_repeatable)
        self._in_flight[key] = call
        call.task = self._side.start(self._run(key, call, body))
        call.task.add_done_callback(lambda task: self._forget(key, call))

    def _fetch(self, received: Received, id: bytes) -> None:
        key = (received.header.sender, id)
        running = self._in_flight.get(key)
        if running is not None and not running.task.cancelling():
            running.asked.append(received)
            return
        self._side.start(self._answer(received, self._results.get(key) or NoSuchCall()))

    def _forget(self, key: Key, call: McpCallInFlight) -> None:
        if self._in_flight.get(key) is call:
            del self._in_flight[key]

    def _cancel(self, received: Received, id: bytes) -> None:
        call = self._in_flight.get((received.header.sender, id))
        if call is not None:
            call.task.cancel()

    def _peer_down(self, address: str, incarnation: int) -> None:
        for call in self._in_flight.values():
            header = call.asked[-1].header
            if call.is_repeatable and (header.sender, header.incarnation) == (address, incarnation):
                call.task.cancel()

    async def _answer(self, asked: Received, body: Body) -> None:
        try:
            await self._runtime.reply(asked, body)
        except TransportError as error:  # the asker asks again when it is back
            self._runtime.log.warning("an answer did not go out", reason=str(error))

    # --- one call --------------------------------------------------------------------------------

    async def _run(self, key: Key, call: McpCallInFlight, body: CallTool) -> None:
        result = await self._result(key[1], call, body)
        if not call.is_repeatable:
            self._results.keep(key, result)
        for asked in call.asked:
            await self._answer(asked, result)

    async def _result(self, id: bytes, call: McpCallInFlight, body: CallTool) -> ToolResult:
        seconds = self._settings.timeout_seconds or self._config.timeout_seconds
        try:
            async with self._slots:
                await self._keeping.link()  # its time is not the call's
                tool = self._keeping.tool(body.tool)
                call.is_repeatable = tool.is_repeatable
                async with asyncio.timeout(seconds):
                    content = await self._content(id, call, tool, body)
                    return ToolResult(content=self._keeping.told(content))
        except TimeoutError:
            return _failed(TOO_LONG.format(tool=body.tool, seconds=seconds))
        except Refused as error:
            return _failed(self._keeping.told(str(error)))
        except Exception as error:
            # One call that goes wrong in an unforeseen way must not end all the others.
            self._runtime.log.exception("a call crashed", tool=body.tool)
            return _failed(f"{body.tool} broke ({type(error).__name__})")

    async def _content(
        self, id: bytes, call: McpCallInFlight, tool: ServedTool, body: CallTool
    ) -> str:
        """Return what the tool says, asking again if its server dies and that does no harm."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            text = self._keeping.told(progress_in_words(progress, total, message))
            self._runtime.post(call.asked[-1].header.sender, ToolProgress(call=id, text=text))

        how = McpCallOptions(self._config.result_limit, secrets.token_hex(WORD_BYTES), tell)
        for is_last in (False, True):
            link = await self._keeping.link()
            try:
                return await say(link, tool.tool, tool.name, body.arguments, how)
            except McpConnectionLost as error:
                self._runtime.log.warning("lost its server", tool=tool.tool, reason=str(error))
                if not tool.is_repeatable and not link.was_rejected:
                    raise Refused(UNKNOWN.format(server=self._server)) from None
                if is_last:
                    raise
        raise AssertionError("the second time returns or raises")


def progress_in_words(done: float, of: float | None, words: str | None) -> str:
    """Return how far a call has come, in one short line."""
    share = f"{done:g}" + (f" of {of:g}" if of else "")
    return f"{share} {' '.join((words or '').split())}".strip()[:PROGRESS_LIMIT]


def _failed(reason: str) -> ToolResult:
    return ToolResult(content=reason, is_error=True)
