"""WebActor: answers calls of the web tools, one task a call; holds the keys of search services.

A worker's calls are answered only if the worker has the tool, whatever its process sends.

A call whose sender is gone is cancelled: reading the web twice does no harm.
"""

import asyncio
import os
import secrets

import httpx
from pydantic import ValidationError

from actors.runtime.calls_in_flight import CallsInFlight
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tools.web.reader_process import ReaderProcess
from actors.tools.worker_records import WorkerRecords
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.errors import Corrupt, InvalidInput, Refused, unknown
from agiraph.messages.tool import CallTool, CancelTool, ToolResult
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.web.fetching import PageFetcher
from agiraph.tools.web.pages import PageReader
from agiraph.tools.web.render import shown_hits, shown_page
from agiraph.tools.web.searching import WebSearch
from agiraph.tools.web_tools import PageRequest, WebSearchParams
from transport.endpoint import Received

READER_MEMORY_MB = 1024
MARK_BYTES = 4
TOOLS = ("web_fetch", "web_search")


class WebActor:
    """Receives calls from the bus, and has PageReader and WebSearch answer them."""

    def __init__(self, runtime: Runtime, pages: PageReader, search: WebSearch) -> None:
        self._runtime = runtime
        self._config = runtime.config.web
        self._pages = pages
        self._search = search
        self._slots = asyncio.Semaphore(self._config.concurrent_calls)
        self._records = WorkerRecords(runtime.home)
        self._in_flight = CallsInFlight(runtime, BackgroundTasks())

    async def serve(self) -> None:
        """Answer calls until the process is idle."""
        await self._in_flight.serve(self._take, self._runtime.config.run.park_after_seconds)

    def _take(self, received: Received) -> None:
        match received.body:
            case CallTool() as body:
                sender = received.header.sender
                self._in_flight.call(received, lambda _: self._result(sender, body))
            case CancelTool(call=call):
                self._in_flight.cancel(received.header.sender, call)
            case other:
                self._runtime.log.warning("not for the web", type=type(other).__name__)
        self._runtime.done(received)

    async def _result(self, sender: str, body: CallTool) -> ToolResult:
        seconds = self._config.timeout_seconds
        try:
            async with self._slots, asyncio.timeout(seconds):
                await self._check(sender, body)
                return ToolResult(content=await self._content(sender, body))
        except TimeoutError:
            reason = f"{body.tool} was not done within {seconds:g} s"
            return ToolResult(content=reason, is_error=True)
        except Refused as error:
            return ToolResult(content=str(error), is_error=True)
        except Exception as error:
            # An unforeseen failure of one page must not end the other calls.
            self._runtime.log.exception("a call crashed", tool=body.tool)
            reason = f"{body.tool} broke ({type(error).__name__})"
            return ToolResult(content=reason, is_error=True)

    async def _check(self, sender: str, body: CallTool) -> None:
        """Raise Refused if the sender does not have the tool, or a rule denies the call."""
        check = self._records.check_own_tool
        try:
            await asyncio.to_thread(check, sender, body.tool, body.arguments)
        except (Corrupt, OSError) as error:
            raise Refused(f"the tools of {sender} cannot be read: {error}") from None

    async def _content(self, sender: str, body: CallTool) -> str:
        if self._runtime.config.models.offline:
            raise Refused("models.offline is set: nothing is asked of the web")
        mark = secrets.token_hex(MARK_BYTES)
        try:
            match body.tool:
                case "web_fetch":
                    asked = PageRequest.model_validate(body.arguments)
                    return await self._fetched(sender, asked, mark)
                case "web_search":
                    return await self._found(WebSearchParams.model_validate(body.arguments), mark)
        except ValidationError as error:
            raise InvalidInput(f"wrong arguments for {body.tool}: {error}") from None
        raise unknown("tool", body.tool, TOOLS)

    async def _fetched(self, sender: str, asked: PageRequest, mark: str) -> str:
        async def permit(url: httpx.URL) -> None:
            await asyncio.to_thread(self._records.check_redirect, sender, str(url))

        page = await self._pages.page(
            asked.url, since=asked.since, fresh=asked.fresh, permit=permit
        )
        return shown_page(
            page.url,
            page.title,
            page.text,
            offset=asked.offset,
            limit=self._config.page_limit,
            mark=mark,
            note=page.note,
            age=page.age,
        )

    async def _found(self, params: WebSearchParams, mark: str) -> str:
        hits = await self._search.hits(params.query)
        limit = self._config.page_limit
        return shown_hits(self._search.name, params.query, hits, limit=limit, mark=mark)


def main(launch: ActorLaunch) -> int:
    """Run the web process; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Search and read until the process is stopped or idle."""
    config, environ = runtime.config.web, dict(os.environ)
    wall = await asyncio.to_thread(find_sandbox, runtime.config.sandbox)
    reader = ReaderProcess(environ, wall, runtime.home.path, READER_MEMORY_MB)
    searcher = ReaderProcess(environ, wall, runtime.home.path, has_network=True)
    fetcher = PageFetcher(config, environ=environ)
    search = WebSearch(config, environ, searcher)
    pages = PageReader(config, fetcher, reader, runtime.clock)
    try:
        await WebActor(runtime, pages, search).serve()
    finally:
        await reader.close()
        await searcher.close()
        await fetcher.close()
        await search.close()
