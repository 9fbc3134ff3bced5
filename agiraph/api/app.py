"""The HTTP API as one ASGI application: FastAPI behind the middleware."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from agiraph import __version__
from agiraph.api.access_middleware import AccessMiddleware
from agiraph.api.auth.audit import AuditLog
from agiraph.api.auth.credential_store import CredentialStore
from agiraph.api.auth.request_headers import TrustedHosts
from agiraph.api.auth.scopes import RouteRule, methods_at, rules_of
from agiraph.api.body_limits import BodyLimitMiddleware
from agiraph.api.document import DESCRIPTION, complete_document, operation_id
from agiraph.api.gateway import Gateway
from agiraph.api.idempotency import IdempotencyMiddleware
from agiraph.api.problems import no_room, problem_response
from agiraph.api.routes import (
    agent_check,
    agents,
    attachments,
    entities,
    events,
    lifecycle,
    live,
    memory,
    messages,
    money,
    nodes,
    overview,
    questions,
    runs,
    system,
    timeline,
    triggers,
    work,
)
from agiraph.api.routes.home import (
    access,
    channels,
    hosts,
    inputs,
    knowledge,
    metrics,
    roles,
    settings,
)
from agiraph.api.ui_bundle import UiBundle
from agiraph.core.errors import AgiraphError, OutOfScope, Refused, Unavailable
from agiraph.core.record import misfit_in_words
from agiraph.http.errors import ApiError
from agiraph.settings.config import ui_folder
from agiraph.storage.disk_space import DiskFull

METHOD_NOT_ALLOWED = 405

ROUTERS: tuple[APIRouter, ...] = (
    agents.router,
    runs.router,
    overview.router,
    agent_check.router,
    roles.router,
    hosts.router,
    lifecycle.router,
    messages.router,
    events.thread_router,
    questions.router,
    nodes.router,
    work.work_router,
    timeline.router,
    work.files_router,
    attachments.router,
    inputs.router,
    memory.router,
    knowledge.router,
    events.router,
    live.router,
    system.router,
    system.dead_router,
    entities.router,
    metrics.router,
    money.usage_router,
    triggers.router,
    money.router,
    settings.router,
    access.router,
    channels.router,
    questions.links,
)


class GatewayApi(FastAPI):
    """The endpoints of ROUTERS and their OpenAPI document.

    Raises TypeError if a route declares no scope.
    """

    def __init__(self) -> None:
        super().__init__(
            title="Agiraph",
            version=__version__,
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            exception_handlers=HANDLERS,
        )
        self.rules: list[RouteRule] = rules_of(ROUTERS)
        for router in ROUTERS:
            self._add_routes(router)

    def _add_routes(self, router: APIRouter) -> None:
        """Add a router's routes unchanged; FastAPI would rebuild each at the first request.

        To rebuild them would take as long as starting an agent.
        """
        for route in router.routes:
            if isinstance(route, APIRoute):
                route.unique_id = operation_id(route)
        self.router.routes.extend(router.routes)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, made at the first call."""
        if self.openapi_schema is None:
            self.openapi_schema = complete_document(super().openapi(), self.rules)
        return self.openapi_schema


def build_app(gateway: Gateway, keys: CredentialStore, audit: AuditLog) -> ASGIApp:
    """Return the gateway's ASGI application: the endpoints behind their middleware."""
    app = GatewayApi()
    app.state.gateway = gateway
    app.state.keys = keys
    app.state.audit = audit
    http = gateway.config.http
    public = urlsplit(gateway.config.gateway.public_url).hostname  # answer links may differ
    names = (*http.names, *([public] if public else []))
    hosts = TrustedHosts(http.host, *names, is_tls=bool(http.tls_cert))
    once = IdempotencyMiddleware(app, gateway.idempotency, gateway.clock)
    limited = BodyLimitMiddleware(once, http)
    ui = UiBundle(ui_folder())
    return AccessMiddleware(limited, keys, hosts, audit, http, gateway.clock, ui)


# --- errors as answers ---


async def _refuse(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, AgiraphError)
    known = error if isinstance(error, ApiError) else ApiError(_status_of(error), str(error))
    return await _answer(connection, known)


async def _refuse_for_room(connection: Any, error: Exception) -> Response | None:
    return await _answer(connection, no_room(connection.app.state.gateway.home.path))


async def _refuse_invalid(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
    wrong = [{"field": _field_of(part), "detail": misfit_in_words(part)} for part in error.errors()]
    detail = "; ".join(f"{part['field']}: {part['detail']}" for part in wrong)
    return await _answer(connection, ApiError(422, detail), errors=wrong)


async def _refuse_as_framework(connection: Any, error: Exception) -> Response | None:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == METHOD_NOT_ALLOWED:  # Starlette names the methods of one route only
        headers = {"Allow": ", ".join(methods_at(ROUTERS, connection.url.path))}
    refusal = ApiError(error.status_code, _detail_of(connection, error, headers.get("Allow", "")))
    return await _answer(connection, refusal, headers)


def _detail_of(connection: Any, error: HTTPException, allowed: str) -> str:
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
    """Return the response for an error; refuse a WebSocket before its handshake (None)."""
    response = problem_response(error, connection.url.path, headers, **more)
    if isinstance(connection, WebSocket):
        await connection.send_denial_response(response)
        return None
    return response


async def _answer_fault(connection: Any, error: Exception) -> Response | None:
    """Return the 500 for an unexpected error, which the server raises again and logs."""
    fault = ApiError(500, "a fault in the gateway; its log has the traceback")
    return await _answer(connection, fault)


HANDLERS: dict[Any, Any] = {
    AgiraphError: _refuse,
    DiskFull: _refuse_for_room,
    RequestValidationError: _refuse_invalid,
    WebSocketRequestValidationError: _refuse_invalid,
    HTTPException: _refuse_as_framework,
    Exception: _answer_fault,
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


def _field_of(part: Any) -> str:
    """Return the name of the invalid field; its value is never repeated."""
    place = ".".join(str(name) for name in part["loc"] if name not in ("body", "query", "path"))
    return place or "body"
