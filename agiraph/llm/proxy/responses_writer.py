"""Answers as Responses tells them: whole, or as its numbered events."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agiraph.core.turns import JsonObject, ModelResponse, ToolCall, Usage
from agiraph.llm.proxy.format import ProxyFailure


@dataclass(frozen=True, slots=True)
class ResponsesToolForm:
    """How a tool wants to be called: its type, its namespace ("" if none) and its name there."""

    type: str
    space: str
    name: str


ToolKinds = Mapping[str, ResponsesToolForm]


def _answer(model: str, status: str) -> JsonObject:
    return {
        "id": f"resp_{secrets.token_hex(16)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
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


def _call(call: ToolCall, kinds: ToolKinds) -> JsonObject:
    """Return a call as the tool's kind has it."""
    kind = kinds.get(call.name) or ResponsesToolForm("function", "", call.name)
    arguments = call.malformed if call.malformed is not None else json.dumps(call.arguments)
    id, status = secrets.token_hex(16), {"call_id": call.id, "status": "completed"}
    if kind.type == "custom":
        given = call.arguments.get("input", "") if call.malformed is None else call.malformed
        text = given if isinstance(given, str) else json.dumps(given)
        return {"type": "custom_tool_call", "id": f"ctc_{id}", "name": kind.name, "input": text,
                **status}  # fmt: skip
    if kind.type == "local_shell":
        action = {"type": "exec", "env": {}, **call.arguments}
        return {"type": "local_shell_call", "id": f"lsh_{id}", "action": action, **status}
    space = {"namespace": kind.space} if kind.space else {}
    return {"type": "function_call", "id": f"fc_{id}", "name": kind.name, "arguments": arguments,
            **space, **status}  # fmt: skip


def _ended(answer: JsonObject, output: list[JsonObject], response: ModelResponse) -> JsonObject:
    is_short = response.stop_reason in ("max_tokens", "refusal")
    reason = "max_output_tokens" if response.stop_reason == "max_tokens" else "content_filter"
    return {
        **answer,
        "status": "incomplete" if is_short else "completed",
        "incomplete_details": {"reason": reason} if is_short else None,
        "output": output,
        "usage": _usage(response.usage),
    }


def finished(model: str, response: ModelResponse, kinds: ToolKinds) -> JsonObject:
    """Return a whole answer."""
    said = [_message(response.text)] if response.text else []
    output = [*said, *(_call(call, kinds) for call in response.tool_calls)]
    return _ended(_answer(model, "in_progress"), output, response)


class ResponsesAnswerWriter:
    """One answer as a stream of events."""

    def __init__(self, model: str, kinds: ToolKinds) -> None:
        """Answer in the name of `model`; `kinds` tells how its tools are called."""
        self._answer = _answer(model, "in_progress")
        self._kinds = kinds
        self._number = 0
        self._output: list[JsonObject] = []
        self._message_id = ""
        self._said: list[str] = []
        self._is_begun = False

    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""
        sent = [self._begin()]
        if not self._message_id:
            self._message_id = f"msg_{secrets.token_hex(16)}"
            item = {**_message("", id=self._message_id), "status": "in_progress", "content": []}
            sent += [
                self._event("response.output_item.added", output_index=0, item=item),
                self._in_part("response.content_part.added", part=_part("")),
            ]
        self._said.append(piece)
        sent.append(self._in_part("response.output_text.delta", delta=piece, logprobs=[]))
        return b"".join(sent)

    def _begin(self) -> bytes:
        if self._is_begun:
            return b""
        self._is_begun = True
        return b"".join(
            self._event(f"response.{what}", response=self._answer)
            for what in ("created", "in_progress")
        )

    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is whole."""
        sent = [self._begin()]
        if response.text and not self._said:
            sent.append(self.text(response.text))
        sent.append(self._end_of_text())
        for call in response.tool_calls:
            sent.append(self._called(_call(call, self._kinds)))
        answer = _ended(self._answer, self._output, response)
        sent.append(self._event(f"response.{answer['status']}", response=answer))
        return b"".join(sent)

    def _end_of_text(self) -> bytes:
        if not self._message_id:
            return b""
        text = "".join(self._said)
        item = _message(text, id=self._message_id)
        self._output.append(item)
        return b"".join(
            [
                self._in_part("response.output_text.done", text=text, logprobs=[]),
                self._in_part("response.content_part.done", part=_part(text)),
                self._event("response.output_item.done", output_index=0, item=item),
            ]
        )

    def _called(self, item: JsonObject) -> bytes:
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

    def failed(self, failure: ProxyFailure) -> bytes:
        """Return what to send when the answer breaks off."""
        error = failure.body["error"]
        told = {"code": error["code"] or error["type"], "message": error["message"]}
        answer = {**self._answer, "status": "failed", "error": told}
        return self._begin() + self._event("response.failed", response=answer)

    def _in_part(self, type_: str, **data: Any) -> bytes:
        where = {"item_id": self._message_id, "output_index": 0, "content_index": 0}
        return self._event(type_, **where, **data)

    def _event(self, type_: str, **data: Any) -> bytes:
        body = {"type": type_, "sequence_number": self._number, **data}
        self._number += 1
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return b"event: %b\ndata: %b\n\n" % (type_.encode(), text)
