"""Which scope each route needs: one table, so that all of it can be seen at once.

What stands in no line follows from its method: GET needs `read`, everything else `control`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fastapi import APIRouter
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import BaseRoute, Route

from agiraph.http.api.access import Scope

WEBSOCKET: Final = "WEBSOCKET"
READS: Final = ("GET", "HEAD", WEBSOCKET)

NEEDED: Final[dict[tuple[str, str], Scope]] = {
    ("POST", "/agents/{agent}/send"): "talk",
    ("POST", "/agents/{agent}/nudge"): "talk",
    ("POST", "/agents/{agent}/respond"): "talk",
    ("POST", "/questions/{question_id}/respond"): "talk",
    ("POST", "/agents/{agent}/memory/search"): "read",
    ("PUT", "/me"): "talk",
    ("POST", "/logout"): "read",
    ("GET", "/tokens"): "control",
    ("GET", "/sessions"): "control",
}

MOST_PATHS: Final = 1024

OPEN: Final = frozenset({("GET", "/login"), ("POST", "/login")})
"""Routes of which no token is asked: they show or take a one-time code."""

OPEN_PREFIXES: Final = ("/answer/",)
"""Below these no token is asked for: the path itself carries what proves the right to one thing."""


@dataclass(frozen=True, slots=True)
class RouteRule:
    """A route and the scope that it needs."""

    method: str
    template: str
    pattern: re.Pattern[str]
    scope: Scope
    route: BaseRoute


@dataclass(frozen=True, slots=True)
class MatchedRoute:
    """The rule of a call, and the values that its path has for the template's names."""

    rule: RouteRule
    values: Mapping[str, str]


def needed(method: str, template: str) -> Scope:
    """Return the scope that a route needs."""
    return NEEDED.get((method, template), "read" if method in READS else "control")


def is_open(method: str, path: str) -> bool:
    """Whether no token is asked for there."""
    return (method, path) in OPEN or (method != WEBSOCKET and path.startswith(OPEN_PREFIXES))


class RouteRules:
    """The scopes of an application's routes, found by method and path."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Learn the routes, in the order in which the application tries them.

        Raises TypeError for a route whose handler cannot be told from outside: a mounted
        application would be let in under the scope of none.
        """
        self.rules: Sequence[RouteRule] = [rule for route in routes for rule in _rules_of(route)]
        self._by_method: dict[str, list[RouteRule]] = {}
        for rule in self.rules:
            self._by_method.setdefault(rule.method, []).append(rule)
        self.find = lru_cache(MOST_PATHS)(self._find)

    def _find(self, method: str, path: str) -> MatchedRoute | None:
        """Return the rule of the route that would take this call, None if none would.

        The latest answers are remembered: most calls are about the same few things.
        """
        for rule in self._by_method.get(method, ()):
            match = rule.pattern.match(path)
            if match:
                return MatchedRoute(rule, match.groupdict())
        return None

    def methods_at(self, path: str) -> list[str]:
        """Return the methods that any route takes at this path, in a steady order."""
        return sorted(
            {
                rule.method
                for rule in self.rules
                if rule.method != WEBSOCKET and rule.pattern.match(path)
            }
        )


def _rules_of(route: BaseRoute) -> list[RouteRule]:
    if isinstance(route, APIWebSocketRoute):
        methods = [WEBSOCKET]
    elif isinstance(route, APIRoute | Route):
        methods = sorted(route.methods or ())
    else:
        raise TypeError(f"no scope can be told for {route!r}")
    return [
        RouteRule(method, route.path, route.path_regex, needed(method, route.path), route)
        for method in methods
    ]


def routes_of(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    """Return the routes of these families, in order."""
    return [route for router in routers for route in router.routes]
