"""Requests in Gemini's format, read: contents and their parts, declared tools, schemas.

The service takes each field's name in camel case and in snake case, and one object where a list is
meant, and so does this.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)

NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
DEEPEST = 64
SAID = ("output", "result", "error")


def field_of(value: JsonObject, name: str) -> Any:
    """Return a field by its name in camel case, also if it is written in snake case."""
    found = value.get(name)
    return value.get(re.sub("([A-Z])", r"_\1", name).lower()) if found is None else found


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def system_of(instruction: Any) -> str:
    """Return the system text."""
    if isinstance(instruction, str):
        return instruction
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    return _text(part for part in _listed(parts) if isinstance(part, dict))


# --- turns ---------------------------------------------------------------------------------------


def turns_of(contents: Any) -> list[Turn]:
    """Return the turns of a conversation; InvalidInput saying what is wrong."""
    if isinstance(contents, str):
        return [UserTurn(content=contents)]
    listed = _listed(contents)
    if not listed:
        raise InvalidInput("contents: expected a list of contents")
    reading = _Reading()
    for number, content in enumerate(listed):
        role, parts = _content(content, number)
        reading.take(role, parts)
    return reading.turns


def _content(content: Any, number: int) -> tuple[str, list[JsonObject]]:
    role = content.get("role") or "user" if isinstance(content, dict) else None
    if role not in ("user", "model", "function"):
        raise InvalidInput(f"contents[{number}].role: expected user or model")
    parts = _listed(content.get("parts"))
    if not all(isinstance(part, dict) for part in parts):
        raise InvalidInput(f"contents[{number}].parts: expected a list of parts")
    return role, parts


class _Reading:
    """A conversation as far as it is read: its turns, and the last calls without a result."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.turns: list[Turn] = []
        self._ids: set[str] = set()
        self._open: list[ToolCall] = []

    def take(self, role: str, parts: list[JsonObject]) -> None:
        """Take one content."""
        if role == "model":
            self._answer(parts)
            return
        told = [part for part in parts if field_of(part, "functionResponse") is None]
        given = (field_of(part, "functionResponse") for part in parts)
        self.turns += [self._result(one) for one in given if isinstance(one, dict)]
        if told:
            self.turns.append(UserTurn(content=_text(told, between="\n\n")))

    def _answer(self, parts: list[JsonObject]) -> None:
        """Take what the model said and called; thoughts are its own service's alone."""
        made = [call for part in parts if isinstance(call := field_of(part, "functionCall"), dict)]
        self._open = [self._call(call, place) for place, call in enumerate(made)]
        self._ids |= {call.id for call in self._open}
        text = _text(parts)
        if text or self._open:
            self.turns.append(AssistantTurn(text=text or None, tool_calls=tuple(self._open)))

    def _call(self, call: JsonObject, place: int) -> ToolCall:
        return ToolCall(
            id=str(call.get("id") or f"call_{len(self.turns)}_{place}"),
            name=str(call.get("name", "")),
            arguments=call["args"] if isinstance(call.get("args"), dict) else {},
        )

    def _result(self, given: JsonObject) -> ToolTurn:
        """Return a result; one without a known id answers the first open call of its name."""
        id, name = str(given.get("id") or ""), str(given.get("name", ""))
        same = (call for call in self._open if (call.id == id if id in self._ids else
                                                call.name == name))  # fmt: skip
        if (answered := next(same, None)) is not None:
            self._open.remove(answered)
            id, name = answered.id, answered.name
        response = given.get("response")
        more = [part for part in _listed(given.get("parts")) if isinstance(part, dict)]
        said = filter(None, (_said(response), _text(more, between="\n\n")))
        is_error = isinstance(response, dict) and set(response) == {"error"}
        return ToolTurn(call_id=id, name=name, content="\n\n".join(said), is_error=is_error)


def _said(response: Any) -> str:
    """Return a result as text: the one field that the format names, else all as JSON."""
    if isinstance(response, dict) and len(response) == 1:
        [(name, value)] = response.items()
        if name in SAID and isinstance(value, str):
            return value
    return "" if response is None else json.dumps(response, ensure_ascii=False)


def _text(parts: Iterable[JsonObject], between: str = "") -> str:
    """Return the text of parts, without thoughts and calls; what is no text is named."""
    return between.join(
        _named(part)
        for part in parts
        if not part.get("thought") and field_of(part, "functionCall") is None
    )


def _named(part: JsonObject) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    data = field_of(part, "inlineData") or field_of(part, "fileData")
    if isinstance(data, dict):
        mime = str(field_of(data, "mimeType") or "file")
        return "[image]" if mime.startswith("image/") else f"[{mime}]"
    return "".join(f"[{name}]" for name in list(part)[:1])


# --- tools and schemas ---------------------------------------------------------------------------


def is_mute(body: JsonObject) -> bool:
    """Whether the model must call nothing."""
    config = field_of(body, "toolConfig")
    calling = field_of(config, "functionCallingConfig") if isinstance(config, dict) else None
    return isinstance(calling, dict) and calling.get("mode") == "NONE"


def declared(tools: list[Any]) -> Iterator[ToolSchema]:
    """Yield the agent's own tools; those that the service itself would run are left out."""
    for tool in tools:
        functions = field_of(tool, "functionDeclarations") if isinstance(tool, dict) else None
        for function in _listed(functions):
            if isinstance(function, dict):
                yield ToolSchema(
                    name=str(function.get("name", "")),
                    description=str(function.get("description") or ""),
                    parameters=schema_of(function, "parametersJsonSchema", "parameters")
                    or NO_PARAMETERS,
                )


def schema_of(value: JsonObject, as_json: str, as_openapi: str) -> JsonObject | None:
    """Return the JSON Schema that stands in one of these fields, if any does."""
    found = field_of(value, as_json)
    if isinstance(found, dict):
        return found
    found = field_of(value, as_openapi)
    return _json_schema(found) if isinstance(found, dict) else None


def _json_schema(schema: JsonObject, depth: int = 0) -> JsonObject:
    """Return the JSON Schema of a Schema of Google's: an OpenAPI one, its types in capitals."""
    if depth > DEEPEST:
        raise InvalidInput(f"a schema has more than {DEEPEST} levels")
    made: JsonObject = {}
    is_nullable = schema.get("nullable") is True
    for key, value in schema.items():
        name = _camel(key)
        match name, value:
            case ("nullable" | "propertyOrdering", _):
                continue
            case ("type", str()):
                type_ = value.lower()
                if type_ != "type_unspecified":
                    made["type"] = [type_, "null"] if is_nullable else type_
            case ("properties", dict()):
                made[name] = {inner: _inner(one, depth) for inner, one in value.items()}
            case ("items", _):
                made[name] = _inner(value, depth)
            case ("anyOf", list()):
                made[name] = [_inner(inner, depth) for inner in value]
            case ("format", "enum"):
                continue
            case _:
                made[name] = int(value) if _is_count(name, value) else value
    return made


def _inner(schema: Any, depth: int) -> Any:
    return _json_schema(schema, depth + 1) if isinstance(schema, dict) else schema


def _is_count(name: str, value: Any) -> bool:
    """Whether this is a whole number, which the format writes as text."""
    return name in COUNTS and isinstance(value, str) and value.isascii() and value.isdecimal()
