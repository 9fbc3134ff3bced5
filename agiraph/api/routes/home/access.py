"""Endpoints for tokens, one-time login links, browser logins, and the caller's identity."""

from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.requests import HTTPConnection
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from agiraph.api.auth.audit import AuditLog
from agiraph.api.auth.credential_store import CredentialStore
from agiraph.api.auth.credentials import ApiToken, BrowserLogin
from agiraph.api.auth.page import HEADERS, login_page
from agiraph.api.auth.request_headers import cookies, is_from_elsewhere
from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.auth.socket_owner import owner_of
from agiraph.api.routes.dependencies import CallerDep, CauseDep, GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.core.json_text import parse_json
from agiraph.http.api import (
    ApiError,
    AuditedCallView,
    BrowserLoginView,
    CreateLoginLinkRequest,
    CreateTokenRequest,
    LoginLinkView,
    NewTokenView,
    RotateTokenRequest,
    TokenView,
    WhoAmIView,
)
from agiraph.http.api.access import UI_PATH, is_ui_page

router = APIRouter(route_class=StrictRoute, tags=["access"])

SEE_OTHER = 303
LONGEST_BROWSER = 200
MOST_CALLS = 10_000
AT_ONCE = RotateTokenRequest()


async def _keys(connection: HTTPConnection) -> CredentialStore:
    keys: CredentialStore = connection.app.state.keys
    return keys


KeysDep = Annotated[CredentialStore, Depends(_keys)]


@router.get("/whoami", dependencies=[READ])
async def whoami(caller: CallerDep) -> WhoAmIView:
    """Show the credential of this call and its scope."""
    return WhoAmIView(
        name=caller.name,
        scope=caller.scope,
        login=caller.login,
        expires_at=caller.expires_at,
    )


@router.get("/tokens", dependencies=[CONTROL])
async def tokens(keys: KeysDep) -> list[TokenView]:
    """List the tokens, including those that ended within thirty days; never a secret."""
    return [TokenView(**_facts(token, keys)) for token in keys.tokens()]


@router.post("/tokens", dependencies=[CONTROL], status_code=201)
async def add(
    body: CreateTokenRequest, caller: CallerDep, keys: KeysDep, cause: CauseDep
) -> NewTokenView:
    """Create a named token. Its secret is in this answer and nowhere else."""
    token, secret = keys.add(body, caller.name, cause.id)
    return NewTokenView(**_facts(token, keys), token=secret)


@router.post("/tokens/{name}/rotate", dependencies=[CONTROL])
async def rotate(
    name: str, keys: KeysDep, cause: CauseDep, body: RotateTokenRequest = AT_ONCE
) -> NewTokenView:
    """Give a token another secret, at once; the home's own is written to its file."""
    token, secret = keys.rotate(name, body.grace_seconds, cause.id)
    return NewTokenView(**_facts(token, keys), token=secret)


@router.delete("/tokens/{name}", dependencies=[CONTROL])
async def revoke(name: str, keys: KeysDep) -> TokenView:
    """End a token at once, and the login links and browser logins that it created."""
    return TokenView(**_facts(keys.revoke(name), keys))


@router.get("/audit", dependencies=[CONTROL])
async def audit(
    request: Request, limit: Annotated[int, Query(ge=1, le=MOST_CALLS)] = 100, refused: bool = False
) -> list[AuditedCallView]:
    """List the last calls of this API, oldest first; with `refused` only refused calls.

    Refusals of other hosts at the uplink are included.
    """
    log: AuditLog = request.app.state.audit
    found = await run_in_threadpool(log.latest, limit, refused=refused)
    return [AuditedCallView.model_validate(one) for one in found]


@router.post("/login-links", dependencies=[CONTROL], status_code=201)
async def create_login_link(
    body: CreateLoginLinkRequest, caller: CallerDep, keys: KeysDep, gateway: GatewayDep
) -> LoginLinkView:
    """Create a link by which one browser can log in, once."""
    http = gateway.config.http
    lasts = body.login_seconds or http.login_seconds
    link, code = keys.create_login_link(
        body.scope, caller.name, http.login_link_seconds, lasts, body.user
    )
    asked = f"?next={quote(body.next, safe='')}" if body.next != UI_PATH else ""
    return LoginLinkView(
        path=f"/login{asked}#{code}",
        scope=link.scope,
        expires_at=link.expires_at,
        login_seconds=link.login_seconds,
    )


@router.get("/login", include_in_schema=False)
async def show_login(request: Request, keys: KeysDep) -> HTMLResponse:
    """Show the page that accepts a one-time code, and whether this browser is logged in."""
    then, caller = _page_of(request.query_params.get("next", "")), None
    for secret in cookies(request.scope["headers"], keys.cookie):
        with suppress(ApiError):
            caller = keys.caller(secret, is_cookie=True)
    return HTMLResponse(login_page(then, caller=caller), headers=HEADERS)


@router.post("/login", include_in_schema=False)
async def log_in(request: Request, keys: KeysDep) -> Response:
    """Accept a one-time code, as a form or as JSON `{"code"}`; the answer sets the cookie.

    The form's `next` is the page of the web UI that is opened afterwards.
    """
    if is_from_elsewhere(request.scope["headers"]):
        raise ApiError(403, "a page of another origin may not log this browser in")
    is_form = request.headers.get("content-type", "").startswith(
        "application/x-www-form-urlencoded"
    )
    then = UI_PATH
    try:
        code, then = await _code(request, is_form)
        login, secret = keys.enter(code, _browser(request), _user(request))
    except ApiError as refusal:
        if is_form:
            page = login_page(then, complaint=refusal.detail)
            return HTMLResponse(page, refusal.status, headers=HEADERS)
        raise
    answer: Response = (
        RedirectResponse(then, SEE_OTHER)
        if is_form
        else JSONResponse(_shown(login, keys).model_dump(mode="json"))
    )
    answer.set_cookie(
        keys.cookie,
        secret,
        max_age=int(login.expires_at - login.created_at),
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )
    return answer


@router.post("/logout", dependencies=[READ])
async def log_out(caller: CallerDep, keys: KeysDep) -> Response:
    """Log out the browser of this call."""
    if caller.login is None:
        raise ApiError(409, f"the token '{caller.name}' is no browser login: revoke or rotate it")
    keys.end_login(caller.login)
    answer = RedirectResponse("/login", SEE_OTHER)
    answer.delete_cookie(keys.cookie, path="/", httponly=True, samesite="strict")
    return answer


@router.get("/logins", dependencies=[CONTROL])
async def logins(keys: KeysDep) -> list[BrowserLoginView]:
    """List the browsers that are logged in."""
    return [_shown(login, keys) for login in keys.logins()]


@router.delete("/logins/{login}", dependencies=[CONTROL])
async def end_login(login: str, keys: KeysDep) -> BrowserLoginView:
    """Log a browser out, at once."""
    return _shown(keys.end_login(login), keys)


def _facts(token: ApiToken, keys: CredentialStore) -> dict[str, Any]:
    used = keys.last_used(f"token {token.name}")
    return dict(token) | {"status": token.status(keys.now()), "last_used_at": used}


def _shown(login: BrowserLogin, keys: CredentialStore) -> BrowserLoginView:
    used = keys.last_used(f"login {login.id}")
    return BrowserLoginView.model_validate(dict(login) | {"last_used_at": used})


def _page_of(next: str) -> str:
    """Return the requested page of the web UI, its first page if the request is invalid."""
    return next if is_ui_page(next) else UI_PATH


async def _code(request: Request, is_form: bool) -> tuple[str, str]:
    """Return the code in a posted form or JSON body, and the page to open afterwards.

    Raises ApiError 422 for an invalid body.
    """
    body = await request.body()
    try:
        if is_form:
            form = parse_qs(body.decode("utf-8"), strict_parsing=True)
            return form["code"][0].strip(), _page_of(form.get("next", [""])[0])
        code = parse_json(body)["code"]
    except (ValueError, KeyError, TypeError):
        raise ApiError(422, "code: the code of a login link is missing") from None
    if not isinstance(code, str):
        raise ApiError(422, "code: must be a text")
    return code.strip(), UI_PATH


def _user(request: Request) -> int | None:
    """Return the id of this machine's user that sends a request, None if it is unknown."""
    client, server = request.client, request.scope.get("server")
    return owner_of((client.host, client.port), server) if client and server else None


def _browser(request: Request) -> str:
    """Return a browser's User-Agent, limited to printable characters."""
    name = request.headers.get("user-agent", "")[:LONGEST_BROWSER]
    return "".join(letter for letter in name if letter.isprintable())


def _is_secure(request: Request) -> bool:
    """Whether the browser uses TLS, with us or with a proxy in front of us."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")
