"""What the OpenAPI document says of access: how a key is shown, and which scope a call needs."""

from collections.abc import Iterable
from typing import Any, Final

from actors.gateway.auth.scopes import RouteRule, is_open

SCOPE_FIELD: Final = "x-scope"

SCHEMES: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of the home (`agiraph tokens`), or the home's own.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "agiraph_SESSION",
        "description": "A browser that came in by a link (`agiraph login`); the name ends in "
        "eight characters of the home's. What changes something needs our own Origin too.",
    },
}


def with_access(document: dict[str, Any], rules: Iterable[RouteRule]) -> dict[str, Any]:
    """Return an OpenAPI document that tells of keys, and of the scope of every call."""
    scopes = {(rule.template.replace(":path}", "}"), rule.method): rule.scope for rule in rules}
    paths = {
        path: {
            method: _with_scope(call, scopes.get((path, method.upper())), path, method)
            for method, call in calls.items()
        }
        for path, calls in document.get("paths", {}).items()
    }
    parts = document.get("components", {})
    schemes = parts.get("securitySchemes", {}) | SCHEMES
    return document | {
        "paths": paths,
        "components": parts | {"securitySchemes": schemes},
        "security": [{"token": []}, {"session": []}],
    }


def _with_scope(call: Any, scope: str | None, path: str, method: str) -> Any:
    if scope is None or not isinstance(call, dict):
        return call
    if is_open(method.upper(), path):
        return call | {"security": []}
    return call | {SCOPE_FIELD: scope}
