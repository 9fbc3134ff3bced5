"""OpenAI's Chat Completions format: answers and errors, read and written. Pure.

The reader is lenient: a dozen services speak this format, each with its own variations.
"""

import json
import secrets
import time
from dataclasses import dataclass, field

from agiraph.core.turns import JsonObject, ModelResponse, StopReason, ToolCall, Usage
from agiraph.llm.base import FailureKind
from agiraph.llm.failures import ServiceError, is_error
from agiraph.llm.token_counts import charged_usd, token_count
from agiraph.llm.wire.chat_requests import (
    API,
    EXTRA,
    REASONING_FIELDS,
    RULES,
    encode_request,
    function_call,
    parse_request,
)
from agiraph.llm.wire.chat_rules import THINKING_LIMITS
from agiraph.llm.wire.format import (
    ANSWER_PARTS,
    AnswerContent,
    AnswerReader,
    AnswerWriter,
    WireFormat,
    asked_model,
    clamped,
    mapping,
    text_bytes,
)
from agiraph.llm.wire.sse import encode_event
from agiraph.llm.wire.transcript import arguments_text, name_text, read_arguments, read_call
from agiraph.models.registry import ModelTraits

STOP_REASONS: dict[str, StopReason] = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "max_tokens"),
    **dict.fromkeys(("content_filter", "safety", "sensitive"), "refusal"),
}
BROKEN_OFF = ("error", "abort", "insufficient_system_resource", "network_error")
"""Finish reasons of an answer that the service could not complete."""
FINISH_REASONS: dict[StopReason, str] = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
    "cancelled": "stop",
}
ERRORS: dict[FailureKind, tuple[int, str]] = {
    "bad_key": (403, ""),
    "unknown_model": (404, "model_not_found"),
    "bad_request": (400, ""),
    "context_too_long": (400, "context_length_exceeded"),
    "out_of_budget": (402, "insufficient_quota"),
    "no_credit": (402, "insufficient_quota"),
    "rate_limited": (429, "rate_limit_exceeded"),
    "overloaded": (503, "server_is_overloaded"),
    "unreachable": (502, ""),
    "timed_out": (504, ""),
    "internal": (500, ""),
}
ERROR_TYPES = {402: "insufficient_quota", 403: "permission_error", 429: "rate_limit_error"}
REFUSALS = {401: "invalid_api_key", 403: "forbidden", 404: "not_found", 413: "request_too_large"}
COUNTS = ("prompt_tokens", "completion_tokens")
NO_ARGUMENTS = "{}"
DETAILS = "reasoning_details"
TEXT_PARTS = ("text", "output_text")
THINKING_PARTS = ("thinking", "reasoning")
READABLE = ("text", "summary")
GROWING = (*READABLE, "data")
# Some services send the whole text so far instead of the new part. A piece that begins with the
# whole previous text is treated so, if that text is too long to be repeated by chance.
SNAPSHOT_FROM = 24


# --- reading answers -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: JsonObject | None = None

    def is_followed_by(self, id: object, arguments: str) -> bool:
        """Whether a streamed piece with a name begins another call than this one.

        Another call begins if the piece's `id` differs, or if this call is complete and its
        `arguments` differ.
        """
        if id and self.id and id != self.id:
            return True
        is_whole = len(self.arguments) == 1 and read_arguments(self.arguments[0])[1] is None
        return is_whole and bool(arguments) and arguments != self.arguments[0]


class ChatReader(AnswerReader):
    """Assembles a model response from the streamed chunks of a Chat Completions answer."""

    def __init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self._reasoning = StreamedReasoning()
        self._calls: list[_Call] = []
        self._newest: dict[int, _Call] = {}
        self._newest_of_id: dict[str, _Call] = {}
        self._next_index = 0
        self._refused = False

    def feed(self, event: JsonObject) -> str:
        choices = event.get("choices") or ()
        first = mapping(choices[0]) if choices else {}
        finish = first.get("finish_reason")
        # OpenRouter's has the shape of a chunk; its choices are empty.
        if is_error(event) and (not choices or finish in BROKEN_OFF):
            raise ServiceError(event)
        if finish in BROKEN_OFF:
            raise ServiceError({"message": f"the service broke off the answer ({finish})"})
        self._count(event, first)
        self.has_begun = self.has_begun or bool(choices or self.counts)
        self.finish = finish or self.finish
        delta = first.get("delta") or self._unread(first.get("message"))
        self.streamed_bytes += text_bytes({**delta, "role": None})
        self._reasoning.feed(delta)
        older = delta.get("function_call")  # of models without parallel calls
        pieces = delta.get("tool_calls") or ([{"index": 0, "function": older}] if older else ())
        for piece in filter(None, pieces):
            self._grow(piece)
            if len(self._calls) > ANSWER_PARTS:
                break  # the answer is refused
        self._refused = self._refused or bool(delta.get("refusal"))
        text = content_text(delta.get("content")) or str(delta.get("refusal") or "")
        if text:
            self._text.append(text)
        return text

    def _count(self, event: JsonObject, choice: JsonObject) -> None:
        """Read the counts of a chunk, which some services have in other places (Groq, Moonshot).

        Zero counts at the end do not replace earlier counts.
        """
        places = (event, choice, mapping(event.get("x_groq")))
        counts = next(filter(None, (mapping(one.get("usage")) for one in places)), {})
        if counts and (not self.counts or any(counts.get(name) for name in COUNTS)):
            self.counts = counts

    def _unread(self, message: object) -> JsonObject:
        """Return the part of a whole message that no delta contained; {} without a message.

        Some services send a whole message in place of a delta, or after the deltas.
        """
        whole = mapping(message)
        read = {"content"} if self._text else set()
        read |= {"tool_calls"} if self._calls else set()
        return {name: value for name, value in whole.items() if name not in read}

    def _grow(self, piece: JsonObject) -> None:
        function = mapping(piece.get("function"))
        text = arguments_text(function.get("arguments"))
        id, name = name_text(piece.get("id")), name_text(function.get("name"))
        call = self._call_of(piece.get("index"), id, name, text)
        if id and not call.id:
            call.id = id
            self._newest_of_id[id] = call
        call.name = call.name or name
        call.extra = piece.get(EXTRA) or call.extra
        if text and call.arguments != [text]:  # otherwise the whole call is repeated
            if call.arguments == [NO_ARGUMENTS]:  # some begin with this, then send the arguments
                call.arguments.clear()
            call.arguments.append(text)

    def _call_of(self, index: object, id: str, name: str, text: str) -> _Call:
        """Return the call that a piece belongs to, which may be new.

        A piece belongs to the newest call of its index, or, without an index, of its id, or else to
        the last call. Some services give all parallel calls the index 0, or none, and the same id,
        or none: a piece with a name begins a new call if it has another id than that call, or other
        arguments than that call, which are complete.
        """
        last = self._calls[-1] if self._calls else None
        if isinstance(index, int):
            call = self._newest.get(index)
        else:
            call = self._newest_of_id.get(id) or (None if id or name else last)
            index = self._next_index
        if call is None or (name and call.is_followed_by(id, text)):
            call = _Call(index)
            self._calls.append(call)
            self._newest[index] = call
            self._next_index = max(self._next_index, index + 1)
        return call

    def generated(self) -> object:
        calls = [call.arguments for call in self._calls]
        return [self._text, self._reasoning.texts(), calls]

    def parts(self) -> int:
        return len(self._calls) + self._reasoning.parts()

    def content(self, model: str) -> AnswerContent:
        calls = sorted(self._calls, key=lambda call: call.index)  # stable for equal indices
        reasoning = self._reasoning.result() or {}
        extras = [call.extra for call in calls]
        private = reasoning | ({EXTRA: extras} if any(extras) else {})
        return AnswerContent(
            "".join(self._text),
            [read_call(call.id, call.name, "".join(call.arguments)) for call in calls],
            "refusal" if self._refused else STOP_REASONS.get(str(self.finish).lower(), "end_turn"),
            {"api": API, "model": model} | private if private else None,
        )

    def usage(self) -> Usage:
        details = mapping(self.counts.get("prompt_tokens_details"))
        # Moonshot and DeepSeek have their own names for the counts of `details`.
        others = (self.counts.get(key) for key in ("cached_tokens", "prompt_cache_hit_tokens"))
        cached = (details.get("cached_tokens"), *others)
        return Usage(
            input_tokens=token_count(self.counts.get("prompt_tokens")),
            output_tokens=token_count(self.counts.get("completion_tokens")),
            cache_read_tokens=token_count(next(filter(None, cached), None)),
            cache_write_tokens=token_count(details.get("cache_write_tokens")),
            cost_usd=charged_usd(self.counts.get("cost")),
        )


def content_text(content: object, kinds: tuple[str, ...] = TEXT_PARTS) -> str:
    """Return the text of a content: a string, or the matching parts of a list (Mistral).

    A string counts as text.
    """
    if isinstance(content, str):
        return content if kinds is TEXT_PARTS else ""
    found = ""
    for part in content if isinstance(content, list) else ():
        kind = part.get("type", "text") if isinstance(part, dict) else ""
        if kind in kinds:
            found += content_text(part.get("text" if kinds is TEXT_PARTS else kind))
    return found


class StreamedReasoning:
    """The reasoning of one answer while it streams in.

    There is no standard for it: a text field with one of two names, or a list of details, some of
    which are sealed. It is sent back in the form in which it was received.
    """

    def __init__(self) -> None:
        self._field = REASONING_FIELDS[0]
        self._texts: list[str] = []
        self._details: dict[str, dict[str, object]] = {}

    def feed(self, delta: JsonObject) -> None:
        """Add the reasoning in one delta of the stream."""
        for name in REASONING_FIELDS:
            text = delta.get(name)
            if name == REASONING_FIELDS[0] and not text:
                text = content_text(delta.get("content"), THINKING_PARTS)
            if isinstance(text, str) and text:
                self._field = name
                self._texts.append(text)
                break
        for piece in delta.get(DETAILS) or ():
            if isinstance(piece, dict):
                self._add(piece)

    def _add(self, piece: JsonObject) -> None:
        key = repr((piece.get("type"), piece.get("index")))
        known = self._details.get(key)
        if known is None:
            self._details[key] = {name: _growing(name, value) for name, value in piece.items()}
            return
        for name, value in piece.items():
            before = known.get(name)
            if isinstance(before, _GrowingText) and isinstance(value, str):
                before.add(value)
            elif value is not None:
                known[name] = _growing(name, value)

    def texts(self) -> list[str]:
        """Return the readable reasoning so far, of one of the fields that contain it."""
        return self._texts or [
            text.text
            for detail in self._details.values()
            for name in READABLE
            if isinstance(text := detail.get(name), _GrowingText)
        ]

    def parts(self) -> int:
        """Return the number of different parts (details) of the reasoning so far."""
        return len(self._details)

    def result(self) -> JsonObject | None:
        """Return the reasoning to send back with the next request, None if there was none."""
        text = "".join(self._texts)
        if not text and not self._details:
            return None
        found = {"reasoning": text, "field": self._field}
        details = [
            {name: v.text if isinstance(v, _GrowingText) else v for name, v in detail.items()}
            for detail in self._details.values()
        ]
        return found | {"details": details} if details else found


class _GrowingText:
    """A text that arrives in pieces, joined only when it is read: appending takes linear time."""

    def __init__(self, text: str) -> None:
        self._pieces = [text]
        self._length = len(text)

    @property
    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, piece: str) -> None:
        """Append a piece; a piece that repeats the whole text replaces the text."""
        may_repeat = SNAPSHOT_FROM <= self._length <= len(piece)
        if may_repeat and piece.startswith(self.text):
            self._pieces, self._length = [piece], len(piece)
        else:
            self._pieces.append(piece)
            self._length += len(piece)


def _growing(name: str, value: object) -> object:
    return _GrowingText(value) if name in GROWING and isinstance(value, str) else value


# --- writing answers -----------------------------------------------------------------------------


def _head(model: str, object_: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": object_,
        "created": int(time.time()),
        "model": model,
    }


def _encode_usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
    }


def _encode_call(call: ToolCall) -> JsonObject:
    arguments = call.malformed if call.malformed is not None else json.dumps(call.arguments)
    return function_call(call.id, call.name, arguments)


class ChatWriter(AnswerWriter):
    """Writes a model response as the streamed chunks of a Chat Completions answer."""

    def __init__(self, model: str, *, with_usage: bool) -> None:
        super().__init__()
        self._head = _head(model, "chat.completion.chunk")
        self._with_usage = with_usage

    def beginning(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str, *, is_first: bool) -> bytes:
        return self._chunk({"content": text})

    def rest(self, response: ModelResponse) -> bytes:
        sent = [
            self._chunk({"tool_calls": [{"index": index, **_encode_call(call)}]})
            for index, call in enumerate(response.tool_calls)
        ]
        sent.append(self._chunk({}, finish=FINISH_REASONS[response.stop_reason]))
        if self._with_usage:
            usage = {"choices": [], "usage": _encode_usage(response.usage)}
            sent.append(encode_event({**self._head, **usage}))
        return b"".join([*sent, b"data: [DONE]\n\n"])

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return encode_event({**self._head, "choices": [choice]})


# --- the format ----------------------------------------------------------------------------------


class OpenAIFormat(WireFormat):
    """Common parts of OpenAI's two formats: errors and the list of models."""

    errors = ERRORS
    refusals = REFUSALS

    def error_body(self, status: int, name: str, message: str) -> JsonObject:
        type_ = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": type_, "param": None, "code": name or None}}

    def models(self, names: tuple[str, ...]) -> JsonObject:
        return {"object": "list", "data": list(map(self.model, names))}

    def model(self, name: str) -> JsonObject:
        return {"id": name, "object": "model", "created": 0, "owned_by": "agiraph"}


class ChatFormat(OpenAIFormat):
    """OpenAI's Chat Completions API, at `/chat/completions`."""

    api = API
    rules = RULES
    endpoint = "/chat/completions"
    encode_request = staticmethod(encode_request)
    parse_request = staticmethod(parse_request)
    reader = ChatReader

    def writer(self, body: JsonObject) -> ChatWriter:
        return ChatWriter(asked_model(body), with_usage=_wants_usage(body))

    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": response.text, "refusal": None}
        if response.tool_calls:
            message["tool_calls"] = list(map(_encode_call, response.tool_calls))
        finish = FINISH_REASONS[response.stop_reason]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        head = _head(asked_model(body), "chat.completion")
        return head | {"choices": [choice], "usage": _encode_usage(response.usage)}

    def forwarded(
        self, body: JsonObject, model: str, max_tokens: int, traits: ModelTraits
    ) -> JsonObject:
        sent = super().forwarded(body, model, max_tokens, traits)
        sent[traits.max_tokens_field] = sent.pop(self.max_tokens_field)
        for name, setting in THINKING_LIMITS:
            if not setting:
                sent = clamped(sent, name, max_tokens)
            elif isinstance(sent.get(name), dict):
                sent[name] = clamped(sent[name], setting, max_tokens)
        # A stream must report its usage, whether or not the agent requests it.
        if body.get("stream") is True:
            asked = body.get("stream_options")
            options = asked if isinstance(asked, dict) else {}
            sent["stream_options"] = {**options, "include_usage": True}
        return sent

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        # Usage that the agent did not request is left out.
        if event is None or event.get("choices") or not event.get("usage"):
            return True
        return _wants_usage(body)

    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        first = answer["choices"][:1]  # the others are not read
        choices = [{**one, "delta": one.get("message") or {}} for one in first]
        return [{"choices": choices, "usage": answer.get("usage")}]


def _wants_usage(body: JsonObject) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
