"""What of a request in OpenAI's Responses format reaches the service. Pure."""

import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    ONLY_STANDARD,
    RequestRules,
    Values,
    check_fields,
    file_data,
    from_url,
    objects_in,
    stored_object,
)

OWN_TOOLS = ("function", "custom", "local_shell", "apply_patch", "namespace")
"""The types of tools that the agent runs, and that of a namespace of them."""
DATE = re.compile(r"(_preview)?(_\d{4}_\d{2}_\d{2})?$")
REASONING = frozenset({"effort", "summary", "generate_summary", "context"})


class ResponsesRules(RequestRules):
    """The rules of Responses.

    Nothing is stored at the service, so a request contains all that the model reads.
    """

    parameters = frozenset({
        "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls",
        "max_tool_calls", "reasoning", "text", "temperature", "top_p", "top_logprobs",
        "truncation", "include", "metadata", "stream_options", "user", "safety_identifier",
        "prompt_cache_key", "client_metadata",
    })  # fmt: skip
    values: ClassVar[Values] = {
        "stream": (True, False),
        "background": (False,),
        "service_tier": ONLY_STANDARD,
    }
    left_out = frozenset({
        "store", "background_options", "prompt_cache_options", "prompt_cache_retention",
    })  # fmt: skip
    limits = ("max_output_tokens",)
    stored = ("previous_response_id", "conversation", "prompt")

    def checked(self, body: JsonObject, service_tools: Collection[str] = ()) -> JsonObject:
        kept = super().checked(body, service_tools)
        items = kept.get("input")
        if not isinstance(items, list):
            return kept
        # Items may bring further tools, from their place in the conversation on.
        return kept | {"input": [self._with_own_tools(item, service_tools) for item in items]}

    def _with_own_tools(self, item: Any, allowed: Collection[str]) -> Any:
        if not isinstance(item, dict) or not isinstance(item.get("tools"), list):
            return item
        kept = (self.allowed_tool(tool, allowed) for tool in item["tools"])
        return item | {"tools": [tool for tool in kept if tool is not None]}

    def check_content(self, body: JsonObject) -> None:
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict):
            given = {name: value for name, value in reasoning.items() if value is not None}
            check_fields(given, REASONING, {"mode": ("standard",)}, where="reasoning.")
        for item in objects_in(body.get("input")):
            match item.get("type"):
                case "item_reference":
                    raise stored_object("item_reference")
                case "compaction_trigger":
                    raise InvalidInput("compaction_trigger: compact the conversation yourself")

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for item in objects_in(body.get("input")):
            if isinstance(item.get("result"), str) and item.get("type") == "image_generation_call":
                yield Attachment(len(item["result"]), is_picture=True)
            output = item.get("output")
            parts = objects_in(item.get("content")) + objects_in(output)
            for part in parts + objects_in([output]):
                yield from _attached(part)

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        if not isinstance(tool, dict):
            return ()
        match tool:
            case {"type": "tool_search", "execution": "client"}:
                return ()
            case {"type": "shell", "environment": {"type": "local"}}:
                return ()
            case {"type": "namespace"}:
                return tuple(name for one in _inner(tool) for name in self.service_tools(one))
        kind = str(tool.get("type"))
        return () if kind in OWN_TOOLS else (DATE.sub("", kind),)

    def allowed_tool(self, tool: Any, allowed: Collection[str]) -> Any | None:
        if isinstance(tool, dict) and tool.get("type") == "namespace":
            kept = [self.allowed_tool(one, allowed) for one in _inner(tool)]
            return tool | {"tools": [one for one in kept if one is not None]}
        return super().allowed_tool(tool, allowed)


def _inner(space: JsonObject) -> list[JsonObject]:
    """Return the tools of a namespace, which has no further namespaces in it."""
    return [tool for tool in objects_in(space.get("tools")) if tool.get("type") != "namespace"]


def _attached(part: JsonObject) -> Iterator[Attachment]:
    match part.get("type"):
        case "input_image" | "computer_screenshot" | "input_file" if part.get("file_id"):
            raise stored_object(f"{part['type']}.file_id")
        case "input_image" | "computer_screenshot":
            yield from_url(part.get("image_url"), is_picture=True)
        case "input_file":
            yield file_data(part.get("file_data"))
        case "input_audio":
            raise InvalidInput("input_audio: audio has a price of its own")
