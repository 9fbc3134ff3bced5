"""The server over HTTP on loopback: callers send a token of the home, which grants its scope."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from agiraph.core.errors import AgiraphError
from agiraph.http.errors import ApiError
from agiraph.http.mcp_server.clients import ApiClients, bearer_of

PATH = "/mcp"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
WRONG, AWAY = 401, 503


def make_app(server: MCPServer[None], clients: ApiClients) -> App:
    """Return the ASGI app: the MCP server behind a check of the caller's token."""
    inner: App = server.streamable_http_app(streamable_http_path=PATH)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {
                name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
            }
            refusal = await _refusal(clients, headers)
            if refusal is not None:
                await _refuse(send, *refusal)
                return
        await inner(scope, receive, send)

    return app


async def _refusal(clients: ApiClients, headers: dict[str, str]) -> tuple[int, str] | None:
    """Return status and reason of a refusal, None if the token belongs to this home."""
    if not bearer_of(headers):
        return WRONG, "send `Authorization: Bearer TOKEN` (see `agiraph tokens add --help`)"
    try:
        await (await clients.client(headers)).whoami()
    except ApiError as error:
        return error.status, error.detail
    except AgiraphError as error:
        return AWAY, str(error)
    return None


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    headers += [(b"www-authenticate", b"Bearer")] if status == WRONG else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})


async def serve(app: App, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve `app` at `host` and `port` until cancelled; `on_ready` receives the server's URL.

    Raises OSError.
    """
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    with config.bind_socket() as listening:
        listening.listen(config.backlog)  # a client may connect as soon as it reads the url
        name = f"[{host}]" if ":" in host else host
        on_ready(f"http://{name}:{listening.getsockname()[1]}{PATH}")
        await server.serve(sockets=[listening])
