"""The fake's side of the Anthropic Messages wire format: requests in, answers and errors out."""

import json
from collections.abc import Iterator
from typing import Any

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, Usage, UserTurn
from tests.fakes.replies import Reply, SeenRequest

JsonObject = dict[str, Any]
Sse = tuple[str | None, JsonObject | str]

SIGNATURE = "sig"
THINKING = ("thinking", "redacted_thinking")


class BadBody(ValueError):
    """The request breaks a rule of the real API; the server answers 400 with this text."""


def read(body: JsonObject) -> SeenRequest:
    """Return the request in canonical terms; refuse requests that the real API refuses."""
    names: dict[str, str] = {}
    turns: list[Turn] = []
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not blocks:
            raise BadBody("messages: content must not be empty")
        if message["role"] == "assistant":
            turn = _assistant(blocks)
            open_calls = {c.id for c in turn.tool_calls}
            names |= {c.id: c.name for c in turn.tool_calls}
            turns.append(turn)
            continue
        given = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if given != open_calls:
            raise BadBody(f"tool_use ids {sorted(open_calls)} answered by {sorted(given)}")
        open_calls = set()
        turns.extend(_user(blocks, names))
    _check_thinking(body)
    if open_calls:
        raise BadBody(f"tool_use ids without tool_result: {sorted(open_calls)}")
    if not turns or body["messages"][0]["role"] != "user":
        raise BadBody("messages: first message must use the user role")
    return SeenRequest(
        api="anthropic",
        model=body["model"],
        system=_text(body.get("system", "")),
        turns=tuple(turns),
        tools=tuple(tool["name"] for tool in body.get("tools", ())),
        body=body,
    )


def _check_thinking(body: JsonObject) -> None:
    """Refuse changed thinking and, if thinking has a budget, calls without their thinking.

    A chain of calls and results is one turn of the model; texts beside the results do not end it.
    """
    must_think = (body.get("thinking") or {}).get("type") == "enabled"
    is_in_chain = False
    for number, message in enumerate(body["messages"]):
        blocks = message["content"]
        if isinstance(blocks, str) or message["role"] != "assistant":
            continue
        for block in blocks:
            if block["type"] == "thinking" and block.get("signature") != SIGNATURE:
                raise BadBody(f"messages.{number}: Invalid `signature` in `thinking` block")
        has_calls = any(block["type"] == "tool_use" for block in blocks)
        first = blocks[0]["type"]
        if must_think and has_calls and not is_in_chain and first not in THINKING:
            raise BadBody(
                f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, "
                f"but found `{first}`. When `thinking` is enabled, a final `assistant` message "
                "must start with a thinking block (preceding the lastmost set of `tool_use` and "
                "`tool_result` blocks)."
            )
        is_in_chain = has_calls


def _assistant(blocks: list[JsonObject]) -> AssistantTurn:
    text = _text([block for block in blocks if block["type"] == "text"])
    uses = [block for block in blocks if block["type"] == "tool_use"]
    made = tuple(ToolCall(id=u["id"], name=u["name"], arguments=u["input"]) for u in uses)
    return AssistantTurn(text=text or None, tool_calls=made)


def _user(blocks: list[JsonObject], names: dict[str, str]) -> Iterator[Turn]:
    for block in blocks:
        if block["type"] == "tool_result":
            yield ToolTurn(
                call_id=block["tool_use_id"],
                name=names[block["tool_use_id"]],
                content=_text(block["content"]),
                is_error=block.get("is_error", False),
            )
        elif block["type"] != "image":
            if not block["text"].strip():
                raise BadBody("messages: text content blocks must contain non-whitespace text")
            yield UserTurn(content=block["text"])


def _text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] != "image")


def _usage(usage: Usage) -> JsonObject:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": usage.input_tokens - cached,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    }


def whole(reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str]) -> JsonObject:
    """Return the answer to a request without streaming."""
    content: list[JsonObject] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for made, id in zip(reply.calls, ids, strict=True):
        content.append(
            {"type": "tool_use", "id": id, "name": made.name, "input": json.loads(made.json)}
        )
    return _message(seen, usage) | {"content": content, "stop_reason": reply.stop()}


def _message(seen: SeenRequest, usage: Usage) -> JsonObject:
    return {
        "id": f"msg_{seen.number}",
        "type": "message",
        "role": "assistant",
        "model": seen.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def events(
    reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str], pieces: list[str]
) -> Iterator[Sse]:
    """Yield the answer as server-sent events (name, data)."""
    start = _message(seen, usage.model_copy(update={"output_tokens": 1}))
    yield _event("message_start", message=start)
    yield _event("ping")
    index = 0
    if reply.thinking:
        yield from _block(
            index,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": reply.thinking},
            {"type": "signature_delta", "signature": SIGNATURE},
        )
        index += 1
    if pieces:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        yield from _block(index, {"type": "text", "text": ""}, *deltas)
        index += 1
    for made, id in zip(reply.calls, ids, strict=True):
        half = len(made.json) // 2
        yield from _block(
            index,
            {"type": "tool_use", "id": id, "name": made.name, "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": made.json[:half]},
            {"type": "input_json_delta", "partial_json": made.json[half:]},
        )
        index += 1
    yield _event(
        "message_delta",
        delta={"stop_reason": reply.stop(), "stop_sequence": None},
        usage={"output_tokens": usage.output_tokens},
    )
    yield _event("message_stop")


def _block(index: int, start: JsonObject, *deltas: JsonObject) -> Iterator[Sse]:
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(type: str, **data: Any) -> Sse:
    return type, {"type": type, **data}


def error(status: int, kind: str, message: str) -> JsonObject:
    """Return the body of an error, with the type that the API uses for this status."""
    by_status = {
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    return {
        "type": "error",
        "error": {"type": by_status.get(status, kind), "message": message},
        "request_id": "req_fake",
    }
