"""The HTTP API as one ASGI application: the families of endpoints behind the gate."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from actors.human.access.keys import Keys
from actors.human.access.ledger import Ledger
from actors.human.access.names import Names
from actors.human.access.scopes import Rules, routes_of
from actors.human.exchange import App
from actors.human.gate import Gate, Guards
from actors.human.gateway import Gateway
from actors.human.routes import (
    access,
    agents,
    answer,
    channels,
    conversation,
    dead,
    events,
    memory,
    system,
    triggers,
    work,
)
from agiraph import __version__
from agiraph.api import ApiError
from agiraph.errors import AgiraphError, OutOfScope, Refused, Unavailable

ROUTERS: tuple[APIRouter, ...] = (
    agents.router,
    conversation.router,
    work.router,
    memory.router,
    events.router,
    system.router,
    dead.router,
    triggers.router,
    access.router,
    channels.router,
    answer.router,
)


def build_app(gateway: Gateway, keys: Keys, ledger: Ledger) -> App:
    """Return the application behind its gate."""
    app = FastAPI(
        title="Agiraph",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        exception_handlers=HANDLERS,
    )
    app.state.gateway = gateway
    app.state.keys = keys
    for router in ROUTERS:
        app.include_router(router)
    http = gateway.config.http
    own = [route for route in app.routes if isinstance(route, Route)]  # the OpenAPI document
    guards = Guards(
        keys=keys,
        names=Names(http.host, *http.names, *_public_name(gateway)),
        rules=Rules([*own, *routes_of(ROUTERS)]),
        ledger=ledger,
        http=http,
        clock=gateway.clock,
    )
    return Gate(app, guards)


def _public_name(gateway: Gateway) -> tuple[str, ...]:
    """Return the name by which answer links call us, if it is another than our own."""
    name = urlsplit(gateway.config.gateway.public_url).hostname
    return (name,) if name else ()


async def _refuse(connection: Any, error: Exception) -> JSONResponse | None:
    assert isinstance(error, AgiraphError)
    return await _answer(connection, _status_of(error), str(error))


async def _explain(connection: Any, error: Exception) -> JSONResponse | None:
    assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
    return await _answer(connection, 422, "; ".join(_complaint(part) for part in error.errors()))


async def _say(connection: Any, error: Exception) -> JSONResponse | None:
    assert isinstance(error, HTTPException)
    return await _answer(connection, error.status_code, str(error.detail))


async def _answer(connection: Request | WebSocket, status: int, detail: str) -> JSONResponse | None:
    """Answer a request, or refuse a WebSocket before its handshake."""
    response = JSONResponse({"detail": detail}, status)
    if isinstance(connection, WebSocket):
        await connection.send_denial_response(response)
        return None
    return response


async def _admit_fault(connection: Any, error: Exception) -> JSONResponse | None:
    """Answer a fault of ours; it is raised on, and logged with its traceback."""
    return await _answer(connection, 500, "a fault in the gateway; its log has the traceback")


HANDLERS: dict[Any, Any] = {
    AgiraphError: _refuse,
    RequestValidationError: _explain,
    WebSocketRequestValidationError: _explain,
    HTTPException: _say,
    Exception: _admit_fault,
}


def _status_of(error: AgiraphError) -> int:
    match error:
        case ApiError():
            return error.status
        case OutOfScope():
            return 403
        case Refused():
            return 409
        case Unavailable():
            return 503
        case _:
            return 500


def _complaint(part: Any) -> str:
    """Return what is wrong with one field, without repeating its value."""
    place = ".".join(str(name) for name in part["loc"] if name not in ("body", "query", "path"))
    return f"{place or 'body'}: {part['msg']}"
