"""Requests of Google's Gemini format, encoded and parsed. Pure.

A model that thinks signs parts of its answer, and newer models refuse a conversation in which a
signature is missing or misplaced: answers are sent back part by part, unchanged. The service
accepts each field's name in camel case and in snake case, and one object instead of a list, and so
does the parser.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.wire.chat_requests import NO_PARAMETERS
from agiraph.llm.wire.format import parsed_request, tool_schema, tools_in
from agiraph.llm.wire.google_rules import GoogleRules
from agiraph.llm.wire.pictures import PictureEncoder
from agiraph.llm.wire.transcript import GO_ON, head_of, laid_out, tail_of, wire_id, wire_name
from agiraph.models.registry import ModelTraits

API = "google"
RULES = GoogleRules()
SIGNATURE = "thoughtSignature"
# The API accepts this as the signature of another model's call.
FOREIGN = "skip_thought_signature_validator"
UNSIGNED = ("gemini-1", "gemini-2")
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
DEEPEST = 64
RESULT_FIELDS = ("output", "result", "error")


# --- encoding ------------------------------------------------------------------------------------


def encode_request(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a request to `model`, as JSON."""
    settings: JsonObject = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if traits.effort is not None:
        settings["thinkingConfig"] = {"thinkingLevel": traits.effort}
    if request.response_schema is not None:
        settings["responseMimeType"] = "application/json"
        settings["responseJsonSchema"] = request.response_schema
    extra = dict(traits.extra)
    tail = {"generationConfig": tail_of(settings, extra.pop("generationConfig", {}))}
    head = body_cache.head(request, lambda: head_of(_head(request), extra))
    contents = _contents(request, model, traits, body_cache)
    return body_with(head, contents, tail_of(tail, extra), field="contents")


def _head(request: ModelRequest) -> JsonObject:
    tools = [
        {"name": tool.name, "description": tool.description}
        | {"parametersJsonSchema": tool.parameters}
        for tool in request.tools
    ]
    head: JsonObject = {"tools": [{"functionDeclarations": tools}] if tools else []}
    if request.system.strip():
        head["systemInstruction"] = {"parts": [{"text": request.system}]}
    return head


def _contents(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the turns as contents, roles alternating, the user's first; results before texts.

    All contents up to the last answer are final: later ones may still grow.
    """
    encoder = PictureEncoder(request, traits)
    start, known = body_cache.beginning(request)
    contents: list[JsonObject] = []
    results: list[JsonObject] = []
    texts: list[JsonObject] = []
    final = final_turns = 0
    for count, turn in enumerate(request.turns[start:], start + 1):
        match turn:
            case UserTurn():
                text = encoder.text(turn)
                texts += [{"text": text}] if text.strip() else []
                texts += _images(turn, encoder)
            case ToolTurn():
                results += _result(turn, encoder, model)
            case AssistantTurn():
                parts = _answer(turn, request.model, model)
                if not parts:
                    continue
                user = [*results, *texts]
                if user or not (start or contents):
                    contents.append(_content("user", user or [{"text": GO_ON}]))
                contents.append(_content("model", parts))
                results, texts = [], []
                final, final_turns = len(contents), count
    if results or texts or not contents or contents[-1]["role"] == "model":
        contents.append(_content("user", [*results, *texts] or [{"text": GO_ON}]))
    return body_cache.joined(request, known, list(map(as_json, contents)), final, final_turns)


def _content(role: str, parts: list[JsonObject]) -> JsonObject:
    return {"role": role, "parts": parts}


def _result(turn: ToolTurn, encoder: PictureEncoder, model: str) -> list[JsonObject]:
    """Return the parts of a result; models before Gemini 3 accept pictures only beside it."""
    result: JsonObject = {"id": wire_id(turn.call_id), "name": wire_name(turn.name)}
    result["response"] = {"error" if turn.is_error else "output": encoder.text(turn)}
    images = _images(turn, encoder)
    if not images or model.startswith(UNSIGNED):
        return [{"functionResponse": result}, *images]
    return [{"functionResponse": result | {"parts": images}}]


def _images(turn: UserTurn | ToolTurn, encoder: PictureEncoder) -> list[JsonObject]:
    return [
        {"inlineData": {"mimeType": one.media_type, "data": one.data}}
        for one in encoder.encoded(turn)
    ]


def _answer(turn: AssistantTurn, full_name: str, model: str) -> list[JsonObject]:
    parts: list[JsonObject] = []
    layout = laid_out(turn, API, full_name)
    is_signed = any(SIGNATURE in (part.get("extra") or {}) for part in layout)
    for part in layout:
        extra = part.get("extra") or {}
        if "text" in part:
            parts.append({"text": part["text"]} | extra)
        elif "call" in part:
            call = turn.tool_calls[part["call"]]
            about = {"id": wire_id(call.id), "name": wire_name(call.name)}
            parts.append({"functionCall": about | {"args": call.arguments}} | extra)
    if not is_signed and not model.startswith(UNSIGNED):
        sign_first_call(parts)
    return [part for part in parts if part.get("text") != "" or SIGNATURE in part]


def sign_first_call(parts: list[JsonObject]) -> None:
    """Sign the first call in `parts`: a thinking model requires that of each step with calls."""
    for part in parts:
        if "functionCall" in part:
            part[SIGNATURE] = FOREIGN
            return


# --- parsing -------------------------------------------------------------------------------------


def parse_request(body: JsonObject) -> ModelRequest:
    """Return the request of a body. Raises InvalidInput, which describes its problem."""
    given = field_of(body, "generationConfig")
    settings = given if isinstance(given, dict) else {}
    tools = tools_in(body)
    return parsed_request(
        body,
        system=_system(field_of(body, "systemInstruction")),
        turns=_turns(body.get("contents")),
        max_tokens=RULES.limit(body),
        tools=() if _is_mute(body) else tuple(_tools(tools)),
        temperature=settings.get("temperature"),
        response_schema=_schema(settings, "responseJsonSchema", "responseSchema"),
    )


def field_of(value: JsonObject, name: str) -> Any:
    """Return a field by its name in camel case, even if it is written in snake case."""
    found = value.get(name)
    return value.get(re.sub("([A-Z])", r"_\1", name).lower()) if found is None else found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _system(instruction: Any) -> str:
    """Return the system text in a request's `systemInstruction`."""
    if isinstance(instruction, str):
        return instruction
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    return _text(part for part in _listed(parts) if isinstance(part, dict))


def _turns(contents: Any) -> list[Turn]:
    """Return the turns of a conversation. Raises InvalidInput, which describes a problem."""
    if isinstance(contents, str):
        return [UserTurn(content=contents)]
    listed = _listed(contents)
    if not listed:
        raise InvalidInput("contents: expected a list of contents")
    conversation = _Conversation()
    for number, content in enumerate(listed):
        role, parts = _role_and_parts(content, number)
        conversation.add(role, parts)
    return conversation.turns


def _role_and_parts(content: Any, number: int) -> tuple[str, list[JsonObject]]:
    role = content.get("role") or "user" if isinstance(content, dict) else None
    if role not in ("user", "model", "function"):
        raise InvalidInput(f"contents[{number}].role: expected user or model")
    parts = _listed(content.get("parts"))
    if not all(isinstance(part, dict) for part in parts):
        raise InvalidInput(f"contents[{number}].parts: expected a list of parts")
    return role, parts


class _Conversation:
    """A partially parsed conversation: its turns, and the last calls without a result."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._ids: set[str] = set()
        self._open: list[ToolCall] = []

    def add(self, role: str, parts: list[JsonObject]) -> None:
        """Append the turns of one content to `turns`."""
        if role == "model":
            self._add_answer(parts)
            return
        texts = [part for part in parts if field_of(part, "functionResponse") is None]
        given = (field_of(part, "functionResponse") for part in parts)
        self.turns += [self._result(one) for one in given if isinstance(one, dict)]
        if texts:
            self.turns.append(UserTurn(content=_text(texts, between="\n\n")))

    def _add_answer(self, parts: list[JsonObject]) -> None:
        """Append the model's text and calls.

        Thoughts are omitted, only their service reads them.
        """
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
        """Return the turn of a function response; without a known id it answers a call by name."""
        id, name = str(given.get("id") or ""), str(given.get("name", ""))
        is_known = id in self._ids
        same = (one for one in self._open if (one.id == id if is_known else one.name == name))
        if (answered := next(same, None)) is not None:
            self._open.remove(answered)
            id, name = answered.id, answered.name
        response = given.get("response")
        more = [part for part in _listed(given.get("parts")) if isinstance(part, dict)]
        texts = filter(None, (_result_text(response), _text(more, between="\n\n")))
        is_error = isinstance(response, dict) and set(response) == {"error"}
        return ToolTurn(call_id=id, name=name, content="\n\n".join(texts), is_error=is_error)


def _result_text(response: Any) -> str:
    """Return a result as text: its single standard field, or everything as JSON."""
    if isinstance(response, dict) and len(response) == 1:
        [(name, value)] = response.items()
        if name in RESULT_FIELDS and isinstance(value, str):
            return value
    return "" if response is None else json.dumps(response, ensure_ascii=False)


def _text(parts: Iterable[JsonObject], between: str = "") -> str:
    """Return the text of parts, joined by `between`; no thoughts or calls, other parts by type."""
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


def _is_mute(body: JsonObject) -> bool:
    """Whether the model must not call any tool."""
    config = field_of(body, "toolConfig")
    calling = field_of(config, "functionCallingConfig") if isinstance(config, dict) else None
    return isinstance(calling, dict) and calling.get("mode") == "NONE"


def _tools(tools: list[Any]) -> Iterator[ToolSchema]:
    """Yield the agent's own tools; tools that the service itself would run are left out."""
    for tool in tools:
        functions = field_of(tool, "functionDeclarations") if isinstance(tool, dict) else None
        for function in _listed(functions):
            if isinstance(function, dict):
                schema = _schema(function, "parametersJsonSchema", "parameters")
                yield tool_schema(function, schema or NO_PARAMETERS)


def _schema(value: JsonObject, as_json: str, as_openapi: str) -> JsonObject | None:
    """Return the JSON Schema in field `as_json` or, converted, in `as_openapi`; None if neither."""
    found = field_of(value, as_json)
    if isinstance(found, dict):
        return found
    found = field_of(value, as_openapi)
    return _json_schema(found) if isinstance(found, dict) else None


def _json_schema(schema: JsonObject, depth: int = 0) -> JsonObject:
    """Return the JSON Schema of a Google Schema: OpenAPI with its types in capitals."""
    if depth > DEEPEST:
        raise InvalidInput(f"a schema has more than {DEEPEST} levels")
    made: JsonObject = {}
    is_nullable = schema.get("nullable") is True
    for key, value in schema.items():
        name = re.sub("_([a-z])", lambda found: found[1].upper(), key)
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
    """Whether `value` is a whole number that this format writes as text in field `name`."""
    return name in COUNTS and isinstance(value, str) and value.isascii() and value.isdecimal()
