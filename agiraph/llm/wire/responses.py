"""OpenAI's Responses format: answers and errors, read and written. Pure."""

import json
import secrets
import time
from dataclasses import replace
from typing import Any

from agiraph.core.turns import JsonObject, ModelResponse, StopReason, ToolCall, Usage
from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.failures import ServiceError
from agiraph.llm.token_counts import byte_length, token_count
from agiraph.llm.wire.chat import OpenAIFormat
from agiraph.llm.wire.format import (
    AnswerContent,
    AnswerReader,
    AnswerWriter,
    WireError,
    asked_model,
    mapping,
    text_bytes,
)
from agiraph.llm.wire.request_rules import objects_in
from agiraph.llm.wire.responses_requests import (
    API,
    CALLS,
    RULES,
    SEALED,
    SHORTEST_ANSWER,
    ResponsesToolForm,
    ToolForms,
    encode_request,
    parse_call,
    parse_request,
    tool_forms,
)
from agiraph.llm.wire.sse import encode_event
from agiraph.llm.wire.transcript import Layout
from agiraph.models.registry import ModelTraits

INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
}
REASONS: dict[StopReason, str] = {reason: text for text, reason in INCOMPLETE.items()}
ENDS = ("response.completed", "response.incomplete", "response.failed")
GENERATED = ("text", "refusal", "arguments", "input", "action")
REASONING_FIELDS = ("type", "id", "summary", "content", "encrypted_content")


# --- reading answers -----------------------------------------------------------------------------


class ResponsesReader(AnswerReader):
    """Assembles a model response from the events of a Responses stream."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, JsonObject] = {}
        self._answer: JsonObject = {}
        self._streamed: list[str] = []
        self._parts = 0

    def feed(self, event: JsonObject) -> str:
        kind = str(event.get("type"))
        if kind.endswith(".delta"):
            self.streamed_bytes += byte_length(str(event.get("delta") or ""))
        if kind in ENDS:
            has_read = bool(self._items or self._streamed)
            self._answer = _object(event, "response", may_be_missing=has_read)
            self.counts = mapping(self._answer.get("usage"))
            whole = sum(map(_size, objects_in(self._answer.get("output"))))
            self._parts = max(self._parts, whole)
            # An unstreamed answer.
            self.streamed_bytes = self.streamed_bytes or text_bytes(self._answer.get("output"))
        is_refused = kind == "response.failed" and not (self.streamed_bytes or self.counts)
        self.has_begun = kind.startswith("response.") and not is_refused
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._streamed.append(str(event.get("delta") or ""))
                return self._streamed[-1]
            case "response.output_item.done":
                index = event.get("output_index")
                self._add(len(self._items) if index is None else index, _object(event, "item"))
            case "response.output_item.added":
                _object(event, "item")
            case "response.completed" | "response.incomplete":
                details = self._answer.get("incomplete_details") or {}
                self.finish = str(details.get("reason") or "")
            case "response.failed":
                raise ServiceError(self._answer.get("error") or {})
            case "error":
                raise ServiceError(event)
        return ""

    def _add(self, index: int, item: JsonObject) -> None:
        self._items[index] = item
        self._parts += _size(item)
        # Sealed thoughts are not streamed; four characters of a seal are three bytes of them.
        self.streamed_bytes += len(item.get("encrypted_content") or "") * 3 // 4

    def generated(self) -> object:
        items = list(self._items.values()) or mapping(self._answer).get("output")
        return [_generated(item) for item in objects_in(items or self._unfinished())]

    def parts(self) -> int:
        return self._parts

    def content(self, model: str) -> AnswerContent:
        items = [self._items[index] for index in sorted(self._items)]
        items = items or self._answer.get("output") or self._unfinished()
        calls: list[ToolCall] = []
        texts: list[str] = []
        layout: Layout = []
        for item in items:
            kind = item.get("type")
            if kind == "reasoning":
                raw = {key: item[key] for key in REASONING_FIELDS if item.get(key) is not None}
                layout.append({"raw": raw})
            elif kind == "message":
                texts.append(_text(item))
                layout.append({"text": texts[-1]} | _extra(item, "phase"))
            elif kind in CALLS:
                layout.append({"call": len(calls)} | _extra(item, "namespace"))
                calls.append(parse_call(item))
        parts = [part for item in items for part in _parts(item)]
        is_refused = any(part.get("type") == "refusal" for part in parts)
        stop = INCOMPLETE.get(self.finish or "", "refusal" if is_refused else "end_turn")
        return AnswerContent("".join(texts), calls, stop, _private_data(layout, model))

    def _unfinished(self) -> list[JsonObject]:
        """Return the streamed text as a message, for services that send no complete items."""
        text = "".join(self._streamed)
        return [{"type": "message", "content": [{"text": text}]}] if text else []

    def usage(self) -> Usage:
        counts = self.counts
        details = mapping(counts.get("input_tokens_details"))
        return Usage(
            input_tokens=token_count(counts.get("input_tokens")),
            output_tokens=token_count(counts.get("output_tokens")),
            cache_read_tokens=token_count(details.get("cached_tokens")),
            cache_write_tokens=token_count(details.get("cache_write_tokens")),
        )


def _text(item: JsonObject) -> str:
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in _parts(item))


def _size(item: JsonObject) -> int:
    """Return the number of objects of an item: itself, and its parts of content and summary."""
    return 1 + len(objects_in(item.get("content"))) + len(objects_in(item.get("summary")))


def _object(event: JsonObject, name: str, *, may_be_missing: bool = True) -> JsonObject:
    """Return the object `name` of an event; {} if it is missing and `may_be_missing`.

    Raises ValueError if it is missing otherwise, or is not an object.
    """
    found = event.get(name)
    if found is None and may_be_missing:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"the event {event.get('type')} has no object '{name}'")
    return found


def _generated(item: JsonObject) -> object:
    """Return the generated texts of an item, without ids, encrypted content and sources."""
    parts = objects_in(item.get("summary")) + objects_in(item.get("content"))
    return [[part.get(name) for name in GENERATED] for part in (item, *parts)]


def _parts(item: JsonObject) -> list[JsonObject]:
    return list(filter(None, item.get("content") or ()))


def _extra(item: JsonObject, key: str) -> JsonObject:
    return {"extra": {key: item[key]}} if item.get(key) else {}


def _private_data(layout: Layout, model: str) -> JsonObject | None:
    """Return the layout of an answer for its next request; None if the turn alone says it all."""
    is_plain = all(part.keys() <= {"text", "call"} for part in layout)
    return None if is_plain else {"api": API, "model": model, "layout": layout}


# --- writing answers -----------------------------------------------------------------------------


def _begun_answer(model: str) -> JsonObject:
    return {
        "id": f"resp_{secrets.token_hex(16)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": None,
        "top_p": None,
        "usage": None,
    }


def _ended(answer: JsonObject, output: list[JsonObject], response: ModelResponse) -> JsonObject:
    reason = REASONS.get(response.stop_reason)
    return {
        **answer,
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": output,
        "usage": _encode_usage(response.usage),
    }


def _encode_usage(usage: Usage) -> JsonObject:
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


def _message(text: str, *, id: str = "") -> JsonObject:
    return {
        "type": "message",
        "id": id or f"msg_{secrets.token_hex(16)}",
        "role": "assistant",
        "status": "completed",
        "content": [_part(text)],
    }


def _part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _encode_call(call: ToolCall, forms: ToolForms) -> JsonObject:
    """Return the item of a call in the form of its tool."""
    form = forms.get(call.name) or ResponsesToolForm("function", "", call.name)
    id = secrets.token_hex(16)
    common = {"call_id": call.id, "status": "completed"}
    item: JsonObject
    if form.type == "custom":
        given = call.arguments.get("input", "") if call.malformed is None else call.malformed
        text = given if isinstance(given, str) else json.dumps(given)
        item = {"type": "custom_tool_call", "id": f"ctc_{id}", "name": form.name, "input": text}
    elif form.type == "local_shell":
        action = {"type": "exec", "env": {}, **call.arguments}
        item = {"type": "local_shell_call", "id": f"lsh_{id}", "action": action}
    else:
        arguments = call.malformed if call.malformed is not None else json.dumps(call.arguments)
        item = {"type": "function_call", "id": f"fc_{id}", "name": form.name}
        item |= {"arguments": arguments} | ({"namespace": form.space} if form.space else {})
    return item | common


class ResponsesWriter(AnswerWriter):
    """Writes an answer as numbered events."""

    def __init__(self, model: str, forms: ToolForms) -> None:
        super().__init__()
        self._answer = _begun_answer(model)
        self._forms = forms
        self._number = 0
        self._output: list[JsonObject] = []
        self._message_id = f"msg_{secrets.token_hex(16)}"
        self._texts: list[str] = []

    def beginning(self) -> bytes:
        return b"".join(
            self._event(f"response.{what}", response=self._answer)
            for what in ("created", "in_progress")
        )

    def piece(self, text: str, *, is_first: bool) -> bytes:
        sent: list[bytes] = []
        if is_first:
            item = {**_message("", id=self._message_id), "status": "in_progress", "content": []}
            sent += [
                self._event("response.output_item.added", output_index=0, item=item),
                self._in_part("response.content_part.added", part=_part("")),
            ]
        self._texts.append(text)
        sent.append(self._in_part("response.output_text.delta", delta=text, logprobs=[]))
        return b"".join(sent)

    def rest(self, response: ModelResponse) -> bytes:
        sent = [self._end_of_text()] if self.has_text else []
        sent += [self._call(_encode_call(call, self._forms)) for call in response.tool_calls]
        answer = _ended(self._answer, self._output, response)
        sent.append(self._event(f"response.{answer['status']}", response=answer))
        return b"".join(sent)

    def _end_of_text(self) -> bytes:
        text = "".join(self._texts)
        item = _message(text, id=self._message_id)
        self._output.append(item)
        return b"".join(
            [
                self._in_part("response.output_text.done", text=text, logprobs=[]),
                self._in_part("response.content_part.done", part=_part(text)),
                self._event("response.output_item.done", output_index=0, item=item),
            ]
        )

    def _call(self, item: JsonObject) -> bytes:
        place = len(self._output)
        self._output.append(item)
        is_function = item["type"] == "function_call"
        blank = {**item, "status": "in_progress"} | ({"arguments": ""} if is_function else {})
        sent = [self._event("response.output_item.added", output_index=place, item=blank)]
        if is_function:
            where = {"item_id": item["id"], "output_index": place}
            kind, arguments = "response.function_call_arguments", item["arguments"]
            sent += [
                self._event(f"{kind}.delta", delta=arguments, **where),
                self._event(f"{kind}.done", arguments=arguments, name=item["name"], **where),
            ]
        sent.append(self._event("response.output_item.done", output_index=place, item=item))
        return b"".join(sent)

    def error(self, error: WireError) -> bytes:
        given = error.body["error"]
        shown = {"code": given["code"] or given["type"], "message": given["message"]}
        answer = {**self._answer, "status": "failed", "error": shown}
        return self.begun() + self._event("response.failed", response=answer)

    def _in_part(self, type_: str, **data: Any) -> bytes:
        where = {"item_id": self._message_id, "output_index": 0, "content_index": 0}
        return self._event(type_, **where, **data)

    def _event(self, type_: str, **data: Any) -> bytes:
        body = {"type": type_, "sequence_number": self._number, **data}
        self._number += 1
        return encode_event(body, type_)


# --- the format ----------------------------------------------------------------------------------


class ResponsesFormat(OpenAIFormat):
    """OpenAI's Responses API, at `/responses`; Codex uses it."""

    api = API
    rules = RULES
    endpoint = "/responses"
    max_tokens_field = "max_output_tokens"
    encode_request = staticmethod(encode_request)
    parse_request = staticmethod(parse_request)
    reader = ResponsesReader

    def writer(self, body: JsonObject) -> ResponsesWriter:
        return ResponsesWriter(asked_model(body), tool_forms(body))

    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        forms = tool_forms(body)
        texts = [_message(response.text)] if response.text else []
        output = [*texts, *(_encode_call(call, forms) for call in response.tool_calls)]
        return _ended(_begun_answer(asked_model(body)), output, response)

    def error(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> WireError:
        # Codex treats any refusal except 400 as a broken connection, and retries five times.
        error = super().error(kind, message, retry_after=retry_after)
        return error if kind in RETRYABLE else replace(error, status=400)

    def forwarded(
        self, body: JsonObject, model: str, max_tokens: int, traits: ModelTraits
    ) -> JsonObject:
        # Nothing is stored at the service, so the agent receives reasoning to send back.
        longest = max(SHORTEST_ANSWER, max_tokens)
        sent = super().forwarded(body, model, longest, traits) | {"store": False}
        included = body.get("include")
        included = included if isinstance(included, list) else []
        if traits.reasoning == "kept" and SEALED not in included:
            sent["include"] = [*included, SEALED]
        return sent

    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        return [{"type": "response.completed", "response": answer}]
