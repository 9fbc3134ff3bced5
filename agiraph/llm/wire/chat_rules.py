"""Rules for the parts of an OpenAI Chat Completions request that reach the service. Pure."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    ONLY_STANDARD,
    ItemFields,
    RequestRules,
    Values,
    check_item,
    check_limit,
    check_names,
    from_file,
    from_url,
    item_fields,
    objects_in,
    shapes,
    with_short_marks,
)
from agiraph.llm.wire.request_walk import Places

THINKING_LIMITS = (
    ("thinking", "budget_tokens"),
    ("reasoning", "max_tokens"),
    ("chat_template_kwargs", "thinking_budget"),
    ("thinking_budget", ""),
)
"""Limits of a request's reasoning: a parameter, and the field in it."""


MESSAGE = frozenset({
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal",
    "annotations", "reasoning", "reasoning_content", "reasoning_details", "thinking",
    "thinking_blocks", "extra_content", "cache_control", "prefix", "partial", "tool_name",
})  # fmt: skip
PARTS = item_fields(
    text="text cache_control prompt_cache_breakpoint",
    refusal="refusal",
    thinking="thinking closed signature",
    image_url="image_url cache_control prompt_cache_breakpoint",
    video_url="video_url cache_control prompt_cache_breakpoint",
    file="file cache_control prompt_cache_breakpoint",
    input_audio="input_audio",
)
"""The parts of a message's content, and their fields."""
PART_VALUES = {
    "image_url": frozenset({"url", "detail"}),
    "video_url": frozenset({"url"}),
    "file": frozenset({"filename", "file_data"}),
}
CALLS = item_fields(
    function="id index function extra_content",
    custom="id index custom extra_content",
)
TOOLS = item_fields(function="function strict cache_control", custom="custom cache_control")
"""The tools that the agent runs, and their fields."""
FUNCTIONS = {
    "function": frozenset({"name", "description", "parameters", "strict", "cache_control"}),
    "custom": frozenset({"name", "description", "format"}),
}
"""The fields of a tool's function, by the type of the tool."""
CALLED = {
    "function": frozenset({"name", "arguments", "thought_signature"}),
    "custom": frozenset({"name", "input"}),
}
"""The fields of a call's function, by the type of the call."""
SETTINGS = {
    "reasoning": "effort max_tokens exclude enabled summary",
    "thinking": "type budget_tokens clear_thinking display",
    "chat_template_kwargs": "enable_thinking thinking preserve_thinking clear_thinking"
    " thinking_mode thinking_budget reasoning_effort",
    "usage": "include",
    "stream_options": "include_usage include_obfuscation continuous_usage_stats",
    "response_format": "type json_schema schema name strict grammar",
    "tool_choice": "type function custom allowed_tools mode tools name",
}
"""The fields of parameters that are objects. Refused, for example: `builtin_tools`, a template's
variable with tools of the server, and `provider`, a service's own settings."""
PLACES = Places(
    top="messages tools tool_choice functions function_call response_format logit_bias stop"
    " stream_options metadata reasoning thinking chat_template_kwargs usage modalities",
    inner="content tool_calls function_call function custom annotations url_citation"
    " reasoning_details thinking thinking_blocks extra_content google cache_control"
    " prompt_cache_breakpoint file image_url video_url input_audio allowed_tools tools"
    " json_schema format grammar",
    literal={"parameters": dict, "schema": dict, "arguments": (str, dict)},
    media=r"messages\.\d+\.content\.\d+\.((image|video)url(\.url)?|file\.filedata)",
    asides={
        "annotations": "url_citation",
        "reasoning_details": "",
        "thinking_blocks": "",
        "extra_content": "google",
    },
)


class ChatRules(RequestRules):
    """The rules of Chat Completions, with the parameters of the services that use this format."""

    places = PLACES
    parameters = shapes(
        text="model tool_choice function_call stop user safety_identifier prompt_cache_key"
        " reasoning_effort reasoning_format verbosity keep_alive",
        number="temperature top_p top_k top_a min_p typical_p repetition_penalty"
        " frequency_penalty presence_penalty top_logprobs seed keep_alive",
        limit="thinking_budget",
        flag="parallel_tool_calls logprobs include_reasoning reasoning_split thinking"
        " enable_thinking cache_prompt",
        object="tool_choice function_call response_format logit_bias stream_options metadata"
        " reasoning thinking chat_template_kwargs usage",
        objects="messages tools functions",
        texts="stop",
    )
    values: ClassVar[Values] = {
        "stream": (True, False),
        "n": (1,),
        "service_tier": ONLY_STANDARD,
        "modalities": (["text"],),
    }
    fields_of: ClassVar[ItemFields] = {
        name: frozenset(fields.split()) for name, fields in SETTINGS.items()
    }
    own_choices = frozenset({"function", "custom", "allowed_tools"})
    left_out = frozenset({"store", "prompt_cache_options", "prompt_cache_retention"})
    limits = ("max_completion_tokens", "max_tokens")

    def checked(self, body: JsonObject, service_tools: Collection[str] = ()) -> JsonObject:
        kept = super().checked(body, service_tools)
        # OpenRouter forwards the cache marks of Anthropic's models.
        marked = kept.keys() & {"messages", "tools"}
        return kept | {name: with_short_marks(kept[name]) for name in marked}

    def check_content(self, body: JsonObject) -> None:
        for name, field in THINKING_LIMITS:
            value = body.get(name)
            if not field:
                check_limit(name, value)
            elif isinstance(value, dict):
                check_limit(f"{name}.{field}", value.get(field))
        for message in objects_in(body.get("messages")):
            check_names(message, MESSAGE, "messages")
            for call in objects_in(message.get("tool_calls")):
                kind = check_item(call, CALLS, "messages.tool_calls", usual="function")
                _check_inner(call, kind, CALLED[kind])
            content = message.get("content")
            for part in content if isinstance(content, list) else objects_in([content]):
                if not isinstance(part, str):
                    kind = check_item(part, PARTS, "messages.content")
                    if kind == "thinking" and isinstance(part.get(kind), list):
                        for said in part[kind]:
                            check_item(said, {"text": PARTS["text"]}, "messages.content.thinking")
                    if kind in PART_VALUES and isinstance(part.get(kind), dict):
                        check_names(part[kind], PART_VALUES[kind], kind)
        for tool in self.tools(body):
            if not self.service_tools(tool):
                kind = check_item(tool, TOOLS, "tools", usual="function")
                _check_inner(tool, kind, FUNCTIONS[kind])
        for function in objects_in(body.get("functions")):
            check_names(function, FUNCTIONS["function"], "functions")

    def chosen(self, body: JsonObject) -> Iterator[Any]:
        yield from super().chosen(body)
        if isinstance(call := body.get("function_call"), dict):
            yield call.get("name")

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for message in objects_in(body.get("messages")):
            for part in objects_in(message.get("content")):
                match part:
                    case {"type": "image_url", "image_url": {"url": url} | str(url)}:
                        yield from_url(url, is_picture=True)
                    case {"type": "video_url", "video_url": {"url": url} | str(url)}:
                        # A video may have more tokens than bytes: it counts as the whole window.
                        yield Attachment(0, is_picture=False)
                    case {"type": "file", "file": {"file_data": str(data)}}:
                        yield from_file(data)
                    case {"type": "input_audio"}:
                        raise InvalidInput("input_audio: audio has a price of its own")

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        if not isinstance(tool, dict):
            return ()
        kind = tool.get("type")
        if kind is None and not tool.keys() & TOOLS["function"]:
            # Some services have tools that are named by their field: {"google_search": {}}.
            return tuple(sorted(tool)) or ("a tool without a type",)
        return () if kind in (None, *TOOLS) else (str(kind),)


def _check_inner(holder: JsonObject, kind: str, known: Collection[str]) -> None:
    """Raise InvalidInput for a function of a tool or of a call that is not forwarded."""
    inner = holder.get(kind)
    if inner is not None and not isinstance(inner, dict):
        raise InvalidInput(f"{kind}: expected an object, not {type(inner).__name__}")
    check_names(inner or {}, known, kind)
