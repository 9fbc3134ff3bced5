"""What every wire format needs of a conversation: usable ids and names, arguments as objects."""

import hashlib
import json
import re
import secrets
from typing import Any

from agiraph.core.turns import AssistantTurn, ModelRequest, ToolCall

JsonObject = dict[str, Any]

ID_LIMIT = 40  # OpenAI's bound; Anthropic's pattern allows letters, digits, _ and -
NAME_LIMIT = 64
INTERRUPTED_MARK = "[interrupted]"
GO_ON = "Go on."


def wire_id(call_id: str) -> str:
    """Return a call id that every provider takes: itself if it can, else a digest of it.

    A conversation may go on with another provider than it began with.
    """
    if re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{ID_LIMIT}}}", call_id):
        return call_id
    return "call_" + hashlib.blake2b(call_id.encode(), digest_size=12).hexdigest()


def wire_name(name: str) -> str:
    """Return a tool's name as providers take it back; models do make up odd ones."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:NAME_LIMIT] or "unknown"


def spoken(turn: AssistantTurn) -> str:
    """Return what an assistant turn said, marked if it was cut off; "" if nothing."""
    text = (turn.text or "").rstrip()
    return f"{text}\n{INTERRUPTED_MARK}".lstrip() if turn.interrupted else text


# How an answer was made up, where that is more than its text and its calls: `{"raw": ...}` goes
# back as it is, `{"text": ...}` and `{"call": INDEX}` are the turn's own, perhaps with an `extra`.
Layout = list[JsonObject]


def laid_out(turn: AssistantTurn, api: str, model: str) -> Layout:
    """Return how an answer is told to `model` by way of `api`: as it was made up, or plainly.

    What is sealed is for the model that made it; one that was cut off has nothing that is whole.
    """
    data = turn.provider_data or {}
    layout: Layout = data.get("layout") or []
    is_own = data.get("api") == api and data.get("model") == model and not turn.interrupted
    if is_own and _is_of(layout, turn):
        return layout
    text = spoken(turn)
    plain: Layout = [{"text": text}] if text else []
    return plain + [{"call": index} for index in range(len(turn.tool_calls))]


def _is_of(layout: Layout, turn: AssistantTurn) -> bool:
    """Whether a layout is that of this turn, which may have been made shorter since."""
    text = "".join(part.get("text", "") for part in layout)
    calls = [part["call"] for part in layout if "call" in part]
    return bool(layout) and text == (turn.text or "") and calls == list(range(len(turn.tool_calls)))


def head_of(head: JsonObject, extra: JsonObject) -> JsonObject:
    """Return what stands before the conversation, without what `extra` says otherwise."""
    return {key: value for key, value in head.items() if key not in extra}


def tail_of(tail: JsonObject, extra: JsonObject) -> JsonObject:
    """Return what stands behind the conversation: `extra` laid over it, without what is null."""
    return {key: value for key, value in (tail | extra).items() if value is not None}


def read_arguments(text: str) -> tuple[JsonObject, str | None]:
    """Return a call's arguments and, if they were no JSON object, the raw text of them."""
    if not text.strip():
        return {}, None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}, text
    return (value, None) if isinstance(value, dict) else ({}, text)


def read_call(id: str, name: str, arguments: str) -> ToolCall:
    """Return a tool call from its pieces as a provider streams them."""
    values, malformed = read_arguments(arguments)
    return ToolCall(id=id, name=name, arguments=values, malformed=malformed)


def unique_calls(calls: list[ToolCall], request: ModelRequest) -> tuple[ToolCall, ...]:
    """Return the calls with ids that no other call of the conversation has.

    Some services send empty ids, or `call_0` in every turn; an act is done once per id, so a second
    one with the same id would be lost.
    """
    turns = (turn for turn in request.turns if isinstance(turn, AssistantTurn))
    taken = {call.id for turn in turns for call in turn.tool_calls} | {""}
    unique: list[ToolCall] = []
    for call in calls:
        if call.id in taken:
            call = call.model_copy(update={"id": f"call_{secrets.token_hex(8)}"})
        taken.add(call.id)
        unique.append(call)
    return tuple(unique)
