"""The fake's side of the OpenAI Responses wire format: request, answer and errors.

It has the parts that the real SDK and Codex need: numbered events of a stream, reasoning items
whose encrypted content must come back unchanged, functions in name spaces, free-form tools.
"""

import json
from collections.abc import Iterator
from typing import Any

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, Usage, UserTurn
from tests.fakes import wire_openai
from tests.fakes.replies import Call, Reply, SeenRequest
from tests.fakes.wire_anthropic import BadBody, Sse

JsonObject = dict[str, Any]
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
OUTPUTS = {"function_call_output", "custom_tool_call_output"}
INCOMPLETE = {"max_tokens": "max_output_tokens"}
SEAL = "sealed:"
THOUGHT_ID = "fc_rs_"
"""The beginning of the id of a call after reasoning: the service knows both under it."""

error = wire_openai.error


def read(body: JsonObject) -> SeenRequest:
    """Return the request in canonical terms; refuse requests that the real API refuses."""
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [body["instructions"]] if body.get("instructions") else []
    turns: list[Turn] = []
    names: dict[str, str] = {}
    open_calls: list[str] = []
    answer: list[JsonObject] = []
    for item in items:
        kind = item.get("type", "message")
        if kind in OUTPUTS:
            id = item["call_id"]
            turns += _answered(answer, names, open_calls)
            if id not in open_calls:
                raise BadBody(f"No tool call found for function call output with call_id {id}.")
            open_calls.remove(id)
            turns.append(ToolTurn(call_id=id, name=names[id], content=_text(item["output"])))
        elif kind == "message" and item["role"] != "assistant":
            turns += _answered(answer, names, open_calls)
            if item["role"] in ("system", "developer"):
                system.append(_text(item["content"]))
            else:
                turns.append(UserTurn(content=_text(item["content"])))
        elif kind == "message" or kind == "reasoning" or kind in CALLS:
            answer.append(item)
    turns += _answered(answer, names, open_calls)
    if open_calls:
        raise BadBody(f"No tool output found for function call {open_calls[0]}.")
    return SeenRequest(
        api="responses",
        model=body["model"],
        system="\n\n".join(system),
        turns=tuple(turns),
        tools=tuple(_tool_names(body.get("tools") or [])),
        body=body,
    )


def _answered(
    items: list[JsonObject], names: dict[str, str], open_calls: list[str]
) -> list[AssistantTurn]:
    """Return the turn that these items of the model form, if any, and clear the items."""
    if not items:
        return []
    for item, following in zip(items, [*items[1:], None], strict=True):
        if item.get("type") == "reasoning":
            if not str(item.get("encrypted_content")).startswith(SEAL):
                raise BadBody(f"Item with id '{item.get('id')}' not found (store is false).")
            if following is None:
                raise BadBody("Item of type 'reasoning' without its required following item.")
    has_reasoning = any(item.get("type") == "reasoning" for item in items)
    for item in items:
        if str(item.get("id")).startswith(THOUGHT_ID) and not has_reasoning:
            raise BadBody(
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
                "'reasoning' item."
            )
    texts = [_text(item["content"]) for item in items if item.get("type", "message") == "message"]
    made = [_call(item) for item in items if item.get("type") in CALLS]
    items.clear()
    open_calls += [call.id for call in made]
    names |= {call.id: call.name for call in made}
    return [AssistantTurn(text="".join(texts) or None, tool_calls=tuple(made))]


def _call(item: JsonObject) -> ToolCall:
    text = item[CALLS[item["type"]]]
    arguments = json.loads(text) if item["type"] == "function_call" else {"input": text}
    return ToolCall(id=item["call_id"], name=item["name"], arguments=arguments)


def _text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def _tool_names(tools: list[JsonObject]) -> Iterator[str]:
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (f"{tool['name']}__{one['name']}" for one in tool["tools"])
        else:
            yield tool.get("name") or tool["type"]


def whole(reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str]) -> JsonObject:
    """Return the answer to a request without streaming."""
    return _response(reply, seen, usage, _items(reply, seen, ids))


def _items(reply: Reply, seen: SeenRequest, ids: list[str]) -> list[JsonObject]:
    items: list[JsonObject] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        items.append(
            {"type": "reasoning", "id": f"rs_{seen.number}", "summary": summary}
            | {"encrypted_content": SEAL + reply.thinking}
        )
    if reply.text:
        items.append(
            {"type": "message", "id": f"msg_{seen.number}", "role": "assistant"}
            | {"status": "completed", "content": [_part(reply, reply.text)]}
        )
    made = [_call_item(made, id, seen) for made, id in zip(reply.calls, ids, strict=True)]
    if reply.thinking:
        made = [item | {"id": f"{THOUGHT_ID}{item['call_id']}"} for item in made]
    return items + made


def _part(reply: Reply, text: str) -> JsonObject:
    if reply.stop() == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item(made: Call, id: str, seen: SeenRequest) -> JsonObject:
    """Return a call; for a tool of the type `custom` in the request, a free-form call."""
    tools = seen.body.get("tools") or ()
    is_custom = any(t["type"] == "custom" and t["name"] == made.name for t in tools)
    item: JsonObject = {"status": "completed", "call_id": id, "name": made.name}
    if is_custom:
        text = made.raw if made.raw is not None else str(made.arguments.get("input", ""))
        return {"type": "custom_tool_call", "id": f"ctc_{id}", "input": text} | item
    item |= {"namespace": made.namespace} if made.namespace else {}
    return {"type": "function_call", "id": f"fc_{id}", "arguments": made.json} | item


def _response(
    reply: Reply, seen: SeenRequest, usage: Usage | None, output: list[JsonObject]
) -> JsonObject:
    """Return the response object: with a usage its final form, without one its first form."""
    cause = INCOMPLETE.get(reply.stop()) if usage else None
    status = "in_progress" if usage is None else "incomplete" if cause else "completed"
    return {
        "id": f"resp_{seen.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": cause} if cause else None,
        "instructions": None,
        "metadata": {},
        "model": seen.model,
        "output": output,
        "parallel_tool_calls": True,
        "store": bool(seen.body.get("store", True)),
        "tool_choice": "auto",
        "tools": [],
        "usage": None if usage is None else _usage(usage),
    }


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.tokens,
    }


def events(
    reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str], pieces: list[str]
) -> Iterator[Sse]:
    """Yield the answer as server-sent events (name, data), numbered from 0."""
    for number, (name, data) in enumerate(_unnumbered(reply, seen, usage, ids, pieces)):
        yield name, {"type": name, "sequence_number": number} | data


def _unnumbered(
    reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str], pieces: list[str]
) -> Iterator[tuple[str, JsonObject]]:
    output = _items(reply, seen, ids)
    yield "response.created", {"response": _response(reply, seen, None, [])}
    yield "response.in_progress", {"response": _response(reply, seen, None, [])}
    for index, item in enumerate(output):
        place = {"output_index": index}
        yield "response.output_item.added", place | {"item": _begun(item)}
        for name, data in _filling(reply, item, pieces):
            yield name, place | {"item_id": item["id"]} | data
        yield "response.output_item.done", place | {"item": item}
    response = _response(reply, seen, usage, output)
    yield f"response.{response['status']}", {"response": response}


def _begun(item: JsonObject) -> JsonObject:
    """Return an item in its announced form: without content yet."""
    empty: JsonObject = {"message": {"content": []}, "reasoning": {"summary": []}}.get(
        item["type"], {CALLS.get(item["type"], ""): ""}
    )
    return item | empty | {"status": "in_progress"}


def _filling(reply: Reply, item: JsonObject, pieces: list[str]) -> Iterator[tuple[str, JsonObject]]:
    match item["type"]:
        case "reasoning":
            yield from _summary(item["summary"][0])
        case "message":
            yield from _message(item["content"][0], pieces)
        case kind:
            field = CALLS[kind]
            name = f"response.{kind}_{field}"
            half = len(item[field]) // 2
            for part in (item[field][:half], item[field][half:]):
                yield f"{name}.delta", {"delta": part}
            yield f"{name}.done", {field: item[field], "name": item["name"]}


def _summary(part: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    place = {"summary_index": 0}
    name = "response.reasoning_summary"
    yield f"{name}_part.added", place | {"part": part | {"text": ""}}
    yield f"{name}_text.delta", place | {"delta": part["text"]}
    yield f"{name}_text.done", place | {"text": part["text"]}
    yield f"{name}_part.done", place | {"part": part}


def _message(part: JsonObject, pieces: list[str]) -> Iterator[tuple[str, JsonObject]]:
    place = {"content_index": 0}
    kind = part["type"]
    field = "refusal" if kind == "refusal" else "text"
    extra: JsonObject = {} if kind == "refusal" else {"logprobs": []}
    yield "response.content_part.added", place | {"part": part | {field: ""}}
    for piece in pieces:
        yield f"response.{kind}.delta", place | {"delta": piece} | extra
    yield f"response.{kind}.done", place | {field: part[field]} | extra
    yield "response.content_part.done", place | {"part": part}
