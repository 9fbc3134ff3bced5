"""The fake's side of the OpenAI Chat Completions wire format: request, answer and errors."""

import json
from collections.abc import Iterator
from typing import Any

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, Usage, UserTurn
from tests.fakes.replies import Reply, SeenRequest
from tests.fakes.wire_anthropic import BadBody, Sse

JsonObject = dict[str, Any]
FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def read(body: JsonObject) -> SeenRequest:
    """Return the request in canonical terms; refuse requests that the real API refuses."""
    system: list[str] = []
    turns: list[Turn] = []
    names: dict[str, str] = {}
    open_calls: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                raise BadBody(f"tool_call_id {message['tool_call_id']} answers no call")
            open_calls.remove(message["tool_call_id"])
            id = message["tool_call_id"]
            parts = message["content"] if isinstance(message["content"], list) else []
            if any(part["type"] != "text" for part in parts):
                raise BadBody("Invalid 'messages[].content': a tool message has only text")
            turns.append(ToolTurn(call_id=id, name=names[id], content=_text(message["content"])))
            continue
        if open_calls:
            raise BadBody(f"tool_call_ids did not have response messages: {open_calls}")
        if role in ("system", "developer"):
            system.append(_text(message["content"]))
        elif role == "user":
            turns.append(UserTurn(content=_text(message["content"])))
        else:
            turn = _assistant(message)
            open_calls = [c.id for c in turn.tool_calls]
            names |= {c.id: c.name for c in turn.tool_calls}
            turns.append(turn)
    if open_calls:
        raise BadBody(f"tool_call_ids did not have response messages: {open_calls}")
    return SeenRequest(
        api="openai",
        model=body["model"],
        system="\n\n".join(system),
        turns=tuple(turns),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools", ())),
        body=body,
    )


def _text(content: str | list[JsonObject]) -> str:
    """Return the text of a content, also of a content in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] != "image_url")


def _assistant(message: JsonObject) -> AssistantTurn:
    made = message.get("tool_calls") or ()
    if message.get("content") is None and not made:
        raise BadBody("an assistant message needs content or tool_calls")
    return AssistantTurn(
        text=_text(message["content"]) if message.get("content") else None,
        tool_calls=tuple(
            ToolCall(
                id=one["id"],
                name=one["function"]["name"],
                arguments=json.loads(one["function"]["arguments"]),
            )
            for one in made
        ),
    )


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }


def whole(reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str]) -> JsonObject:
    """Return the answer to a request without streaming."""
    message: JsonObject = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": c.name, "arguments": c.json}}
            for c, id in zip(reply.calls, ids, strict=True)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return _chunk(seen, "chat.completion", [choice]) | {"usage": _usage(usage)}


def _finish(reply: Reply) -> str:
    return FINISH.get(reply.stop(), "content_filter")


def _chunk(seen: SeenRequest, kind: str, choices: list[JsonObject]) -> JsonObject:
    return {
        "id": f"chatcmpl-{seen.number}",
        "object": kind,
        "created": 1_700_000_000,
        "model": seen.model,
        "choices": choices,
    }


def events(
    reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str], pieces: list[str]
) -> Iterator[Sse]:
    """Yield the answer as server-sent events (no names; the last one is `[DONE]`)."""

    def delta(finish: str | None = None, **fields: Any) -> Sse:
        choice = {"index": 0, "delta": fields, "finish_reason": finish}
        return None, _chunk(seen, "chat.completion.chunk", [choice])

    yield delta(role="assistant", content=None)
    if reply.thinking:
        yield delta(reasoning_content=reply.thinking)
    for piece in pieces:
        yield delta(content=piece)
    for index, (made, id) in enumerate(zip(reply.calls, ids, strict=True)):
        half = len(made.json) // 2
        head = {"name": made.name, "arguments": ""}
        yield delta(tool_calls=[{"index": index, "id": id, "type": "function", "function": head}])
        for part in (made.json[:half], made.json[half:]):
            yield delta(tool_calls=[{"index": index, "function": {"arguments": part}}])
    yield delta(finish=_finish(reply))
    wants_count = seen.body.get("stream_options", {}).get("include_usage")
    if wants_count and reply.is_counted:
        yield None, _chunk(seen, "chat.completion.chunk", []) | {"usage": _usage(usage)}
    yield None, "[DONE]"


def error(status: int, kind: str, message: str) -> JsonObject:
    """Return the body of an error, with the code that the API uses for this status."""
    codes = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error" if status < 500 else "server_error",
            "param": None,
            "code": codes.get(status, kind),
        }
    }
