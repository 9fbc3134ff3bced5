"""The fake's side of the Gemini wire format: request, answer and errors.

Like the newest models, it refuses a conversation in which a step with calls lost its signature, or
in which calls and results do not match.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, Usage, UserTurn
from tests.fakes.replies import Reply, SeenRequest
from tests.fakes.wire_anthropic import BadBody, Sse

JsonObject = dict[str, Any]
VERSIONS = "v1|v1beta"
"""The versions of the API in which all this is equal; Google's own SDK uses the first."""
PATH = re.compile(
    rf"/(?:{VERSIONS})/models/(?P<model>.+):(?P<verb>generateContent|streamGenerateContent)"
)
FINISH = {"end_turn": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
FOREIGN = "skip_thought_signature_validator"


def read(body: JsonObject) -> SeenRequest:
    """Return the request in canonical terms; refuse requests that the real API refuses.

    The server has put `model` and `stream`, which are in the path, into the body.
    """
    turns: list[Turn] = []
    waiting: list[ToolCall] = []
    for content in body["contents"]:
        parts = content["parts"]
        if not parts:
            raise BadBody("contents.parts must not be empty.")
        if content.get("role") == "model":
            if not turns:
                raise BadBody("Please ensure that a turn of the user comes first.")
            turn = _assistant(parts)
            waiting = list(turn.tool_calls)
            turns.append(turn)
            continue
        given = _given(parts, waiting)
        if sorted(one["id"] for one in given) != sorted(call.id for call in waiting):
            raise BadBody(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        turns += map(_result, given)
        turns += [UserTurn(content=part["text"]) for part in parts if "text" in part]
        waiting = []
    if waiting:
        raise BadBody("Please ensure that function call turn comes before a function response.")
    system = body.get("systemInstruction") or {"parts": []}
    declared = [one for tool in body.get("tools", ()) for one in tool["functionDeclarations"]]
    return SeenRequest(
        api="google",
        model=body["model"],
        system="".join(part["text"] for part in system["parts"]),
        turns=tuple(turns),
        tools=tuple(one["name"] for one in declared),
        body=body,
    )


def _given(parts: list[JsonObject], waiting: list[ToolCall]) -> list[JsonObject]:
    """Return the results; a result without an id (from the SDK's own calling) by its name."""
    ids = {call.name: call.id for call in waiting}
    given = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return [{"id": ids.get(one["name"], "")} | one for one in given]


def _assistant(parts: list[JsonObject]) -> AssistantTurn:
    made = [part for part in parts if "functionCall" in part]
    if made:
        signature = made[0].get("thoughtSignature", "")
        if signature != FOREIGN and not signature.startswith("c2ln"):
            raise BadBody("Function call is missing a thought_signature in functionCall parts.")
    calls = [
        ToolCall(id=call["id"], name=call["name"], arguments=call.get("args") or {})
        for call in (part["functionCall"] for part in made)
    ]
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    return AssistantTurn(text=text or None, tool_calls=tuple(calls))


def _result(given: JsonObject) -> ToolTurn:
    said = given["response"]
    is_error = "error" in said
    content = said["error"] if is_error else said.get("output", said.get("result", ""))
    id, name = given["id"], given["name"]
    return ToolTurn(call_id=id, name=name, content=content, is_error=is_error)


def _usage(usage: Usage) -> JsonObject:
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": max(0, usage.output_tokens - 1),
        "thoughtsTokenCount": min(1, usage.output_tokens),
        "totalTokenCount": usage.tokens,
    }


def _chunk(seen: SeenRequest, parts: list[JsonObject], finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "modelVersion": seen.model,
        "responseId": f"gemini-{seen.number}",
    }


def _thought(reply: Reply) -> list[JsonObject]:
    return [{"text": reply.thinking, "thought": True}] if reply.thinking else []


def _calls(reply: Reply, ids: list[str]) -> list[JsonObject]:
    """Return the calls, the first of them signed. Only the finish reason reports broken calls."""
    if _broken(reply):
        return []
    parts: list[JsonObject] = [
        {"functionCall": {"id": id, "name": made.name, "args": json.loads(made.json)}}
        for made, id in zip(reply.calls, ids, strict=True)
    ]
    if parts:
        parts[0]["thoughtSignature"] = "c2ln"
    return parts


def _broken(reply: Reply) -> str | None:
    for made in reply.calls:
        try:
            json.loads(made.json)
        except ValueError:
            return f"Malformed function call: {made.name}({made.json})"
    return None


def _end(reply: Reply) -> JsonObject:
    if (problem := _broken(reply)) is not None:
        return {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": problem}
    return {"finishReason": FINISH[reply.stop()]}


def whole(reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str]) -> JsonObject:
    """Return the answer to a request without streaming."""
    text: list[JsonObject] = [{"text": reply.text}] if reply.text else []
    answer = _chunk(seen, _thought(reply) + text + _calls(reply, ids))
    answer["candidates"][0] |= _end(reply)
    return answer | {"usageMetadata": _usage(usage)}


def events(
    reply: Reply, seen: SeenRequest, usage: Usage, ids: list[str], pieces: list[str]
) -> Iterator[Sse]:
    """Yield the answer as server-sent events; the last event contains the finish reason.

    In an answer without calls the signature comes last, in a part of its own with no text.
    """
    for part in _thought(reply):
        yield None, _chunk(seen, [part])
    for piece in pieces:
        yield None, _chunk(seen, [{"text": piece}])
    for part in _calls(reply, ids):
        yield None, _chunk(seen, [part])
    is_signed = reply.thinking and not reply.calls
    last = _chunk(seen, [{"text": "", "thoughtSignature": "c2ln"}] if is_signed else [])
    last["candidates"][0] |= _end(reply)
    yield None, last | {"usageMetadata": _usage(usage)}


def error(status: int, kind: str, message: str) -> JsonObject:
    """Return the body of an error, with the status that the API uses for this code."""
    if kind == "context_length_exceeded":
        message = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
    told: JsonObject = {"code": status, "message": message}
    return {"error": told | {"status": STATUSES.get(status, "UNKNOWN"), "details": []}}
