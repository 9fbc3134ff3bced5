"""What of a request in OpenAI's Chat Completions format reaches the service. Pure."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    ONLY_STANDARD,
    RequestRules,
    Values,
    check_limit,
    file_data,
    from_url,
    objects_in,
    stored_object,
    with_short_marks,
)

THINKING_LIMITS = (
    ("thinking", "budget_tokens"),
    ("reasoning", "max_tokens"),
    ("thinking_budget", ""),
)
"""Where a request limits its reasoning: a parameter, and the field in it."""


class ChatRules(RequestRules):
    """The rules of Chat Completions, with the parameters of the services that speak it."""

    parameters = frozenset({
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions",
        "function_call", "response_format", "temperature", "top_p", "top_k", "top_a", "min_p",
        "typical_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "logit_bias",
        "logprobs", "top_logprobs", "seed", "stop", "stream_options", "user", "safety_identifier",
        "metadata", "prompt_cache_key", "reasoning_effort", "reasoning", "include_reasoning",
        "reasoning_format", "reasoning_split", "thinking", "enable_thinking", "thinking_budget",
        "chat_template_kwargs", "verbosity", "usage", "cache_prompt", "keep_alive",
    })  # fmt: skip
    values: ClassVar[Values] = {
        "stream": (True, False),
        "n": (1,),
        "service_tier": ONLY_STANDARD,
        "modalities": (["text"],),
    }
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
            if isinstance(message.get("audio"), dict):
                raise stored_object("messages.audio")

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for message in objects_in(body.get("messages")):
            for part in objects_in(message.get("content")):
                match part:
                    case {"type": "image_url", "image_url": {"url": url} | str(url)}:
                        yield from_url(url, is_picture=True)
                    case {"type": "video_url", "video_url": {"url": url} | str(url)}:
                        yield from_url(url, is_picture=False)
                    case {"type": "file", "file": {"file_id": str()}}:
                        raise stored_object("file.file_id")
                    case {"type": "file", "file": {"file_data": str(data)}}:
                        yield file_data(data)
                    case {"type": "input_audio"}:
                        raise InvalidInput("input_audio: audio has a price of its own")

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        kind = tool.get("type", "function") if isinstance(tool, dict) else "function"
        return () if kind in ("function", "custom") else (str(kind),)
