"""The web process's entry: the one place that reads the keys of search services."""

import asyncio
import os
from collections.abc import Mapping

from actors.launch import Launch
from actors.runtime import Runtime, run_actor
from actors.web.aside import Aside
from actors.web.web import WebActor
from agiraph.config import WebConfig
from agiraph.sandbox.wall import standing_wall
from agiraph.web.fetching import Bounds, Fetcher
from agiraph.web.pages import Pages
from agiraph.web.searching import Search

READER_MEMORY_MB = 1024
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def main(launch: Launch) -> int:
    """Run the web process; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Search and read until told to stop, or until there is nothing to do."""
    config, environ = runtime.config.web, dict(os.environ)
    proxy = proxy_of(environ)
    wall = await asyncio.to_thread(standing_wall, runtime.config.sandbox)
    reader = Aside(environ, wall, runtime.home.path, READER_MEMORY_MB)
    searcher = Aside(environ, wall, runtime.home.path, has_network=True)
    fetcher = Fetcher(bounds_of(config), proxy=proxy)
    search = Search(config, environ, searcher)
    pages = Pages(config, fetcher, reader, runtime.clock)
    try:
        await WebActor(runtime, pages, search).serve()
    finally:
        await reader.close()
        await searcher.close()
        await fetcher.close()
        await search.close()


def bounds_of(config: WebConfig) -> Bounds:
    """Return what one fetch may take."""
    return Bounds(
        max_bytes=config.max_bytes,
        max_redirects=config.max_redirects,
        allow_private=config.allow_private,
        user_agent=config.user_agent,
    )


def proxy_of(environ: Mapping[str, str]) -> str | None:
    """Return the proxy that stands between us and the web, if there is one."""
    names = (name for wanted in PROXIES for name in (wanted, wanted.lower()))
    return next((environ[name] for name in names if environ.get(name)), None)
