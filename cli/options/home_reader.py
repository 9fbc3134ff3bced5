"""A client of a home without a supervisor: it calls the gateway's own endpoints in-process.

Nothing is written; a request that would change something, or needs a process, raises NotReachable.
"""

import asyncio
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from agiraph.api.offline.offline_app import offline_api
from agiraph.http.client import Client
from agiraph.http.discovery import why_unreachable
from agiraph.http.httpx_alone import httpx
from agiraph.logs.log import set_up_logging
from agiraph.readmodel.home_copy import HomeHeld
from agiraph.settings.config import Config
from agiraph.storage.home import Home
from agiraph.storage.home_format import check_format

URL: Final = "http://home"
NEEDS_A_SUPERVISOR: Final = (403, 503)
"""The statuses for refused changes, and for services that do not run."""


def client_of_files(home: Path, config: Config) -> Client | None:
    """Return a client that reads a home's files, None if a supervisor runs on the home by now.

    The home may be missing. Raises Corrupt (also OtherFormat), OSError.
    """
    check_format(Home(home))
    if not logging.getLogger().handlers:
        set_up_logging("warning")  # warns that an agent's folder is damaged, and left out
    try:
        return Client(URL, "", transport=HomeTransport(home, config))
    except HomeHeld:
        return None


class HomeTransport(httpx.BaseTransport):
    """Answers requests from the files of a home."""

    def __init__(self, home: Path, config: Config) -> None:
        self._home = home
        with ExitStack() as stack:
            self._loop = stack.enter_context(asyncio.Runner())
            self._app = httpx.ASGITransport(stack.enter_context(offline_api(home, config)))
            self._open_things = stack.pop_all()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the whole response to a request. Raises NotReachable if a process is needed."""
        response = self._loop.run(self._answer(request))
        if response.status_code in NEEDS_A_SUPERVISOR:
            raise why_unreachable(self._home)
        return response

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._app.handle_async_request(request)
        content = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    def close(self) -> None:
        """Remove the copies of files that were made for reading."""
        self._open_things.close()
