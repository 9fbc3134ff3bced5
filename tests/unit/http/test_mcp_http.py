"""The MCP server over HTTP."""

import asyncio
import socket
from urllib.parse import urlsplit

from agiraph.http.mcp_server.http import Receive, Scope, Send, serve


async def nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Answer no request."""


async def test_server_accepts_connections_once_it_reports_ready() -> None:
    connected = asyncio.get_running_loop().create_future()

    def ready(url: str) -> None:
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=1):
            connected.set_result(True)

    serving = asyncio.create_task(serve(nothing, "127.0.0.1", 0, ready))
    await asyncio.wait([connected, serving], return_when=asyncio.FIRST_COMPLETED)
    assert connected.done()
    serving.cancel()
    await asyncio.wait([serving])
