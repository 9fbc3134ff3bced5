"""The HTTP API as one ASGI application: the families of endpoints behind the gate."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from actors.gateway.api import (
    access,
    agents,
    answer_links,
    approvals,
    archive,
    budgets,
    channels,
    conversation,
    dead,
    events,
    files,
    memory,
    system,
    triggers,
    work,
)
from actors.gateway.api.dependencies import get_gateway
from actors.gateway.auth.audit_log import AuditLog
from actors.gateway.auth.credential_store import CredentialStore
from actors.gateway.auth.document import with_access
from actors.gateway.auth.scopes import RouteRules, routes_of
from actors.gateway.auth.trusted_hosts import TrustedHosts
from actors.gateway.gateway import Gateway
from actors.gateway.http.access_middleware import AccessChecks, AccessMiddleware
from actors.gateway.http.document import DESCRIPTION, operation_id, with_words
from actors.gateway.http.exchange import App
from actors.gateway.http.fast_path import FastPath
from actors.gateway.http.idempotency import IdempotencyMiddleware
from actors.gateway.problems import no_room, problem_response
from agiraph import __version__
from agiraph.core.errors import AgiraphError, OutOfScope, Refused, Unavailable
from agiraph.http.api import ApiError
from agiraph.storage.disk_space import DiskFull

METHOD_NOT_ALLOWED = 405

ROUTERS: tuple[APIRouter, ...] = (
    agents.router,
    archive.router,
    conversation.router,
    work.router,
    files.router,
    memory.router,
    events.router,
    system.router,
    approvals.router,
    dead.router,
    triggers.router,
    budgets.router,
    access.router,
    channels.router,
    answer_links.router,
)


class GatewayApi(FastAPI):
    """The endpoints; the document that describes them tells of access too."""

    rules: RouteRules

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = with_words(super().openapi())
            self.openapi_schema = with_access(document, self.rules.rules)
        return self.openapi_schema


def build_app(gateway: Gateway, keys: CredentialStore, ledger: AuditLog) -> App:
    """Return the application behind its gate."""
    app = GatewayApi(
        title="Agiraph",
        version=__version__,
        description=DESCRIPTION,
        generate_unique_id_function=operation_id,
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
    app.rules = RouteRules([*own, *routes_of(ROUTERS)])
    guards = AccessChecks(
        keys=keys,
        names=TrustedHosts(
            http.host, *http.names, *_public_name(gateway), is_tls=bool(http.tls_cert)
        ),
        rules=app.rules,
        ledger=ledger,
        http=http,
        clock=gateway.clock,
    )
    lane = FastPath(app, app.rules, HANDLERS, known={get_gateway: gateway})
    once = IdempotencyMiddleware(lane, gateway.repeats, gateway.clock)
    return AccessMiddleware(once, guards)


def _public_name(gateway: Gateway) -> tuple[str, ...]:
    """Return the name by which answer links call us, if it is another than our own."""
    name = urlsplit(gateway.config.gateway.public_url).hostname
    return (name,) if name else ()


async def _refuse(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, AgiraphError)
    known = error if isinstance(error, ApiError) else ApiError(_status_of(error), str(error))
    return await _answer(connection, known)


async def _refuse_for_room(connection: Any, error: Exception) -> Response | None:
    return await _answer(connection, no_room(connection.app.state.gateway.home.path))


async def _explain(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
    wrong = [{"field": _place(part), "detail": part["msg"]} for part in error.errors()]
    detail = "; ".join(f"{part['field']}: {part['detail']}" for part in wrong)
    return await _answer(connection, ApiError(422, detail), errors=wrong)


async def _say(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == METHOD_NOT_ALLOWED:  # the framework tells those of one route
        headers = {"Allow": ", ".join(connection.app.rules.methods_at(connection.url.path))}
    refusal = ApiError(error.status_code, _said(connection, error, headers.get("Allow", "")))
    return await _answer(connection, refusal, headers)


def _said(connection: Any, error: HTTPException, allowed: str) -> str:
    """Return what the framework refuses with, in words that name what was asked for."""
    path = connection.url.path
    match error.status_code:
        case 404:
            return f"there is no '{path}' (GET /openapi.json lists what there is)"
        case 405:
            return f"'{path}' takes no {connection.scope.get('method')} (possible: {allowed})"
        case _:
            return str(error.detail)


async def _answer(
    connection: Request | WebSocket,
    error: ApiError,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> Response | None:
    """Answer a request, or refuse a WebSocket before its handshake."""
    response = problem_response(error, connection.url.path, headers, **more)
    if isinstance(connection, WebSocket):
        await connection.send_denial_response(response)
        return None
    return response


async def _admit_fault(connection: Any, error: Exception) -> Response | None:
    """Answer a fault of ours; it is raised on, and logged with its traceback."""
    fault = ApiError(500, "a fault in the gateway; its log has the traceback")
    return await _answer(connection, fault)


HANDLERS: dict[Any, Any] = {
    AgiraphError: _refuse,
    DiskFull: _refuse_for_room,
    RequestValidationError: _explain,
    WebSocketRequestValidationError: _explain,
    HTTPException: _say,
    Exception: _admit_fault,
}


def _status_of(error: AgiraphError) -> int:
    match error:
        case OutOfScope():
            return 403
        case Refused():
            return 409
        case Unavailable():
            return 503
        case _:
            return 500


def _place(part: Any) -> str:
    """Return which field is wrong; its value is never repeated."""
    place = ".".join(str(name) for name in part["loc"] if name not in ("body", "query", "path"))
    return place or "body"
