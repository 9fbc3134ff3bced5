"""Every route declares its scope, and each method that a path does not take is refused."""

import re

import pytest
from fastapi import APIRouter, FastAPI
from starlette.testclient import TestClient

from agiraph.api.app import ROUTERS, GatewayApi
from agiraph.api.auth.scopes import CONTROL, OPEN, READ, WEBSOCKET, is_open, methods_at, rules_of

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
RULES = rules_of(ROUTERS)
TEMPLATES = sorted({rule.template for rule in RULES if rule.method != WEBSOCKET})
CHANGES = {
    (rule.method, rule.template): rule.scope
    for rule in RULES
    if rule.method not in ("GET", "HEAD", WEBSOCKET) and rule.scope is not None
}


def test_only_open_routes_declare_no_scope() -> None:
    without = {(rule.method, rule.template) for rule in RULES if rule.scope is None}
    assert without == OPEN | {("GET", "/answer/{token}"), ("POST", "/answer/{token}")}


def test_the_scope_read_changes_nothing_and_talk_does_not_steer() -> None:
    of_scope = {
        scope: {pair for pair, declared in CHANGES.items() if declared == scope}
        for scope in ("read", "talk")
    }
    assert of_scope["read"] == {
        ("POST", "/agents/{agent}/memory/search"),
        ("POST", "/agents/{agent}/triggers/check"),
        ("POST", "/knowledge/search"),
        ("POST", "/plans/check"),
        ("POST", "/roles/check"),
        ("POST", "/logout"),
    }
    for _, path in of_scope["talk"]:
        steers = ("/send", "/nudge", "/respond", "/read", "/attachments/{name}")
        assert path.endswith(steers) or path == "/me"
    for pair in (
        ("POST", "/entities/{entity:path}/{act}"),
        ("POST", "/consoles"),
        ("DELETE", "/agents/{agent}"),
    ):
        assert CHANGES[pair] == "control"


def test_a_route_without_a_scope_is_refused_when_the_application_is_built() -> None:
    router = APIRouter()
    router.add_api_route("/whole", lambda: None, dependencies=[READ])
    assert rules_of([router])[0].scope == "read"
    router.add_api_route("/bare", lambda: None, methods=["POST"])
    with pytest.raises(TypeError, match="POST /bare declares no scope"):
        rules_of([router])
    mounting = APIRouter(dependencies=[CONTROL])
    mounting.mount("/inner", FastAPI())
    with pytest.raises(TypeError, match="cannot declare a scope"):
        rules_of([mounting])


@pytest.mark.parametrize(
    ("method", "path", "is_so"),
    [
        ("GET", "/login", True),
        ("POST", "/login", True),
        ("DELETE", "/login", False),
        ("GET", "/login/x", False),
        ("GET", "/login-links", False),
        ("GET", "/answer/x.y", True),
        ("POST", "/answer/x.y", True),
        ("GET", "/answer", False),
        ("GET", "/answers/x", False),
        ("GET", "/ANSWER/x", False),
        (WEBSOCKET, "/answer/x", False),
    ],
)
def test_only_self_authenticating_routes_are_open(method: str, path: str, is_so: bool) -> None:
    assert is_open(method, path) == is_so


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(GatewayApi())


@pytest.mark.parametrize("template", TEMPLATES)
def test_unsupported_method_is_refused_with_the_supported_ones(
    client: TestClient, template: str
) -> None:
    path = re.sub(r"\{[^}]+\}", "x", template)
    taken = methods_at(ROUTERS, path)
    refused = [method for method in METHODS if method not in taken]
    assert taken
    assert refused
    for method in refused:
        answer = client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, ", ".join(taken)), path
        if method != "HEAD":
            assert f"(possible: {', '.join(taken)})" in answer.json()["detail"]
