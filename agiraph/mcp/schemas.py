"""Schemas: the parameters of a server's tools, in a form that every model service accepts; pure.

Servers write JSON Schema of any draft, from templates and generators. Services refuse a whole
request for one schema with a reference, a boolean in the place of a schema, an array without items,
or a parameter's name with a space; so each tool's schema is rewritten, and never refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JsonObject = dict[str, Any]

MOST_BYTES: Final = 16_384
"""The longest schema of one tool, as JSON. A longer schema is shown in part."""
MOST_PARTS: Final = 4_000
"""The maximum number of subschemas that are read; references can multiply them."""
DEPTHS: Final = (12, 8, 5, 3, 2, 1)
"""How many levels are shown: fewer if the schema is too long with more."""
LEFT_OUT: Final = frozenset(
    ("$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "$dynamicRef", "$vocabulary")
)
CHOICES: Final = ("oneOf", "anyOf", "allOf")
INNER: Final = ("not", "if", "then", "else", "contains", "propertyNames")
PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
ODD: Final = re.compile(r"[^A-Za-z0-9_.-]")
LONGEST_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class Parameters:
    """A tool's parameters as an object schema without references.

    `renamed` maps the names of parameters that services refuse, as models see them, to the names
    that the server knows. `is_partial`: deeper or further parts of the schema are left out.
    """

    schema: JsonObject
    renamed: dict[str, str] = field(default_factory=dict)
    is_partial: bool = False


def parameters_of(schema: object) -> Parameters:
    """Return a tool's parameters from its input schema, which may be any value.

    A reference to a schema that is being unfolded is not followed again. Alternatives between whole
    sets of parameters, which no service accepts at the top, become one set of all of them: the
    server refuses arguments that do not fit.
    """
    said = schema if isinstance(schema, Mapping) else {}
    for depth in DEPTHS:
        try:
            unfolding = _Unfolding(said, depth)
            top = _top(unfolding.of(dict(said)))
        except _TooManyParts:
            continue
        if _size(top) <= MOST_BYTES:
            return _renamed(top, is_partial=unfolding.was_cut)
    return _renamed(_names_alone(said), is_partial=True)


class _TooManyParts(Exception):
    """The references of a schema expand to more than MOST_PARTS parts."""


class _Unfolding:
    """One walk through a schema, at most `depth` levels deep."""

    def __init__(self, root: Mapping[str, Any], depth: int) -> None:
        self._root = root
        self._depth = depth
        self._parts = 0
        self.was_cut = False

    def of(self, value: Any, depth: int = 0, path: frozenset[str] = frozenset()) -> JsonObject:
        """Return a subschema without references; `path` are the references that lead to it."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise _TooManyParts
        if not isinstance(value, Mapping):
            return {}
        if depth > self._depth:
            self.was_cut |= bool(value)
            return {}
        if isinstance(where := value.get("$ref"), str):
            beside = {key: inner for key, inner in value.items() if key != "$ref"}
            found = _referred(where, self._root)
            if where in path:
                return self.of({**_stub(where, found), **beside}, depth + 1, path)
            return self.of({**found, **beside}, depth + 1, path | {where})
        return _consistent(
            {
                key: self._keyword(key, inner, depth, path)
                for key, inner in value.items()
                if isinstance(key, str) and key not in LEFT_OUT and key != "$ref"
            }
        )

    def _keyword(self, key: str, value: Any, depth: int, path: frozenset[str]) -> Any:
        match key, value:
            case (("properties" | "patternProperties" | "dependentSchemas"), Mapping()):
                return {
                    str(name): self.of(inner, depth + 1, path)
                    for name, inner in value.items()
                    if inner is not False
                }
            case (("oneOf" | "anyOf" | "allOf" | "prefixItems"), list()):
                return [self.of(one, depth + 1, path) for one in value]
            case "items", list():  # a tuple of the older drafts
                return {"anyOf": [self.of(one, depth + 1, path) for one in value]} if value else {}
            case "items", _:
                return self.of(value, depth + 1, path)
            case "additionalProperties", Mapping():
                return self.of(value, depth + 1, path)
            case _, Mapping() if key in INNER:
                return self.of(value, depth + 1, path)
            case _:
                return value


def _consistent(schema: JsonObject) -> JsonObject:
    """Return a schema without contradictions that services refuse.

    An array gets `items`; names in `required` without a property are dropped.
    """
    kept = _plain(schema)
    types = kept.get("type")
    if (types == "array" or (isinstance(types, list) and "array" in types)) and "items" not in kept:
        prefix = kept.pop("prefixItems", None)
        kept["items"] = {"anyOf": prefix} if prefix else {}
    kept.pop("prefixItems", None)
    if types == "null":
        kept.pop("enum", None)
    if isinstance(kept.get("required"), list):
        known = kept.get("properties")
        names = [name for name in kept["required"] if isinstance(name, str)]
        if isinstance(known, dict):
            names = [name for name in names if name in known]
        kept["required"] = list(dict.fromkeys(names))
        if not names:
            del kept["required"]
    return kept


def _plain(schema: Mapping[str, Any]) -> JsonObject:
    """Return a schema without keywords whose values have a wrong type."""
    return {key: value for key, value in schema.items() if _fits(key, value)}


def _fits(key: str, value: Any) -> bool:
    match key:
        case "type":
            names = value if isinstance(value, list) else [value]
            return bool(names) and all(isinstance(name, str) for name in names)
        case "description" | "title" | "pattern" | "format":
            return isinstance(value, str)
        case "enum" | "required" | "oneOf" | "anyOf" | "allOf" | "prefixItems":
            return isinstance(value, list) and bool(value)
        case "properties" | "patternProperties" | "items":
            return isinstance(value, dict)
        case _:
            return _is_json(value)


def _is_json(value: Any) -> bool:
    """Whether a value can be sent as JSON: a number must be finite."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _referred(where: str, root: Mapping[str, Any]) -> JsonObject:
    """Return the target of a reference within the schema, None for another reference."""
    found: Any = root
    for part in where.removeprefix("#").removeprefix("/").split("/") if where != "#" else ():
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    is_within = where == "#" or where.startswith("#/")
    return dict(found) if is_within and isinstance(found, Mapping) else {}


def _stub(where: str, schema: Mapping[str, Any]) -> JsonObject:
    """Return the short form of a schema that occurs again within itself."""
    name = where.rpartition("/")[2].strip("#") or "the whole"
    return {"description": f"again like {name}"} | (
        {"type": schema["type"]} if "type" in schema else {}
    )


# --- the top -------------------------------------------------------------------------------------


def _top(schema: JsonObject) -> JsonObject:
    """Return a schema as that of an object; alternatives at its top level are merged."""
    top = {key: value for key, value in schema.items() if key not in CHOICES}
    properties: JsonObject = {}
    required = list(top.get("required") or ())
    for key in CHOICES:
        for one in schema.get(key) or ():
            properties |= one.get("properties") or {}
            required += one.get("required") or () if key == "allOf" else ()
    properties |= top.get("properties") or {}
    top |= {"type": "object", "properties": properties}
    if required := [name for name in dict.fromkeys(required) if name in properties]:
        top["required"] = required
    else:
        top.pop("required", None)
    return top


def _names_alone(said: Mapping[str, Any]) -> JsonObject:
    """Return a schema with only the names of parameters, as many as MOST_BYTES allow."""
    found = said.get("properties")
    shown: JsonObject = {"type": "object", "properties": {}}
    size = _size(shown)
    for name in found if isinstance(found, Mapping) else ():
        size += len(json.dumps(str(name))) + len(": {}, ")
        if size > MOST_BYTES:
            break
        shown["properties"][str(name)] = {}
    return shown


def _renamed(top: JsonObject, *, is_partial: bool) -> Parameters:
    """Return parameters with names that services accept, and the map to their own names."""
    properties = top["properties"]
    taken = {name for name in properties if PARAMETER.fullmatch(name)}
    shown: dict[str, str] = {}
    for name in properties:
        if name in taken and PARAMETER.fullmatch(name):
            shown[name] = name
            continue
        base = ODD.sub("_", name)[:LONGEST_NAME] or "_"
        called, number = base, 2
        while called in taken:
            suffix = f"_{number}"
            called, number = f"{base[: LONGEST_NAME - len(suffix)]}{suffix}", number + 1
        taken.add(called)
        shown[name] = called
    schema = top | {"properties": {shown[name]: one for name, one in properties.items()}}
    if "required" in top:
        schema["required"] = [shown[name] for name in top["required"]]
    renamed = {called: name for name, called in shown.items() if called != name}
    return Parameters(schema, renamed, is_partial)


def _size(schema: JsonObject) -> int:
    return len(json.dumps(schema, ensure_ascii=False, default=str).encode("utf-8", "replace"))
