"""The OpenAPI document: FastAPI's description of the endpoints, completed.

Adds summaries from the docstrings, every refusal as a `ProblemView`, `Idempotency-Key` for each
changing call, and an example of each record (`agiraph.api.examples`).
"""

from collections.abc import Iterable
from typing import Any, Final

from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from agiraph.api.auth.scopes import RouteRule
from agiraph.api.examples import EXAMPLES
from agiraph.api.problems import MEDIA_TYPE
from agiraph.http.api import ChangeView, ProblemView, StreamedTextView

JsonObject = dict[str, Any]

DESCRIPTION: Final = """\
Agents that work as teams of processes, and the person among them.

Every call needs a token: `Authorization: Bearer TOKEN`. Wherever an agent, a node, a worker or a
trigger is named, its id or its name serves. Times are seconds since 1970. A refusal is a `Problem`
(RFC 9457). What changes something takes an `Idempotency-Key`: made again with the same key, also
after a restart, it does nothing twice and is answered the same.

`/agents/{agent}/events` is also a WebSocket (`?after=`, `type`, `entity`, `node`): each event is
one JSON text, first the log from the cursor on, then what comes. It closes with 1012 when the
gateway restarts, 1013 for a reader that is too slow, 1000 when the agent was archived; come back
with the `seq` of the last event that was seen.

Two more WebSockets close with the same codes. `/changes` sends a `ChangeView` for each thing in the
home that has changed, first a `HomeView`: who comes back compares it with what he knows.
`/agents/{agent}/stream` (`?entity=`) sends what models write as they write it, each piece a
`StreamedTextView`, first what was written so far of the answers that are not complete.
"""

UNSEEN: Final[dict[str, Any]] = {
    "ProblemView": ProblemView,
    "ChangeView": ChangeView,
    "StreamedTextView": StreamedTextView,
}
"""Records that FastAPI does not see: refusals and the messages of WebSockets."""

SCOPE_FIELD: Final = "x-scope"
OPEN: Final[JsonObject] = {"security": []}

SCHEMES: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of the home (`agiraph tokens`), or the home's own.",
    },
    "browser": {
        "type": "apiKey",
        "in": "cookie",
        "name": "agiraph_LOGIN",
        "description": "A browser that came in by a link (`agiraph login`); the name ends in "
        "eight characters of the home's. What changes something needs our own Origin too.",
    },
}

CHANGES: Final = ("post", "put", "patch", "delete")

KEY: Final[JsonObject] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any text of the caller's own, new for each thing to be done. The answer to a "
    "call made again bears `Idempotency-Replayed: true`; another call under the same key is 422, "
    "an empty one 400.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}

ALWAYS: Final = {
    "401": "No token, or one that does not open.",
    "403": "Not with this token, or not with this path.",
    "429": "Too many calls; `Retry-After` says when to come back.",
    "default": "Any other refusal: 5xx when a process of ours is away or failed.",
}
NAMED: Final = {"404": "What the path names is not there; the detail lists what is."}
CHANGED: Final = {"409": "Not in the state that things are in; the detail says why."}
ASKED: Final = {"422": "A field is wrong, or what is asked for cannot be; `errors` names fields."}
KEYED: Final = {"400": "The header `Idempotency-Key` is empty."}
TAKEN: Final = {
    "400": "The body cannot be read, or the header `Idempotency-Key` is empty.",
    "413": "The body is too large.",
}


def operation_id(route: APIRoute) -> str:
    """Return a unique name of an endpoint, for generated clients: `TAG_NAME`."""
    return f"{route.tags[0]}_{route.name}{'_at' if '{path' in route.path_format else ''}"


def complete_document(document: JsonObject, rules: Iterable[RouteRule]) -> JsonObject:
    """Return FastAPI's OpenAPI document with scopes, refusals, keys and examples added."""
    scopes = {(rule.template.replace(":path}", "}"), rule.method): rule.scope for rule in rules}
    paths = {
        path: {
            method: _operation(path, method, about)
            | ({SCOPE_FIELD: scope} if (scope := scopes.get((path, method.upper()))) else OPEN)
            for method, about in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    parts = document.get("components", {})
    schemes = parts.get("securitySchemes", {}) | SCHEMES
    return document | {
        "paths": paths,
        "components": parts | {"schemas": _schemas(parts), "securitySchemes": schemes},
        "security": [{"token": []}, {"browser": []}],
    }


def _operation(path: str, method: str, about: JsonObject) -> JsonObject:
    described = dict(about)
    words = str(about.get("description") or about.get("summary") or "")
    summary, _, rest = words.partition("\n\n")
    described["summary"] = " ".join(summary.split()).rstrip(".")
    described.pop("description", None)
    if rest:
        described["description"] = rest
    described["responses"] = _responses(path, method, about)
    if method in CHANGES:
        described["parameters"] = [*about.get("parameters", ()), KEY]
    return described


def _responses(path: str, method: str, about: JsonObject) -> JsonObject:
    refusals = dict(ALWAYS)
    if "{" in path:
        refusals |= NAMED | CHANGED
    if method in CHANGES:
        refusals |= CHANGED | ASKED | KEYED
    if "parameters" in about:
        refusals |= ASKED
    if "requestBody" in about:
        refusals |= TAKEN
    described: JsonObject = {}
    for status, response in about["responses"].items():
        is_refusal = status >= "400"
        described[status] = _refusal(response["description"]) if is_refusal else response
    return described | {status: _refusal(text) for status, text in refusals.items()}


def _refusal(text: str) -> JsonObject:
    schema = {"$ref": "#/components/schemas/ProblemView"}
    return {"description": text, "content": {MEDIA_TYPE: {"schema": schema}}}


def _schemas(parts: JsonObject) -> JsonObject:
    schemas = dict(parts.get("schemas", {}))
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for name, shape in UNSEEN.items():
        schema = TypeAdapter(shape).json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {}) | {name: schema}
    for name, examples in EXAMPLES.items():
        if name in schemas:
            schemas[name] = schemas[name] | {"examples": examples}
    return schemas
