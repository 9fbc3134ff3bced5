"""Requests of OpenAI's Chat Completions, encoded and parsed. Pure."""

import json
from collections.abc import Iterator
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
from agiraph.llm.structured import SCHEMA_NAME, is_closed
from agiraph.llm.wire.chat_rules import ChatRules
from agiraph.llm.wire.format import (
    messages_in,
    parsed_request,
    schema_in,
    system_text,
    text_of,
    tool_schema,
    tools_in,
)
from agiraph.llm.wire.pictures import PictureEncoder, label_of, url_parts
from agiraph.llm.wire.transcript import head_of, read_call, short_id, spoken, tail_of, wire_name
from agiraph.models.registry import ModelTraits

API = "openai"
EXTRA = "extra_content"
"""The field of a call beside its function that is sent back: Gemini's thought signature."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
RULES = ChatRules()
SYSTEM_ROLES = ("system", "developer")
NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


# --- encoding ------------------------------------------------------------------------------------


def encode_request(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {traits.max_tokens_field: request.max_tokens}
    if request.temperature is not None:
        tail["temperature"] = request.temperature
    if traits.effort is not None:
        tail["reasoning_effort"] = traits.effort
    if (schema := request.response_schema) is not None:
        about = {"name": SCHEMA_NAME, "schema": schema, "strict": is_closed(schema)}
        tail["response_format"] = {"type": "json_schema", "json_schema": about}
    head = body_cache.head(request, lambda: head_of(_head(request, model), traits.extra))
    messages = _messages(request, traits, body_cache)
    return body_with(head, messages, tail_of(tail, traits.extra))


def _head(request: ModelRequest, model: str) -> JsonObject:
    head: JsonObject = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        head["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    return head


def _messages(request: ModelRequest, traits: ModelTraits, body_cache: RequestBodyCache) -> bytes:
    """Return the system text and the turns as messages, adjacent user messages joined.

    Templates of some local models refuse two user messages in a row. All messages up to the last
    answer are final: later ones may still grow. If marked, the system text and the last message
    carry a cache mark, which some services pass on to models that need it.
    """
    is_marked = traits.cache == "marks"
    model = request.model if traits.reasoning == "kept" else ""
    start, known = body_cache.beginning(request)
    messages: list[JsonObject] = []
    final = final_turns = 0
    if request.system.strip() and not start:
        system = {"role": "system", "content": request.system}
        messages.append(_marked(system) if is_marked else system)
    encoder = PictureEncoder(request, traits)
    texts: list[str | JsonObject] = []
    for count, turn in enumerate(request.turns[start:], start + 1):
        match turn:
            case UserTurn():
                text = encoder.text(turn)
                texts += [text] if text.strip() else []
                texts += url_parts(encoder.encoded(turn))
            case ToolTurn():
                id, text = short_id(turn.call_id), encoder.text(turn)
                messages.append({"role": "tool", "tool_call_id": id, "content": text})
                if shown := encoder.encoded(turn):  # the API refuses pictures in these messages
                    texts += [label_of(turn), *url_parts(shown)]
            case AssistantTurn() if (answer := _answer(turn, model)) is not None:
                messages += [*_user_message(texts), answer]
                texts, final, final_turns = [], len(messages), count
    messages += _user_message(texts)
    if is_marked and len(messages) > final:
        messages[-1] = _marked(messages[-1])
    return body_cache.joined(request, known, list(map(as_json, messages)), final, final_turns)


def _marked(message: JsonObject) -> JsonObject:
    text = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
    is_text = isinstance(message["content"], str) and message["content"]
    return message | {"content": [text]} if is_text else message


def _user_message(texts: list[str | JsonObject]) -> list[JsonObject]:
    """Return the message of these texts and pictures; a list of parts only if it has pictures."""
    if not texts:
        return []
    plain = [one for one in texts if isinstance(one, str)]
    if len(plain) == len(texts):
        return [{"role": "user", "content": "\n\n".join(plain)}]
    parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in texts]
    return [{"role": "user", "content": parts}]


def _answer(turn: AssistantTurn, model: str) -> JsonObject | None:
    text = spoken(turn)
    if not text and not turn.tool_calls:
        return None
    message: JsonObject = {"role": "assistant", "content": text or None}
    data = turn.provider_data or {}
    if data.get("api") != API or data.get("model") != model:
        data = {}
    if turn.tool_calls:
        message["tool_calls"] = [
            function_call(
                short_id(call.id),
                wire_name(call.name),
                json.dumps(call.arguments, ensure_ascii=False),
            )
            for call in turn.tool_calls
        ]
        extras = data.get(EXTRA) or ()
        if len(extras) == len(turn.tool_calls):  # otherwise some calls were left out since
            for made, extra in zip(message["tool_calls"], extras, strict=True):
                made |= {EXTRA: extra} if extra else {}
    return message | _reasoning(data)


def function_call(id: str, name: str, arguments: str) -> JsonObject:
    """Return a call in the form of messages."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _reasoning(data: JsonObject) -> JsonObject:
    """Return the fields of an answer's reasoning, in the form of the service that made it.

    Services that stream their reasoning expect it back; other services receive none.
    """
    if data.get("details"):
        return {"reasoning_details": data["details"]}
    text = data.get("reasoning")
    return {} if text is None else {data.get("field", REASONING_FIELDS[0]): text}


# --- parsing -------------------------------------------------------------------------------------


def parse_request(body: JsonObject) -> ModelRequest:
    """Return the request of a body. Raises InvalidInput, which describes its problem."""
    messages = messages_in(body)
    tools = tools_in(body)
    return parsed_request(
        body,
        system=system_text(
            *(
                m.get("content")
                for m in messages
                if isinstance(m, dict) and m.get("role") in SYSTEM_ROLES
            )
        ),
        turns=list(_turns(messages)),
        max_tokens=RULES.limit(body),
        tools=() if body.get("tool_choice") == "none" else tuple(_tools(tools)),
        temperature=body.get("temperature"),
        response_schema=schema_in(body, "response_format", "json_schema", "schema"),
    )


def _turns(messages: list[Any]) -> Iterator[Turn]:
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        match message:
            case {"role": "system" | "developer"}:
                continue
            case {"role": "user", "content": content}:
                yield UserTurn(content=text_of(content))
            case {"role": "assistant"}:
                made = message.get("tool_calls")
                calls = tuple(map(_call, made)) if isinstance(made, list) else ()
                names |= {call.id: call.name for call in calls}
                text = text_of(message.get("content")) or None
                yield AssistantTurn(text=text, tool_calls=calls)
            case {"role": "tool", "tool_call_id": str(id)}:
                content = text_of(message.get("content"))
                yield ToolTurn(call_id=id, name=names.get(id, "unknown"), content=content)
            case _:
                raise InvalidInput(
                    f"messages.{number}: expected a role (system, user, assistant, tool) "
                    "and what belongs to it"
                )


def _call(call: Any) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise InvalidInput("tool_calls: expected calls of functions")
    id, name = str(call.get("id", "")), str(function.get("name", ""))
    return read_call(id, name, function.get("arguments"))


def _tools(tools: list[Any]) -> Iterator[ToolSchema]:
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict):
            yield tool_schema(function, function.get("parameters") or NO_PARAMETERS)
