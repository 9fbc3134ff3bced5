"""The LLM proxy's HTTP application: checks each request and passes it to its endpoint.

A request is accepted only from a client on this machine that names the loopback as its host and
presents the token of a grant; a request from a web page (it has an Origin) is always refused.
Errors have the shape of the format that the client speaks. Imported when the first grant is opened.
"""

import asyncio
import json
from functools import partial
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.broker.llm_proxy.call import ProxyRequest
from actors.broker.llm_proxy.grant_table import ProxyGrant
from actors.broker.llm_proxy.proxy import HOST, LlmProxy
from actors.runtime.http_server import ConnectionLimits, HttpServer, listen
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.record import why_not_stored
from agiraph.core.turns import JsonObject
from agiraph.foreign.http import RepeatedName, TooManyValues, read_json_once
from agiraph.http.errors import IS_EXTRA
from agiraph.llm.connect import FORMATS
from agiraph.llm.providers.forwarding import FORMAT_HEADERS, FORMAT_NAME, format_headers
from agiraph.llm.wire.format import WireError, WireFormat
from agiraph.settings.config import DoorConfig

HEAD_BYTES = 65536
MOST_VALUES = 200_000
"""The most values in a body; a conversation of a million tokens has fewer."""
HEAD_SECONDS = 20.0
BODY_SECONDS = 60.0
IDLE_SECONDS = 300
ANTHROPIC, OPENAI, GOOGLE = "/anthropic", "/openai", "/google"
FORMAT_OF_PATH = {
    "/openai/v1/responses": "responses",
    ANTHROPIC: "anthropic",
    OPENAI: "openai",
    GOOGLE: "google",
}
"""The format that a client speaks, by the beginning of its path; the first match counts."""
CALLS = ("/anthropic/v1/messages", "/openai/v1/chat/completions", "/openai/v1/responses")
COUNT = "/anthropic/v1/messages/count_tokens"
STREAM_METHOD, COUNT_METHOD = "streamGenerateContent", "countTokens"
GOOGLE_METHODS = ("generateContent", STREAM_METHOD, COUNT_METHOD)
GOOGLE_MODELS = tuple(f"{GOOGLE}/{version}/models" for version in ("v1", "v1beta", "v1alpha"))
MODELS = ("/anthropic/v1/models", "/openai/v1/models", *GOOGLE_MODELS)
QUERY = ("beta", "api-version")
ROOTS = (ANTHROPIC, OPENAI, f"{OPENAI}/v1", GOOGLE)


def start_server(proxy: LlmProxy, config: DoorConfig, port: int) -> tuple[HttpServer, int]:
    """Start the server on the loopback at `port`, or a free port; return it and the port.

    Raises Refused if it cannot listen.
    """
    try:
        listener = listen(HOST, dict.fromkeys((port, 0)), config.stall_seconds)
    except OSError as error:
        raise Refused(f"the LLM proxy cannot listen on {HOST} ({error.strerror})") from error
    limits = ConnectionLimits(
        config.connections, HEAD_BYTES, HEAD_SECONDS, IDLE_SECONDS, drain_seconds=0
    )
    bound = int(listener.getsockname()[1])
    server = HttpServer(proxy_app(proxy, config, bound), listener, limits, ws="none")
    server.start()
    return server, bound


def proxy_app(proxy: LlmProxy, config: DoorConfig, port: int) -> ASGIApp:
    """Return the application that answers on `port`."""
    endpoints = _Endpoints(proxy, config.body_bytes)
    routes = [
        *(Route(root, endpoints.show_grant) for root in ROOTS),
        *(Route(path, endpoints.list_models) for path in MODELS),
        *(Route(path + "/{name:path}", endpoints.show_model, methods=["GET"]) for path in MODELS),
        *(Route(path, endpoints.answer, methods=["POST"]) for path in (*CALLS, COUNT)),
        *(
            Route(f"{path}/{{model:path}}:{{method}}", endpoints.answer, methods=["POST"])
            for path in GOOGLE_MODELS
        ),
    ]
    # A model's name may contain a colon: a POST is a call, a GET asks about a model.
    handlers: Any = {
        HTTPException: _refuse,
        InvalidInput: _refuse_body,
        RecursionError: _refuse_nesting,
        TimeoutError: _refuse_slow,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return _Guard(app, proxy, port)


def format_of(path: str) -> WireFormat:
    """Return the format that the client of a path speaks, Anthropic's for an unknown path."""
    names = (api for start, api in FORMAT_OF_PATH.items() if path.startswith(start))
    return FORMATS[next(names, "anthropic")]


class _Guard:
    """Middleware that refuses invalid requests, and stores token and grant of valid ones."""

    def __init__(self, app: ASGIApp, proxy: LlmProxy, port: int) -> None:
        self._app = app
        self._proxy = proxy
        self._hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        scope = {**scope, "path": scope["path"].rstrip("/")}
        request = Request(scope)
        token = token_of(request)
        grant = self._proxy.grant(token)
        refusal = self._refusal(request, grant)
        app = self._app
        if refusal is not None:
            app = _response(refusal)
        elif request.method == "HEAD":
            app = Response()
        else:
            scope["state"] = {**scope.get("state", {}), "token": token, "grant": grant}
        await app(scope, receive, send)

    def _refusal(self, request: Request, grant: ProxyGrant | None) -> WireError | None:
        wire = format_of(request.url.path)
        if request.scope.get("state", {}).get(IS_EXTRA):
            return wire.error("overloaded", "too many connections are open (door.connections)")
        if request.headers.get("host", "").lower() not in self._hosts:
            return wire.refusal(403, "the LLM proxy is called by its loopback address only")
        if "origin" in request.headers:
            return wire.refusal(403, "the LLM proxy is not for web pages")
        if grant is None and request.method != "HEAD":
            return wire.refusal(
                401, "no grant has this token: it was closed, or the token is wrong"
            )
        return None


def token_of(request: Request) -> str:
    """Return the token that the client presents, "" if there is none."""
    headers = request.headers
    bearer = headers.get("authorization", "")
    given = bearer[7:] if bearer[:7].lower() == "bearer " else ""
    named = headers.get("x-api-key") or headers.get("x-goog-api-key")
    is_google = request.url.path.startswith(GOOGLE)
    return (named or given or (is_google and request.query_params.get("key")) or "").strip()


def _response(error: WireError) -> Response:
    # A name quoted from the request may contain half of a surrogate pair, which is not valid UTF-8.
    body = json.dumps(error.body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, error.status, dict(error.headers), "application/json")


async def _refuse(request: Request, error: HTTPException) -> Response:
    granted = ", ".join(request.state.grant.granted)
    text = f"the LLM proxy has no {request.method} {request.url.path} (models: {granted})"
    response = _response(format_of(request.url.path).refusal(error.status_code, text))
    response.headers.update(error.headers or {})
    return response


async def _refuse_body(request: Request, error: InvalidInput) -> Response:
    return _response(format_of(request.url.path).error("bad_request", str(error)))


async def _refuse_nesting(request: Request, error: RecursionError) -> Response:
    text = "the body is nested too deeply"
    return _response(format_of(request.url.path).error("bad_request", text))


async def _refuse_slow(request: Request, error: TimeoutError) -> Response:
    return _response(format_of(request.url.path).refusal(408, "the body did not come in time"))


class _BodyTooLarge(Exception):
    """The request's body is larger than the limit."""


class _Endpoints:
    """The endpoints of accepted requests."""

    def __init__(self, proxy: LlmProxy, body_bytes: int) -> None:
        self._proxy = proxy
        self._body_bytes = body_bytes

    async def show_grant(self, request: Request) -> Response:
        return JSONResponse({"models": list(request.state.grant.granted)})

    async def list_models(self, request: Request) -> Response:
        return JSONResponse(format_of(request.url.path).models(request.state.grant.granted))

    async def show_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in request.state.grant.granted:
            raise HTTPException(404)
        return JSONResponse(format_of(request.url.path).model(name))

    async def answer(self, request: Request) -> Response:
        """Return the response to a model call or to a request to count tokens."""
        wire = format_of(request.url.path)
        method = request.path_params.get("method")
        if method not in (None, *GOOGLE_METHODS):
            raise HTTPException(404)
        try:
            data = await self._body(request)
        except _BodyTooLarge:
            text = f"the request has more than {self._body_bytes} bytes (door.body_bytes)"
            return _response(wire.refusal(413, text))
        except ClientDisconnect:
            return Response(status_code=499)
        body = await self._proxy.aside(len(data), partial(_parsed, data))
        if method is not None:
            body = _google_body(request, body)
        state = request.state
        asked = ProxyRequest(
            wire=wire,
            token=state.token,
            grant=state.grant,
            body=body,
            digest=blake2b(state.token.encode() + data, digest_size=16).digest(),
            headers=_format_headers(request),
            # The query of Google's format belongs to the path, and may contain the token.
            query="" if request.path_params else _forwarded_query(request),
            size=len(data),
        )
        if method == COUNT_METHOD or request.url.path == COUNT:
            return JSONResponse({wire.count_field: await self._proxy.count(asked)})
        return _Answer(self._proxy, asked)

    async def _body(self, request: Request) -> bytes:
        """Return the body. Raises _BodyTooLarge, ClientDisconnect, TimeoutError."""
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._body_bytes:
            raise _BodyTooLarge
        data = bytearray()
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                data += piece
                if len(data) > self._body_bytes:
                    raise _BodyTooLarge
        return bytes(data)


def _parsed(data: bytes) -> JsonObject:
    """Return the JSON object in the body of a request. Raises InvalidInput."""
    try:
        value = read_json_once(data, MOST_VALUES)
    except RepeatedName as error:
        raise InvalidInput(f"the body has {str(error)[:100]!r} twice in one object") from None
    except TooManyValues as error:
        raise InvalidInput(f"the body cannot be read: {error}") from None
    except ValueError:
        raise InvalidInput("the body is no JSON") from None
    if not isinstance(value, dict):
        raise InvalidInput("the body is no JSON object")
    for name, inner in value.items():
        if why := why_not_stored(inner):
            raise InvalidInput(f"{name[:100]}: it has {why}")
    return value


def _format_headers(request: Request) -> dict[str, str]:
    """Return the headers about the format.

    Raises InvalidInput. Repeated headers are joined by commas.
    """
    headers = request.headers
    return format_headers({name: ",".join(headers.getlist(name)) for name in FORMAT_HEADERS})


def _forwarded_query(request: Request) -> str:
    """Return the part of the query that is about the format. Raises InvalidInput."""
    pairs = [pair for pair in request.query_params.multi_items() if pair[0] in QUERY]
    if len(dict(pairs)) < len(pairs):
        raise InvalidInput(f"the query has a parameter twice (each may be given once: {QUERY})")
    for name, value in pairs:
        if not FORMAT_NAME.fullmatch(value):
            raise InvalidInput(f"?{name}=: {value[:60]!r} is not forwarded (possible: a name)")
    return urlencode(pairs)


def _google_body(request: Request, body: JsonObject) -> JsonObject:
    """Return a body in Google's format with the model and method of its path.

    Raises InvalidInput. A request to count tokens may wrap a whole request; then the inner request
    is used.
    """
    method = request.path_params["method"]
    if method == STREAM_METHOD and parse_qs(request.url.query).get("alt") != ["sse"]:
        raise InvalidInput("streamGenerateContent: ask for server-sent events (?alt=sse)")
    wrapped = body.get("generateContentRequest") if method == COUNT_METHOD else None
    whole = wrapped if isinstance(wrapped, dict) else body
    return {**whole, "model": request.path_params["model"], "stream": method == STREAM_METHOD}


class _Answer(Response):
    """The answer to a call, written while the call runs.

    If the answer stops early, the connection is closed, so that the client sees that it is
    incomplete.
    """

    def __init__(self, proxy: LlmProxy, asked: ProxyRequest) -> None:
        super().__init__()
        self._proxy = proxy
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def disconnected() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        await self._proxy.call(self._asked, send, disconnected)
