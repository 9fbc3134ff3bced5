"""Every route has a scope, and the table of scopes names only routes that there are."""

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import Mount

from actors.gateway.auth.scopes import (
    NEEDED,
    OPEN,
    WEBSOCKET,
    RouteRules,
    is_open,
    needed,
    routes_of,
)
from actors.gateway.http.app import ROUTERS
from agiraph.http.api.access import SCOPES

ROUTES = routes_of(ROUTERS)
PAIRS = {
    (method, route.path)
    for route in ROUTES
    if isinstance(route, APIRoute | APIWebSocketRoute)
    for method in ((route.methods or ()) if isinstance(route, APIRoute) else (WEBSOCKET,))
}


def test_every_route_has_a_scope() -> None:
    rules = RouteRules(ROUTES)
    assert {(rule.method, rule.template) for rule in rules.rules} == PAIRS
    assert all(rule.scope in SCOPES for rule in rules.rules)


def test_every_line_of_the_table_is_of_a_route() -> None:
    assert set(NEEDED) <= PAIRS
    assert set(OPEN) <= PAIRS


def test_who_may_only_read_changes_nothing() -> None:
    changing = {pair for pair in PAIRS if pair[0] not in ("GET", "HEAD", WEBSOCKET)}
    for_readers = {pair for pair in changing if needed(*pair) == "read" and pair not in OPEN}
    assert for_readers == {("POST", "/agents/{agent}/memory/search"), ("POST", "/logout")}


def test_who_may_talk_does_not_steer() -> None:
    talk = {pair for pair in PAIRS if needed(*pair) == "talk"}
    assert all(path.endswith(("/send", "/nudge", "/respond")) or path == "/me" for _, path in talk)
    assert needed("POST", "/entities/{entity:path}/{act}") == "control"
    assert needed("POST", "/consoles") == "control"
    assert needed("DELETE", "/agents/{agent}") == "control"


def test_a_call_meets_the_rule_of_the_route_that_takes_it() -> None:
    rules = RouteRules(ROUTES)

    def template(method: str, path: str) -> str | None:
        found = rules.find(method, path)
        return found.rule.template if found else None

    assert template("POST", "/agents/x/send") == "/agents/{agent}/send"
    assert template("POST", "/entities/a/send/stop") == "/entities/{entity:path}/{act}"
    assert template(WEBSOCKET, "/agents/x/events") == "/agents/{agent}/events"
    assert template("PUT", "/agents/x/send") is None
    assert template("GET", "/nothing") is None


def test_what_cannot_be_seen_into_is_refused_when_it_is_built() -> None:
    with pytest.raises(TypeError, match="no scope"):
        RouteRules([Mount("/inner", FastAPI())])


@pytest.mark.parametrize(
    ("method", "path", "is_so"),
    [
        ("GET", "/login", True),
        ("POST", "/login", True),
        ("DELETE", "/login", False),
        ("GET", "/login/x", False),
        ("GET", "/logins", False),
        ("GET", "/answer/x.y", True),
        ("POST", "/answer/x.y", True),
        ("GET", "/answer", False),
        ("GET", "/answers/x", False),
        ("GET", "/ANSWER/x", False),
        (WEBSOCKET, "/answer/x", False),
    ],
)
def test_only_what_carries_its_own_proof_is_open(method: str, path: str, is_so: bool) -> None:
    assert is_open(method, path) == is_so
