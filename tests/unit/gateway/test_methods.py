"""A method that a path does not take is refused with every method that it takes, on every path."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from actors.gateway.auth.scopes import WEBSOCKET, RouteRules, routes_of
from actors.gateway.http.app import HANDLERS, ROUTERS, GatewayApi

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
RULES = RouteRules(routes_of(ROUTERS))
TEMPLATES = sorted({rule.template for rule in RULES.rules if rule.method != WEBSOCKET})


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = GatewayApi(exception_handlers=HANDLERS)
    for router in ROUTERS:
        app.include_router(router)
    app.rules = RULES
    return TestClient(app)


def filled(template: str) -> str:
    """Return a path of this form."""
    return re.sub(r"\{[^}]+\}", "x", template)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_method_that_is_not_taken_is_refused_with_all_that_are(
    client: TestClient, template: str
) -> None:
    path = filled(template)
    taken = {
        rule.method for rule in RULES.rules if rule.method != WEBSOCKET and rule.pattern.match(path)
    }
    refused = [method for method in METHODS if method not in taken]
    assert refused
    for method in refused:
        answer = client.request(method, path)
        assert answer.status_code == 405, (method, path)
        told: Any = answer.headers["allow"]
        assert set(told.split(", ")) == taken, (method, path)
        if method != "HEAD":
            assert f"(possible: {told})" in answer.json()["detail"]
