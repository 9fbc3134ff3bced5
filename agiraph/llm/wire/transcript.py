"""Conversions for all wire formats: valid ids and names, arguments as objects."""

import hashlib
import json
import re
import secrets
import string

from agiraph.core.record import read_strict
from agiraph.core.turns import AssistantTurn, JsonObject, ModelRequest, ToolCall

ID_LIMIT = 40  # OpenAI's limit; Anthropic's pattern allows letters, digits, _ and -
NAME_LIMIT = 64
SHORT_ID = 9
ALPHABET = string.ascii_letters + string.digits
INTERRUPTED_MARK = "[interrupted]"
GO_ON = "Go on."


def wire_id(call_id: str) -> str:
    """Return a call id that every provider accepts: the id itself if possible, else a digest.

    A conversation may continue with another provider.
    """
    if re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{ID_LIMIT}}}", call_id):
        return call_id
    return "call_" + hashlib.blake2b(call_id.encode(), digest_size=12).hexdigest()


def short_id(call_id: str) -> str:
    """Return a call id of nine letters and digits, which the strictest service requires (Mistral).

    A conversation may continue with another provider.
    """
    if re.fullmatch(rf"[a-zA-Z0-9]{{{SHORT_ID}}}", call_id):
        return call_id
    digest, size = hashlib.blake2b(call_id.encode("utf-8", "replace"), digest_size=8), len(ALPHABET)
    number = int.from_bytes(digest.digest())
    return "".join(ALPHABET[number // size**at % size] for at in range(SHORT_ID))


def wire_name(name: str) -> str:
    """Return a tool's name in a form that every provider accepts; models invent odd names."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:NAME_LIMIT] or "unknown"


def spoken(turn: AssistantTurn) -> str:
    """Return the text of an assistant turn, marked if it was cut off; "" if there is none."""
    text = (turn.text or "").rstrip()
    return f"{text}\n{INTERRUPTED_MARK}".lstrip() if turn.interrupted else text


# The parts of an answer in order, if it is more than text and then calls: `{"raw": ...}` is sent
# back unchanged, `{"text": ...}` and `{"call": INDEX}` are the turn's, optionally with `extra`.
Layout = list[JsonObject]


def laid_out(turn: AssistantTurn, api: str, model: str) -> Layout:
    """Return the parts of an answer as `model` receives them through `api`.

    Sealed parts are sent only to the model that made them; an interrupted answer has no complete
    sealed parts.
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
    """Whether a layout still matches the turn's text and calls.

    The turn may have been shortened.
    """
    text = "".join(part.get("text", "") for part in layout)
    calls = [part["call"] for part in layout if "call" in part]
    return bool(layout) and text == (turn.text or "") and calls == list(range(len(turn.tool_calls)))


def head_of(head: JsonObject, extra: JsonObject) -> JsonObject:
    """Return the fields before the conversation, without fields that `extra` overrides.

    `extra` are the additional fields that the model's settings add to every request.
    """
    return {key: value for key, value in head.items() if key not in extra}


def tail_of(tail: JsonObject, extra: JsonObject) -> JsonObject:
    """Return the fields after the conversation, overridden by `extra`, without null fields."""
    return {key: value for key, value in (tail | extra).items() if value is not None}


def read_arguments(text: str) -> tuple[JsonObject, str | None]:
    """Return a call's arguments and, if they are not a JSON object, their raw text."""
    if not text.strip():
        return {}, None
    try:
        value = read_strict(text)
        if isinstance(value, str):  # some services encode the arguments twice
            value = read_strict(value)
    except ValueError:
        return {}, text
    if value is None:  # some services send null for a call without arguments
        return {}, None
    return (value, None) if isinstance(value, dict) else ({}, text)


def arguments_text(arguments: object) -> str:
    """Return a call's arguments as JSON; some services send an object, or no arguments."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""


def name_text(value: object) -> str:
    """Return an id or a name as text, '' for null; some services send a number."""
    return str(value) if isinstance(value, str | int) else ""


def read_call(id: object, name: object, arguments: object) -> ToolCall:
    """Return a tool call from its parts in the form of a provider."""
    values, malformed = read_arguments(arguments_text(arguments))
    return ToolCall(id=name_text(id), name=name_text(name), arguments=values, malformed=malformed)


def unique_calls(calls: list[ToolCall], request: ModelRequest) -> tuple[ToolCall, ...]:
    """Return the calls with ids that no other call of the conversation has.

    Some services send empty ids, or `call_0` in every turn; a call is run once per id, so a second
    call with the same id would be lost.
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
