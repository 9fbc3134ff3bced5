"""Rules for the parts of an Anthropic Messages request that reach the service. Pure."""

import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    DATE,
    ItemFields,
    RequestRules,
    Values,
    check_item,
    check_limit,
    check_names,
    from_data,
    from_url,
    item_fields,
    objects_in,
    shapes,
    stored_object,
    with_short_marks,
    without_lifetime,
)
from agiraph.llm.wire.request_walk import Places, media_type

OWN_TOOLS = re.compile(r"custom|(bash|text_editor|memory)_\d{8}")
"""The types of tools that the agent runs."""
EDITS = "clear_"
"""The prefix of context edits that omit something; the others have it summarized."""


MESSAGE = frozenset({"role", "content", "cache_control", "clear_at", "output_config"})
OF_RESULT = "tool_use_id content is_error caller toolset_name cache_control"
OF_CODE = "content return_code stdout stderr encrypted_stdout"
BLOCKS = item_fields(
    text="text citations cache_control",
    image="source transformations cache_control",
    document="source title context citations cache_control",
    search_result="source title content citations cache_control",
    thinking="thinking signature",
    redacted_thinking="data",
    tool_use="id name input caller toolset_name cache_control",
    tool_result=OF_RESULT,
    tool_reference="tool_name cache_control",
    tool_addition="tool cache_control",
    tool_removal="tool cache_control",
    compaction="content encrypted_content signature tool_changes cache_control",
    browser_state="tabs state_changes cache_control",
    server_tool_use="id name input caller cache_control",
    mcp_tool_use="id name input server_name cache_control",
    mcp_tool_listing="mcp_server_name tools",
    mcp_tool_result=OF_RESULT,
    advisor_tool_result=OF_RESULT,
    bash_code_execution_tool_result=OF_RESULT,
    code_execution_tool_result=OF_RESULT,
    text_editor_code_execution_tool_result=OF_RESULT,
    tool_search_tool_result=OF_RESULT,
    web_fetch_tool_result=OF_RESULT,
    web_search_tool_result=OF_RESULT,
    advisor_result="text stop_reason",
    advisor_redacted_result="encrypted_content stop_reason",
    bash_code_execution_output="",
    bash_code_execution_result=OF_CODE,
    code_execution_output="",
    code_execution_result=OF_CODE,
    encrypted_code_execution_result=OF_CODE,
    text_editor_code_execution_create_result="is_file_update",
    text_editor_code_execution_str_replace_result="lines new_lines new_start old_lines old_start",
    text_editor_code_execution_view_result="content file_type num_lines start_line total_lines",
    tool_search_tool_search_result="tool_references",
    web_fetch_result="content url retrieved_at",
    web_search_result="encrypted_content title url page_age",
    **dict.fromkeys(
        (
            "advisor_tool_result_error", "bash_code_execution_tool_result_error",
            "code_execution_tool_result_error", "text_editor_code_execution_tool_result_error",
            "tool_search_tool_result_error", "web_fetch_tool_result_error",
            "web_search_tool_result_error",
        ),
        "error_code error_message",
    ),
)  # fmt: skip
"""The blocks of a message, at any depth, and their fields."""
WITH_SOURCE = ("image", "document")
"""The blocks whose source is a picture or file."""
SOURCES = item_fields(
    base64="media_type data", text="media_type data", url="url", content="content", file="file_id"
)
TOOL = frozenset({
    "type", "name", "description", "input_schema", "strict", "cache_control", "defer_loading",
    "allowed_callers", "eager_input_streaming", "input_examples", "max_characters",
})  # fmt: skip
"""The fields of the tools that the agent runs."""
PLACES = Places(
    top="messages system metadata stop_sequences thinking tools tool_choice output_config"
    " output_format context_management cache_control diagnostics",
    inner="content source citations caller tool definition tool_changes tabs state_changes"
    " transformations tools edits trigger keep clear_at_least clear_at clear_tool_inputs"
    " exclude_tools format cache_control allowed_callers tool_references lines output_config"
    " task_budget",
    literal={"input": dict, "input_schema": dict, "schema": dict, "input_examples": list},
    media=r"(messages\.\d+\.content|system)\.\d+((\.source)?\.content\.\d+)*\.source\.(url|data)",
)


class AnthropicRules(RequestRules):
    """The rules for requests of Anthropic's Messages API.

    `fallbacks` would let other models answer, at their prices. Cache marks are sent with the usual
    lifetime: a longer lifetime has another price.
    """

    places = PLACES
    parameters = shapes(
        text="model system",
        number="temperature top_k top_p",
        object="metadata thinking tool_choice output_config output_format context_management"
        " cache_control diagnostics",
        objects="messages system tools",
        texts="stop_sequences",
    )
    values: ClassVar[Values] = {
        "stream": (True, False),
        "service_tier": ("auto", "standard_only"),
        "speed": ("standard",),
        "inference_geo": ("global",),
    }
    fields_of: ClassVar[ItemFields] = {
        "thinking": frozenset({"type", "budget_tokens", "display"}),
        "tool_choice": frozenset({"type", "name", "disable_parallel_tool_use"}),
        "output_config": frozenset({"effort", "format", "task_budget"}),
        "context_management": frozenset({"edits"}),
        "metadata": frozenset({"user_id"}),
    }
    own_choices = frozenset({"auto", "any", "tool", "none"})
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
        for message in objects_in(body.get("messages")):
            check_names(message, MESSAGE, "messages")
        for own in self.tools(body):
            if not self.service_tools(own):
                check_names(own, TOOL, "tools")
        for block in _blocks(body):
            if block.get("type") == "container_upload":
                raise stored_object("container_upload")
            kind = check_item(block, BLOCKS, "content")
            if isinstance(block.get("source"), dict | list):
                if kind not in WITH_SOURCE:
                    raise InvalidInput(f"{kind}.source: expected text")
                check_item(block["source"], SOURCES, f"{kind}.source")
            tool = block.get("tool")
            definition = tool.get("definition") if isinstance(tool, dict) else None
            if kind == "tool_addition" and (names := self.service_tools(definition or {})):
                raise InvalidInput(f"tool_addition: the service itself runs {names[0]}")

    def may_shorten(self, body: JsonObject) -> bool:
        messages = objects_in(body.get("messages"))
        return (
            "context_management" in body
            or any("clear_at" in message for message in messages)
            or any(block.get("type") == "compaction" for block in _blocks(body))
        )

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for block in _blocks(body):
            source = block.get("source")
            if block.get("type") not in WITH_SOURCE or not isinstance(source, dict):
                continue
            is_picture = block["type"] == "image"
            match source.get("type"):
                case "file":
                    raise stored_object(f"{block['type']}.source.file_id")
                case "url":
                    yield from_url(source.get("url"), is_picture=is_picture)
                case "base64":
                    kind = media_type(source.get("media_type"), f"{block['type']}.media_type")
                    yield from_data(source.get("data"), kind, is_picture=is_picture)

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        kind = tool.get("type") if isinstance(tool, dict) else None
        is_own = kind is None or OWN_TOOLS.fullmatch(str(kind))
        return () if is_own else (DATE.sub("", str(kind)),)


def _blocks(body: JsonObject) -> Iterator[JsonObject]:
    """Yield all blocks of a request's system text and messages, including nested blocks."""
    waiting = [body.get("system"), *(m.get("content") for m in objects_in(body.get("messages")))]
    while waiting:
        given = waiting.pop()
        for block in objects_in(given if isinstance(given, list) else [given]):
            yield block
            waiting.append(block.get("content"))
            if isinstance(block.get("source"), dict):
                waiting.append(block["source"].get("content"))
