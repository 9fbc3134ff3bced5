"""The web process's entry: the one place that reads the keys of search services."""

import asyncio
import os
from collections.abc import Mapping

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tools.web.reader_process import ReaderProcess
from actors.tools.web.web import WebActor
from agiraph.core.config import WebConfig
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.web.fetching import FetchLimits, PageFetcher
from agiraph.tools.web.pages import PageReader
from agiraph.tools.web.searching import WebSearch

READER_MEMORY_MB = 1024
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def main(launch: ActorLaunch) -> int:
    """Run the web process; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Search and read until it is stopped, or has nothing to do."""
    config, environ = runtime.config.web, dict(os.environ)
    proxy = proxy_of(environ)
    wall = await asyncio.to_thread(find_sandbox, runtime.config.sandbox)
    reader = ReaderProcess(environ, wall, runtime.home.path, READER_MEMORY_MB)
    searcher = ReaderProcess(environ, wall, runtime.home.path, has_network=True)
    fetcher = PageFetcher(bounds_of(config), proxy=proxy)
    search = WebSearch(config, environ, searcher)
    pages = PageReader(config, fetcher, reader, runtime.clock)
    try:
        await WebActor(runtime, pages, search).serve()
    finally:
        await reader.close()
        await searcher.close()
        await fetcher.close()
        await search.close()


def bounds_of(config: WebConfig) -> FetchLimits:
    """Return the limits of one fetch."""
    return FetchLimits(
        max_bytes=config.max_bytes,
        max_redirects=config.max_redirects,
        allow_private=config.allow_private,
        user_agent=config.user_agent,
    )


def proxy_of(environ: Mapping[str, str]) -> str | None:
    """Return the HTTP proxy to use, if there is one."""
    names = (name for wanted in PROXIES for name in (wanted, wanted.lower()))
    return next((environ[name] for name in names if environ.get(name)), None)
