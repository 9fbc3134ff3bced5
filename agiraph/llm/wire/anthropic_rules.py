"""What of a request in Anthropic's Messages format reaches the service. Pure."""

import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    RequestRules,
    Values,
    check_limit,
    from_url,
    objects_in,
    stored_object,
    with_short_marks,
    without_lifetime,
)

OWN_TOOLS = re.compile(r"custom|(bash|text_editor|memory)_\d{8}")
"""The types of tools that the agent runs."""
DATE = re.compile(r"_\d{8}$")
EDITS = "clear_"
"""How the edits of a context begin that leave something out; the others have it summarized."""


class AnthropicRules(RequestRules):
    """The rules of Messages.

    `fallbacks` would have other models answer, at their prices. Cache marks are sent with the usual
    lifetime: a longer one has another price.
    """

    parameters = frozenset({
        "model", "messages", "system", "metadata", "stop_sequences", "temperature", "top_k",
        "top_p", "thinking", "tools", "tool_choice", "output_config", "output_format",
        "context_management", "cache_control", "diagnostics",
    })  # fmt: skip
    values: ClassVar[Values] = {
        "stream": (True, False),
        "service_tier": ("auto", "standard_only"),
        "speed": ("standard",),
        "inference_geo": ("global",),
    }
    left_out = frozenset({"fallbacks", "fallback_credit_token"})
    limits = ("max_tokens",)
    stored = ("container", "thread")

    def checked(self, body: JsonObject, service_tools: Collection[str] = ()) -> JsonObject:
        kept = super().checked(body, service_tools)
        for name in kept.keys() & {"system", "tools", "messages"}:
            kept[name] = with_short_marks(kept[name])
        if "cache_control" in kept:
            kept["cache_control"] = without_lifetime(kept["cache_control"])
        return kept

    def check_content(self, body: JsonObject) -> None:
        thinking, context = body.get("thinking"), body.get("context_management")
        if isinstance(thinking, dict):
            check_limit("thinking.budget_tokens", thinking.get("budget_tokens"))
        if isinstance(context, dict):
            for edit in objects_in(context.get("edits")):
                if not str(edit.get("type")).startswith(EDITS):
                    raise InvalidInput(
                        f"context_management.edits: {edit.get('type')} has the service call the "
                        f"model once more (possible: {EDITS}tool_uses, {EDITS}thinking)"
                    )
        for block in _blocks(body):
            tool = block.get("tool")
            if block.get("type") == "tool_addition" and isinstance(tool, dict):
                if names := self.service_tools(tool.get("definition") or {}):
                    raise InvalidInput(f"tool_addition: the service itself runs {names[0]}")
            elif block.get("type") == "container_upload":
                raise stored_object("container_upload")

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for block in _blocks(body):
            source = block.get("source")
            if block.get("type") not in ("image", "document") or not isinstance(source, dict):
                continue
            is_picture = block["type"] == "image"
            match source.get("type"):
                case "file":
                    raise stored_object(f"{block['type']}.source.file_id")
                case "url":
                    yield from_url(source.get("url"), is_picture=is_picture)
                case "base64":
                    yield Attachment(len(str(source.get("data"))), is_picture=is_picture)

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        kind = tool.get("type") if isinstance(tool, dict) else None
        is_own = kind is None or OWN_TOOLS.fullmatch(str(kind))
        return () if is_own else (DATE.sub("", str(kind)),)


def _blocks(body: JsonObject) -> Iterator[JsonObject]:
    """Yield all blocks of a request's messages, those inside of others too."""
    waiting = [one.get("content") for one in objects_in(body.get("messages"))]
    while waiting:
        for block in objects_in(waiting.pop()):
            yield block
            waiting.append(block.get("content"))
            if isinstance(block.get("source"), dict):
                waiting.append(block["source"].get("content"))
