"""Requests of Anthropic's Messages API, encoded and parsed. Pure.

Cache marks are on the last tool, on the system text and at the end of the last two user messages,
so the next call of a long loop reads all but its newest turns from the cache.

With a budget for thinking (`thinking: {type: enabled}`) the API accepts a chain of calls only if
the first of its answers begins with its thinking. If that is missing (another model made the call)
the call is described as text. A model with adaptive thinking does not require it.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Literal

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
    calls_in_words,
    result_in_words,
)
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.wire.anthropic_rules import AnthropicRules
from agiraph.llm.wire.format import (
    messages_in,
    parsed_request,
    schema_in,
    system_text,
    text_of,
    tool_schema,
    tools_in,
)
from agiraph.llm.wire.pictures import PictureEncoder
from agiraph.llm.wire.transcript import GO_ON, head_of, laid_out, tail_of, wire_id, wire_name
from agiraph.models.registry import ModelTraits

API = "anthropic"
RULES = AnthropicRules()
THINKING = ("thinking", "redacted_thinking")
CACHE_MARK = {"type": "ephemeral"}
MARKED = b',"cache_control":%b}' % as_json(CACHE_MARK)
_GO_ON = as_json({"type": "text", "text": GO_ON})


# --- encoding ------------------------------------------------------------------------------------


def encode_request(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {"max_tokens": request.max_tokens}
    thinks = traits.effort is not None or "thinking" in traits.extra
    if request.temperature is not None and not thinks:  # with thinking the API accepts only 1
        tail["temperature"] = request.temperature
    output: JsonObject = {}
    if traits.effort is not None:
        tail["thinking"] = {"type": "adaptive"}
        output["effort"] = traits.effort
    if request.response_schema is not None:
        output["format"] = {"type": "json_schema", "schema": request.response_schema}
    if output:
        tail["output_config"] = output
    is_marked = traits.cache == "marks"
    head = body_cache.head(
        request, lambda: head_of(_head(request, model, is_marked=is_marked), traits.extra)
    )
    as_text = _without_thinking(request) if _must_think(traits) else frozenset[int]()
    encoder = PictureEncoder(request, traits)
    messages = _messages(encoder, body_cache, as_text, is_marked=is_marked)
    return body_with(head, messages, tail_of(tail, traits.extra))


def _head(request: ModelRequest, model: str, *, is_marked: bool) -> JsonObject:
    head: JsonObject = {"model": model, "stream": True}
    mark = {"cache_control": CACHE_MARK} if is_marked else {}
    if request.tools:
        head["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": t.parameters}
            for t in request.tools
        ]
        head["tools"][-1] |= mark
    if request.system.strip():
        head["system"] = [{"type": "text", "text": request.system} | mark]
    return head


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of the request: its blocks as JSON, and how many turns it and those before have."""

    role: Literal["user", "assistant"]
    blocks: bytes
    turns: int

    def as_json(self, *, is_marked: bool) -> bytes:
        content = self.blocks[:-1] + MARKED if is_marked else self.blocks
        return b'{"role":"%b","content":[%b]}' % (self.role.encode(), content)


def _must_think(traits: ModelTraits) -> bool:
    """Whether the API requires thinking at the beginning of each chain of calls."""
    thinking = traits.extra.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def _without_thinking(request: ModelRequest) -> frozenset[int]:
    """Return the indices of turns whose calls and results must be described as text."""
    places: set[int] = set()
    is_in_chain = is_text = False
    for place, turn in enumerate(request.turns):
        if isinstance(turn, AssistantTurn):
            blocks = _answer(turn, request.model) if turn.tool_calls and not is_in_chain else []
            is_text = bool(blocks) and blocks[0]["type"] not in THINKING
            is_in_chain = bool(turn.tool_calls) and not is_text
        if is_text and not isinstance(turn, UserTurn):
            places.add(place)
    return frozenset(places)


def _messages(
    encoder: PictureEncoder,
    body_cache: RequestBodyCache,
    as_text: Container[int],
    *,
    is_marked: bool,
) -> bytes:
    """Return the turns as messages that begin and end with the user's and are never empty.

    The last two user messages are marked, so they are not final; earlier messages are.
    """
    request = encoder.request
    start, known = body_cache.beginning(request)
    messages = _gathered(encoder, start, as_text)
    # Two marks: the cache is looked up only 20 blocks back, and one turn may add more than that.
    marked = [number for number, message in enumerate(messages) if message.role == "user"][-2:]
    encoded = [
        m.as_json(is_marked=is_marked and number in marked) for number, m in enumerate(messages)
    ]
    final = marked[0] if len(marked) == 2 else 0
    return body_cache.joined(request, known, encoded, final, messages[final - 1].turns)


def _gathered(encoder: PictureEncoder, start: int, as_text: Container[int]) -> list[_Message]:
    """Return the messages of the turns from `start` on, adjacent user messages joined.

    The turns at the places in `as_text` are described as text.
    """
    turns = encoder.request.turns
    messages: list[_Message] = []
    results: list[bytes] = []
    texts: list[bytes] = []
    for count, turn in enumerate(turns[start:], start + 1):
        if count - 1 in as_text:
            texts += map(as_json, _in_words(turn, encoder))
            continue
        blocks = list(map(as_json, _blocks(turn, encoder)))
        if not isinstance(turn, AssistantTurn):
            (results if isinstance(turn, ToolTurn) else texts).extend(blocks)
            continue
        results, texts = [*results, *texts], []
        if not blocks:
            continue
        if results or not (start or messages):
            messages.append(_Message("user", b",".join(results or [_GO_ON]), count - 1))
        messages.append(_Message("assistant", b",".join(blocks), count))
        results = []
    if results or texts or not messages or messages[-1].role != "user":
        last = [*results, *texts] or [_GO_ON]
        messages.append(_Message("user", b",".join(last), len(turns)))
    return messages


def _in_words(turn: Turn, encoder: PictureEncoder) -> list[JsonObject]:
    match turn:
        case AssistantTurn():
            return [_text_block(calls_in_words(turn))]
        case ToolTurn():
            said = turn.model_copy(update={"content": encoder.text(turn)})
            return [_text_block(result_in_words(said)), *_images(turn, encoder)]
        case UserTurn():
            return _shown(turn, encoder)


def _blocks(turn: Turn, encoder: PictureEncoder) -> list[JsonObject]:
    match turn:
        case UserTurn():
            return _shown(turn, encoder)
        case ToolTurn():
            block: JsonObject = {"type": "tool_result", "tool_use_id": wire_id(turn.call_id)}
            has_images = bool(_images(turn, encoder))
            block["content"] = _shown(turn, encoder) if has_images else encoder.text(turn)
            return [block | {"is_error": True} if turn.is_error else block]
        case AssistantTurn():
            return _answer(turn, encoder.request.model)


def _shown(turn: UserTurn | ToolTurn, encoder: PictureEncoder) -> list[JsonObject]:
    """Return the text and the pictures of a turn."""
    text = encoder.text(turn)
    return [*([_text_block(text)] if text.strip() else []), *_images(turn, encoder)]


def _text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _images(turn: UserTurn | ToolTurn, encoder: PictureEncoder) -> list[JsonObject]:
    return [
        {"type": "image", "source": {"type": "base64", "media_type": p.media_type, "data": p.data}}
        for p in encoder.encoded(turn)
    ]


def _answer(turn: AssistantTurn, model: str) -> list[JsonObject]:
    data = turn.provider_data or {}
    blocks: list[JsonObject] = []
    is_own = data.get("api") == API and data.get("model", model) == model
    if is_own and not turn.interrupted:
        blocks.extend(data.get("thinking", ()))
    for part in laid_out(turn, API, model):
        if "raw" in part:
            blocks.append(part["raw"])
        elif "text" in part:
            blocks += [{"type": "text", "text": part["text"]}] if part["text"].strip() else []
        else:
            call = turn.tool_calls[part["call"]]
            blocks.append(tool_use(wire_id(call.id), wire_name(call.name), call.arguments))
    # Thinking alone is refused: an answer without other blocks is left out.
    return blocks if any(block["type"] in ("text", "tool_use") for block in blocks) else []


def tool_use(id: str, name: str, arguments: JsonObject) -> JsonObject:
    """Return the block of a call."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


# --- parsing -------------------------------------------------------------------------------------


def parse_request(body: JsonObject) -> ModelRequest:
    """Return the request of a body. Raises InvalidInput, which describes its problem."""
    messages = messages_in(body)
    choice = body.get("tool_choice")
    is_mute = isinstance(choice, dict) and choice.get("type") == "none"
    tools = tools_in(body)
    return parsed_request(
        body,
        # Some clients put system text among the messages.
        system=system_text(
            body.get("system"),
            *(m.get("content") for m in messages if _role_of(m) == "system"),
        ),
        turns=list(_turns(messages)),
        max_tokens=RULES.limit(body),
        tools=() if is_mute else tuple(_tools(tools)),
        temperature=body.get("temperature"),
        response_schema=schema_in(body, "output_config", "format", "schema"),
    )


def _role_of(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _turns(messages: list[Any]) -> Iterator[Turn]:
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        role = _role_of(message)
        if role not in ("user", "assistant", "system"):
            raise InvalidInput(f"messages.{number}.role: expected user or assistant")
        blocks = _content(message.get("content"), number)
        if role == "assistant":
            turn = _assistant(blocks)
            names |= {call.id: call.name for call in turn.tool_calls}
            yield turn
        elif role == "user":
            yield from _user(blocks, names)


def _content(content: Any, number: int) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return content
    raise InvalidInput(f"messages.{number}.content: expected text or a list of blocks")


def _assistant(blocks: list[JsonObject]) -> AssistantTurn:
    thinking = [block for block in blocks if block.get("type") in THINKING]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return AssistantTurn(
        text="".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text") or None,
        tool_calls=tuple(
            ToolCall(
                id=str(block.get("id", "")),
                name=str(block.get("name", "")),
                arguments=block["input"] if isinstance(block.get("input"), dict) else {},
            )
            for block in calls
        ),
        provider_data={"api": API, "thinking": thinking} if thinking else None,
    )


def _user(blocks: list[JsonObject], names: dict[str, str]) -> Iterator[Turn]:
    for block in blocks:
        if block.get("type") == "tool_result":
            id = str(block.get("tool_use_id", ""))
            yield ToolTurn(
                call_id=id,
                name=names.get(id, "unknown"),
                content=text_of(block.get("content")),
                is_error=bool(block.get("is_error")),
            )
    texts = [block for block in blocks if block.get("type") != "tool_result"]
    if texts:
        yield UserTurn(content=text_of(texts))


def _tools(tools: list[Any]) -> Iterator[ToolSchema]:
    """Yield the agent's own tools; tools that the service itself would run are left out."""
    for tool in tools:
        if isinstance(tool, dict) and isinstance(tool.get("input_schema"), dict):
            yield tool_schema(tool, tool["input_schema"])
