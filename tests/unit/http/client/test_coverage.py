"""The clients cover the API: some call requests each endpoint."""

import inspect
from typing import Any

from fastapi.routing import APIRoute

import agiraph.http.api
from agiraph.api.app import ROUTERS
from agiraph.api.examples import EXAMPLES
from agiraph.http.client import AsyncClient, Client
from agiraph.http.client.call import ApiCall, ApiMethod
from agiraph.http.client.connection import ApiCalls

FOR_OTHERS = {
    ("GET", "/metrics"): "Prometheus reads it",
    ("GET", "/login"): "a browser's page",
    ("POST", "/login"): "a browser's form",
    ("POST", "/logout"): "a browser's",
    ("GET", "/answer/{token}"): "a page behind a signed link",
    ("POST", "/answer/{token}"): "its form",
    ("POST", "/agents/{agent}/archive"): "`archive`",
    ("GET", "/agents/{agent}/board/{node}/scratch"): "`node_files`",
    ("GET", "/agents/{agent}/board/{node}/scratch/{path}"): "`node_files`",
    ("GET", "/agents/{agent}/board/{node}/published/{path}"): "`node_files`",
    ("PATCH", "/agents/{agent}/triggers/{trigger}/budgets/{period}"): "`set_budget`",
    ("DELETE", "/agents/{agent}/triggers/{trigger}/budgets/{period}"): "`remove_budget`",
    ("GET", "/knowledge/obsidian"): "a browser's download; a program has `export_knowledge`",
    ("HEAD", "/agents/{agent}/workspace/{path}"): "as GET, without the bytes",
}

CHANGES = ("POST", "DELETE")  # a PUT or PATCH is the same when it is made again


def routes() -> dict[tuple[str, str], APIRoute]:
    return {
        (method, route.path_format): route
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }


def verbs() -> dict[str, "ApiMethod[Any, Any]"]:
    return {
        name: verb
        for family in ApiCalls.__mro__
        for name, verb in vars(family).items()
        if isinstance(verb, ApiMethod)
    }


def described(verb: "ApiMethod[Any, Any]") -> ApiCall[Any]:
    """Describe a call with something for every argument that it needs."""
    signature = inspect.signature(verb._describe, eval_str=True)
    needed = [p for p in signature.parameters.values() if p.default is p.empty][1:]
    return verb._describe(None, *(_something(p.annotation) for p in needed))


def _something(wanted: Any) -> Any:
    name = getattr(wanted, "__name__", "")
    if name in EXAMPLES:
        return getattr(agiraph.http.api, name).model_validate(EXAMPLES[name][0])
    choices = getattr(wanted, "__args__", ())
    return choices[0] if choices else "x"


def asked_for() -> set[tuple[str, str]]:
    """Return the endpoints that the calls reach, matched as the gateway matches them."""
    calls = [described(verb) for verb in verbs().values()]
    reached = set()
    for (method, template), route in routes().items():
        if any(c.method == method and route.path_regex.match(c.path) for c in calls):
            reached.add((method, template))
    return reached


def test_every_endpoint_is_reached_by_a_call_of_the_client() -> None:
    assert routes().keys() - asked_for() - FOR_OTHERS.keys() == set()


def test_every_call_reaches_an_endpoint() -> None:
    known = routes()
    for name, verb in verbs().items():
        call = described(verb)
        assert any(
            call.method == method and route.path_regex.match(call.path)
            for (method, _), route in known.items()
        ), f"{name}: {call.method} {call.path}"


def test_only_changing_calls_have_an_idempotency_key() -> None:
    for name, verb in verbs().items():
        call = described(verb)
        is_reading = call.path.endswith(("/search", "/check"))
        assert (call.key is not None) == (call.method in CHANGES and not is_reading), name


def test_both_clients_have_the_same_calls() -> None:
    def offered(client: type) -> set[str]:
        return {name for name in dir(client) if not name.startswith("_")}

    assert offered(Client) == offered(AsyncClient)
