"""WebActor: receives calls from the bus, runs one task per call, answers the latest request.

A call is identified by the id of its message: a repeated request joins the running call. The call
of a caller that died is dropped: its next incarnation repeats it, and reading the web twice does no
harm.
"""

import asyncio
import secrets
from dataclasses import dataclass, field

from pydantic import ValidationError

from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.runtime.idle_service import take_until_idle
from actors.runtime.runtime import Runtime
from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.messages import CallTool, CancelTool, ToolResult
from agiraph.tools.web.pages import PageReader
from agiraph.tools.web.render import shown_hits, shown_page
from agiraph.tools.web.searching import WebSearch
from agiraph.tools.web_tools import WebFetchParams, WebSearchParams
from transport.endpoint import Received
from transport.errors import TransportError

Key = tuple[str, bytes]
"""A call: the sender, and the id of its message. Nobody else is answered, or can cancel it."""

WORD_BYTES = 4
TOOLS = ("web_fetch", "web_search")


@dataclass(slots=True)
class WebCallInFlight:
    """One call: its newest request and its task."""

    asked: Received
    task: "asyncio.Task[None]" = field(init=False)


class WebActor:
    """The shell around PageReader and WebSearch."""

    def __init__(self, runtime: Runtime, pages: PageReader, search: WebSearch) -> None:
        self._runtime = runtime
        self._config = runtime.config.web
        self._pages = pages
        self._search = search
        self._in_flight: dict[Key, WebCallInFlight] = {}
        self._slots = asyncio.Semaphore(self._config.concurrent_calls)
        self._side = BackgroundTasks()

    async def serve(self) -> None:
        """Receive calls until it is idle."""
        self._runtime.endpoint.on_down = self._peer_down
        await self._runtime.ready()
        try:
            await first_to_end(self._receive(), self._side.until_broken())
        finally:
            await self._side.stop()

    async def _receive(self) -> None:
        seconds = self._runtime.config.run.park_after_seconds
        await take_until_idle(self._runtime, self._take, lambda: self._side.is_empty, seconds)

    def _take(self, received: Received) -> None:
        match received.body:
            case CallTool():
                self._call(received, received.body)
            case CancelTool(call=call):
                self._cancel(received, call)
            case other:
                self._runtime.log.warning("not for the web", type=type(other).__name__)
        self._runtime.done(received)

    def _call(self, received: Received, body: CallTool) -> None:
        key = (received.header.sender, received.header.id)
        running = self._in_flight.get(key)
        if running is not None and not (running.task.done() or running.task.cancelling()):
            running.asked = received
            return
        call = WebCallInFlight(received)
        self._in_flight[key] = call
        call.task = self._side.start(self._run(call, body))
        call.task.add_done_callback(lambda task: self._forget(key, call))

    def _forget(self, key: Key, call: WebCallInFlight) -> None:
        if self._in_flight.get(key) is call:
            del self._in_flight[key]

    def _cancel(self, received: Received, id: bytes) -> None:
        call = self._in_flight.get((received.header.sender, id))
        if call is not None:
            call.task.cancel()

    def _peer_down(self, address: str, incarnation: int) -> None:
        for call in self._in_flight.values():
            header = call.asked.header
            if (header.sender, header.incarnation) == (address, incarnation):
                call.task.cancel()

    async def _run(self, call: WebCallInFlight, body: CallTool) -> None:
        result = await self._result(body)
        try:
            await self._runtime.reply(call.asked, result)
        except TransportError as error:  # the caller repeats its call when it is back
            self._runtime.log.warning("an answer did not go out", reason=str(error))

    async def _result(self, body: CallTool) -> ToolResult:
        seconds = self._config.timeout_seconds
        try:
            async with self._slots, asyncio.timeout(seconds):
                return ToolResult(content=await self._content(body))
        except TimeoutError:
            told = f"{body.tool} was not done within {seconds:g} s"
            return ToolResult(content=told, is_error=True)
        except Refused as error:
            return ToolResult(content=str(error), is_error=True)
        except Exception as error:
            # One page that goes wrong in an unforeseen way must not end all the others.
            self._runtime.log.exception("a call crashed", tool=body.tool)
            told = f"{body.tool} broke ({type(error).__name__}: {error})"
            return ToolResult(content=told, is_error=True)

    async def _content(self, body: CallTool) -> str:
        if self._runtime.config.models.offline:
            raise Refused("models.offline is set: nothing is asked of the web")
        word = secrets.token_hex(WORD_BYTES)
        try:
            match body.tool:
                case "web_fetch":
                    return await self._fetched(WebFetchParams.model_validate(body.arguments), word)
                case "web_search":
                    return await self._found(WebSearchParams.model_validate(body.arguments), word)
        except ValidationError as error:
            raise InvalidInput(f"wrong arguments for {body.tool}: {error}") from None
        raise unknown("tool", body.tool, TOOLS)

    async def _fetched(self, params: WebFetchParams, word: str) -> str:
        page = await self._pages.page(params.url)
        return shown_page(
            page.url,
            page.title,
            page.text,
            offset=params.offset,
            limit=self._config.page_limit,
            word=word,
            note=page.note,
        )

    async def _found(self, params: WebSearchParams, word: str) -> str:
        hits = await self._search.hits(params.query)
        return shown_hits(self._search.name, params.query, hits, word=word)
