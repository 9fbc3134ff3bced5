"""The scope that each route declares, checked before its endpoint is called.

@router.get("/agents", dependencies=[READ])
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Security
from fastapi.params import Security as SecurityParameter
from fastapi.requests import HTTPConnection
from fastapi.routing import APIRoute, APIWebSocketRoute
from fastapi.security import SecurityScopes

from agiraph.api.auth.credentials import Principal
from agiraph.http.api.access import SCOPES, Scope
from agiraph.http.errors import ApiError

WEBSOCKET: Final = "WEBSOCKET"
READS: Final = ("GET", "HEAD", WEBSOCKET)

OPEN: Final = frozenset({("GET", "/login"), ("POST", "/login")})
"""Routes that need no token: they show or accept a one-time code."""

OPEN_PREFIXES: Final = ("/answer/",)
"""Paths below these need no token: the path itself contains a secret that grants one right."""


async def get_caller(connection: HTTPConnection) -> Principal:
    """Return the caller that the access middleware found."""
    caller: Principal = connection.state.caller
    return caller


async def _check_scope(
    caller: Annotated[Principal, Depends(get_caller)], security: SecurityScopes
) -> None:
    """Raise ApiError 403 unless the caller has the scopes that the route declares."""
    for scope in security.scopes:
        if not caller.may(_scope_named(scope)):
            raise ApiError(
                403,
                f"this needs the scope '{scope}'; the token '{caller.name}' has '{caller.scope}'",
            )


def _scope_named(name: str) -> Scope:
    return next(scope for scope in SCOPES if scope == name)


READ: Final = Security(_check_scope, scopes=["read"])
TALK: Final = Security(_check_scope, scopes=["talk"])
CONTROL: Final = Security(_check_scope, scopes=["control"])


def is_open(method: str, path: str) -> bool:
    """Whether a route needs no token."""
    return (method, path) in OPEN or (method != WEBSOCKET and path.startswith(OPEN_PREFIXES))


@dataclass(frozen=True, slots=True)
class RouteRule:
    """One method of a route and the scope that it declares; None if it needs no token."""

    method: str
    template: str
    scope: Scope | None


def rules_of(routers: Iterable[APIRouter]) -> list[RouteRule]:
    """Return the rules of all routes, in order; raise TypeError if one declares no scope."""
    return [
        RouteRule(method, route.path, _scope_of(route, method))
        for route in _routes_of(routers)
        for method in _methods_of(route)
    ]


def methods_at(routers: Iterable[APIRouter], path: str) -> list[str]:
    """Return the methods that any route takes at this path, sorted."""
    found = (route for route in _routes_of(routers) if isinstance(route, APIRoute))
    return sorted(
        {m for route in found if route.path_regex.match(path) for m in route.methods or ()}
    )


def _routes_of(routers: Iterable[APIRouter]) -> Iterator[APIRoute | APIWebSocketRoute]:
    for router in routers:
        for route in router.routes:
            if not isinstance(route, APIRoute | APIWebSocketRoute):
                raise TypeError(f"{route!r} cannot declare a scope")
            yield route


def _methods_of(route: APIRoute | APIWebSocketRoute) -> list[str]:
    return [WEBSOCKET] if isinstance(route, APIWebSocketRoute) else sorted(route.methods or ())


def _scope_of(route: APIRoute | APIWebSocketRoute, method: str) -> Scope | None:
    if is_open(method, route.path):
        return None
    for declared in route.dependencies:
        if isinstance(declared, SecurityParameter) and declared.dependency is _check_scope:
            (scope,) = declared.scopes or ()
            return _scope_named(scope)
    raise TypeError(f"{method} {route.path} declares no scope")
