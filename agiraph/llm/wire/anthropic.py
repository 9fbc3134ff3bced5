"""The Anthropic Messages wire format: a request's body, and the answer put together from a stream.

Pure. Cache marks stand on the last tool, on the system text and at the end of the last two user
messages, so the next call of a long loop reads all but its newest turns from the cache.

With a budget for thinking (`thinking: {type: enabled}`) the API takes a chain of calls only if the
first of its answers begins with its thinking. Where that is gone (another model made the call) the
call is told in words. A model that thinks as it sees fit needs none.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Literal

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
    calls_in_words,
    result_in_words,
)
from agiraph.llm.base import PartialUsage, ProviderError
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.wire.transcript import (
    GO_ON,
    Layout,
    head_of,
    laid_out,
    read_call,
    tail_of,
    unique_calls,
    wire_id,
    wire_name,
)

JsonObject = dict[str, Any]

API = "anthropic"
THINKING = ("thinking", "redacted_thinking")
STREAMED = ("text", "thinking", "partial_json", "data", "name")
CACHE_MARK = {"type": "ephemeral"}
MARKED = b',"cache_control":%b}' % as_json(CACHE_MARK)
_GO_ON = as_json({"type": "text", "text": GO_ON})
STOP_REASONS: dict[str, StopReason] = {
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


def body_of(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {"max_tokens": request.max_tokens}
    thinks = traits.effort is not None or "thinking" in traits.extra
    if request.temperature is not None and not thinks:  # the API takes no other than 1 with it
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
    told = _without_thinking(request) if must_think(traits) else frozenset[int]()
    messages = _messages(request, body_cache, told, is_marked=is_marked)
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
    """A message: its blocks as JSON, and how many turns the conversation has up to its end."""

    role: Literal["user", "assistant"]
    blocks: bytes
    turns: int

    def as_json(self, *, is_marked: bool) -> bytes:
        content = self.blocks[:-1] + MARKED if is_marked else self.blocks
        return b'{"role":"%b","content":[%b]}' % (self.role.encode(), content)


def must_think(traits: ModelTraits) -> bool:
    """Whether the API wants thinking at the beginning of each chain of calls."""
    thinking = traits.extra.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def _without_thinking(request: ModelRequest) -> frozenset[int]:
    """Return the places of the calls, and of their results, that have to be told in words."""
    told: set[int] = set()
    is_in_chain = is_told = False
    for place, turn in enumerate(request.turns):
        if isinstance(turn, AssistantTurn):
            blocks = _answer(turn, request.model) if turn.tool_calls and not is_in_chain else []
            is_told = bool(blocks) and blocks[0]["type"] not in THINKING
            is_in_chain = bool(turn.tool_calls) and not is_told
        if is_told and not isinstance(turn, UserTurn):
            told.add(place)
    return frozenset(told)


def _messages(
    request: ModelRequest, body_cache: RequestBodyCache, told: Container[int], *, is_marked: bool
) -> bytes:
    """Return the turns as messages that begin and end with the user's and never are empty.

    The last two of the user's are marked, so they are not final; those before them are.
    """
    start, known = body_cache.beginning(request)
    messages = _gathered(request, start, told)
    # Two marks: the cache is looked up only 20 blocks back, and one turn may add more than that.
    marked = [number for number, message in enumerate(messages) if message.role == "user"][-2:]
    encoded = [
        m.as_json(is_marked=is_marked and number in marked) for number, m in enumerate(messages)
    ]
    final = marked[0] if len(marked) == 2 else 0
    return body_cache.joined(request, known, encoded, final, messages[final - 1].turns)


def _gathered(request: ModelRequest, start: int, told: Container[int]) -> list[_Message]:
    """Return the messages of the turns from `start` on, the user's neighbours made one.

    The turns at the places in `told` are told in words.
    """
    turns = request.turns
    messages: list[_Message] = []
    results: list[bytes] = []
    texts: list[bytes] = []
    for count, turn in enumerate(turns[start:], start + 1):
        if count - 1 in told:
            texts.append(as_json({"type": "text", "text": _in_words(turn)}))
            continue
        blocks = list(map(as_json, _blocks(turn, request.model)))
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


def _in_words(turn: Turn) -> str:
    match turn:
        case AssistantTurn():
            return calls_in_words(turn)
        case ToolTurn():
            return result_in_words(turn)
        case UserTurn():
            return turn.content


def _blocks(turn: Turn, model: str) -> list[JsonObject]:
    match turn:
        case UserTurn():
            return [{"type": "text", "text": turn.content}] if turn.content.strip() else []
        case ToolTurn():
            return [_result(turn)]
        case AssistantTurn():
            return _answer(turn, model)


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
            blocks.append(_use(turn.tool_calls[part["call"]]))
    # Thinking alone is refused: an answer that came to nothing else is left out.
    return blocks if any(block["type"] in ("text", "tool_use") for block in blocks) else []


def _use(call: ToolCall) -> JsonObject:
    use = {"type": "tool_use", "id": wire_id(call.id), "name": wire_name(call.name)}
    return use | {"input": call.arguments}


def _result(turn: ToolTurn) -> JsonObject:
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": wire_id(turn.call_id),
        "content": turn.content,
    }
    return block | {"is_error": True} if turn.is_error else block


class AnthropicAnswer:
    """An answer as it comes in: feed it the stream's events, then ask for the response."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._blocks: dict[int, JsonObject] = {}
        self._usage: JsonObject = {}
        self._stop: str | None = None
        self._characters = 0
        self._is_whole = False

    def feed(self, event: JsonObject) -> str:
        """Take one event; return the text that it brought, "" if none."""
        match event.get("type"):
            case "message_start":
                self._usage |= _counts(event["message"].get("usage"))
            case "content_block_start":
                block = event["content_block"]
                self._blocks[event["index"]] = {**block, "json": ""}
                self._characters += sum(len(block.get(key) or "") for key in STREAMED)
                return self._text(block)
            case "content_block_delta":
                return self._grow(self._blocks[event["index"]], event["delta"])
            case "message_delta":
                self._stop = event["delta"].get("stop_reason")
                self._usage |= _counts(event.get("usage"))
            case "message_stop":
                self._is_whole = True
        return ""

    def _text(self, block: JsonObject) -> str:
        return str(block["text"]) if block["type"] == "text" else ""

    def _grow(self, block: JsonObject, delta: JsonObject) -> str:
        self._characters += sum(len(delta.get(key) or "") for key in STREAMED)
        match delta.get("type"):
            case "text_delta":
                block["text"] += delta["text"]
                return str(delta["text"])
            case "input_json_delta":
                block["json"] += delta["partial_json"]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
        return ""

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        if not self._is_whole:
            raise ProviderError("unreachable", "the answer broke off before its end")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
        stop = STOP_REASONS.get(self._stop or "", "end_turn")
        return ModelResponse(
            text="".join(block["text"] for block in blocks if block["type"] == "text") or None,
            tool_calls=unique_calls(calls, request),
            stop_reason=stop,
            usage=self.usage(),
            model=request.model,
            provider_data=_kept(blocks, request.model),
        )

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now; the input is counted at its beginning."""
        return PartialUsage(
            self.usage(),
            self._characters,
            has_begun=bool(self._usage),
            is_counted=self._stop is not None,
        )

    def usage(self) -> Usage:
        """Return the tokens counted so far; the API counts cached input apart, Agiraph within."""
        read = self._usage.get("cache_read_input_tokens", 0)
        write = self._usage.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=self._usage.get("input_tokens", 0) + read + write,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=write,
        )


def _counts(usage: object) -> JsonObject:
    """Return the counts of a usage object; later ones replace earlier ones, nulls do not."""
    return {k: v for k, v in usage.items() if type(v) is int} if isinstance(usage, dict) else {}


def _call(block: JsonObject) -> ToolCall:
    if block["json"]:
        return read_call(block["id"], block["name"], block["json"])
    given = block.get("input")
    return ToolCall(id=block["id"], name=block["name"], arguments=given if given else {})


def _kept(blocks: list[JsonObject], model: str) -> JsonObject | None:
    """Return the thinking blocks, which the API wants back unchanged with the next request.

    If some of it stood between text and calls, it is kept where each of them stood.
    """
    raw = [{k: v for k, v in b.items() if k != "json"} for b in blocks]
    is_thought = [block["type"] in THINKING for block in raw]
    if not any(is_thought):
        return None
    kept: JsonObject = {"api": API, "model": model}
    count = sum(is_thought)
    if all(is_thought[:count]):
        return kept | {"thinking": raw[:count]}
    layout: Layout = []
    calls = 0
    for block in raw:
        if block["type"] in THINKING:
            layout.append({"raw": block})
        elif block["type"] == "text":
            layout.append({"text": block["text"]})
        elif block["type"] == "tool_use":
            layout.append({"call": calls})
            calls += 1
    return kept | {"layout": layout}
