"""Schemas of a server's tools in the plain form that every provider takes. Pure."""

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
DEEPEST = 12
"""A schema that refers to itself is unrolled so far; below that anything goes."""
ASIDE = ("$schema", "$id", "$defs", "definitions", "$comment")
CHOICES = ("oneOf", "anyOf", "allOf")


def plain_schema(schema: Mapping[str, Any]) -> JsonObject:
    """Return a tool's parameters as an object schema that holds no reference.

    What no provider takes at the top (a choice between whole sets of parameters) is left out: the
    server says what is wrong, if anything is.
    """
    whole = _plain(dict(schema), schema, 0)
    top: JsonObject = {key: value for key, value in whole.items() if key not in CHOICES}
    top["type"] = "object"
    if not isinstance(top.get("properties"), dict):
        top["properties"] = {}
    return top


def _plain(value: Any, root: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list):
        return [_plain(item, root, depth) for item in value]
    if not isinstance(value, dict):
        return value
    if depth > DEEPEST:
        return {}
    if isinstance(where := value.get("$ref"), str):
        beside = {key: inner for key, inner in value.items() if key != "$ref"}
        return _plain({**_referred(where, root), **beside}, root, depth + 1)
    return {
        key: _properties(inner, root, depth)
        if key == "properties" and isinstance(inner, dict)
        else _plain(inner, root, depth + 1)
        for key, inner in value.items()
        if key not in ASIDE
    }


def _properties(properties: JsonObject, root: Mapping[str, Any], depth: int) -> JsonObject:
    """Return properties, each by itself: one may well be called `definitions` or `$ref`."""
    return {name: _plain(inner, root, depth + 1) for name, inner in properties.items()}


def _referred(where: str, root: Mapping[str, Any]) -> JsonObject:
    """Return what a reference within the schema names, nothing for any other."""
    found: Any = root
    for part in where.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return dict(found) if where.startswith("#/") and isinstance(found, Mapping) else {}
