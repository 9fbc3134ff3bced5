"""Schemas: the JSON Schema that a local model's answer must satisfy. Pure.

The engine turns it into a grammar that the model must follow, so an answer is always a call of a
known tool with arguments of its schema, or a text. Schemas are reduced to the elements of such a
grammar: types, properties, items, choices; the tool checks the rest.
"""

from collections.abc import Iterable
from typing import Any

from agiraph.core.turns import JsonObject, ToolSchema

SAY = "say"
DEEPEST = 12
SIMPLE = ("string", "integer", "number", "boolean", "null")


def answer_schema(tools: Iterable[ToolSchema], said: JsonObject | None = None) -> JsonObject:
    """Return the schema of an answer: one call of one of `tools`, or `{"say": TEXT}`.

    `said` is the plain schema of the wanted object; it replaces the text.
    """
    choices = [
        _object({"name": {"const": tool.name}, "arguments": plain(tool.parameters)})
        for tool in tools
    ]
    return {"anyOf": [*choices, _object({SAY: said or {"type": "string"}})]}


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def plain(schema: JsonObject) -> JsonObject:
    """Return a schema reduced to the elements of a grammar; references are resolved."""
    return _plain(schema, schema, 0)


def _plain(schema: Any, root: JsonObject, depth: int) -> JsonObject:
    if not isinstance(schema, dict) or depth > DEEPEST:
        return {}
    found = _resolved(schema, root)
    if "const" in found:
        return {"const": found["const"]}
    if isinstance(found.get("enum"), list) and found["enum"]:
        return {"enum": found["enum"]}
    for word in ("anyOf", "oneOf"):
        if isinstance(found.get(word), list) and found[word]:
            return {"anyOf": [_plain(choice, root, depth + 1) for choice in found[word]]}
    kind = found.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [_plain({**found, "type": one}, root, depth + 1) for one in kind]}
    if kind == "object" or (kind is None and "properties" in found):
        return _plain_object(found, root, depth)
    if kind == "array":
        return {"type": "array", "items": _plain(found.get("items"), root, depth + 1)}
    return {"type": kind} if kind in SIMPLE else {}


def _plain_object(found: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    properties = found.get("properties")
    if not isinstance(properties, dict):
        return {"type": "object"}
    required = found.get("required")
    return {
        "type": "object",
        "properties": {name: _plain(one, root, depth + 1) for name, one in properties.items()},
        "required": [n for n in required if n in properties] if isinstance(required, list) else [],
        "additionalProperties": False,
    }


def _resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Return the schema that a `$ref` within `root`, or a single `allOf`, leads to."""
    for _ in range(DEEPEST):
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
            schema = {**schema, **parts[0]}
            del schema["allOf"]
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        target: Any = root
        for step in reference[2:].split("/"):
            target = target.get(step) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            return {}
        schema = target
    return {}
