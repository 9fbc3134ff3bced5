"""Rules for the parts of an OpenAI Responses request that reach the service. Pure."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    DATE,
    ONLY_STANDARD,
    ItemFields,
    RequestRules,
    Values,
    check_fields,
    check_item,
    check_names,
    from_data,
    from_file,
    from_url,
    item_fields,
    objects_in,
    shapes,
    stored_object,
    with_short_marks,
)
from agiraph.llm.wire.request_walk import Places

OWN_TOOLS = ("function", "custom", "local_shell", "apply_patch", "namespace")
"""The types of tools that the agent runs, and of a namespace of such tools."""
REASONING = shapes(text="effort summary generate_summary context")


ITEMS = item_fields(
    message="id role content status phase",
    reasoning="id summary content encrypted_content status",
    compaction="id encrypted_content",
    compaction_summary="id encrypted_content",
    context_compaction="id encrypted_content",
    function_call="id call_id name arguments caller namespace status",
    function_call_output="id call_id output caller name namespace status",
    custom_tool_call="id call_id name input caller namespace status",
    custom_tool_call_output="id call_id output caller name namespace status",
    local_shell_call="id call_id action status",
    local_shell_call_output="id call_id output status",
    shell_call="id call_id action caller environment status",
    shell_call_output="id call_id output caller max_output_length status",
    apply_patch_call="id call_id operation caller status",
    apply_patch_call_output="id call_id output caller status",
    computer_call="id call_id action actions pending_safety_checks status",
    computer_call_output="id call_id output acknowledged_safety_checks status",
    tool_search_call="id call_id arguments execution status",
    tool_search_output="id call_id tools execution status",
    additional_tools="id role tools",
    web_search_call="id action status",
    file_search_call="id queries status",
    code_interpreter_call="id code outputs status",
    image_generation_call="id result status action background error output_format quality"
    " revised_prompt size",
    mcp_list_tools="id server_label tools error",
    mcp_approval_request="id name arguments server_label",
    mcp_approval_response="id approval_request_id approve reason",
    mcp_call="id name arguments server_label approval_request_id error output status",
    program="id call_id code fingerprint",
    program_output="id call_id result status",
)
"""The items of a conversation and their fields; `item_reference` is excluded."""
COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
"""The items that replace the conversation before them."""
PARTS = item_fields(
    text="text",
    input_text="text prompt_cache_breakpoint",
    output_text="text annotations logprobs",
    summary_text="text",
    reasoning_text="text",
    refusal="refusal",
    logs="logs",
    input_image="image_url detail prompt_cache_breakpoint",
    computer_screenshot="image_url detail",
    input_file="filename file_data file_url detail prompt_cache_breakpoint",
    input_audio="input_audio",
)
"""The parts of an item's content, and their fields."""
PART_LISTS = ("content", "summary", "outputs", "output")
SEALED = ("encrypted_content", "result")
"""The fields that must not be empty."""
SHELL_OUTPUT = frozenset({"stdout", "stderr", "outcome"})
TOOLS = item_fields(
    function="name description parameters strict allowed_callers defer_loading output_schema",
    custom="name description format allowed_callers defer_loading",
    local_shell="",
    apply_patch="allowed_callers",
    namespace="name description tools",
    tool_search="execution description parameters",
    shell="environment allowed_callers",
)
"""The tools that the agent runs, and their fields."""
LOCAL = item_fields(local="skills")
SKILL = frozenset({"name", "description", "path"})
APPROVAL = "mcp_approval_response"
MCP = "mcp"
BRINGING = ("additional_tools", "tool_search_output")
"""The items that bring further tools."""
CONTENT = {
    "compaction": "encrypted_content",
    "compaction_summary": "encrypted_content",
    "context_compaction": "encrypted_content",
    "function_call": "call_id name arguments",
    "function_call_output": "call_id output",
    "custom_tool_call": "call_id name input",
    "custom_tool_call_output": "call_id output",
    "local_shell_call": "action",
    "local_shell_call_output": "output",
    "shell_call": "action",
    "shell_call_output": "output",
    "apply_patch_call": "operation",
    "apply_patch_call_output": "call_id status",
    "computer_call_output": "output",
    "tool_search_call": "arguments",
    "tool_search_output": "tools",
    "additional_tools": "tools",
    "code_interpreter_call": "code",
    "image_generation_call": "result",
    "mcp_list_tools": "tools",
    "mcp_approval_request": "name arguments",
    "mcp_approval_response": "approval_request_id approve",
    "mcp_call": "name arguments",
    "program": "code",
    "program_output": "result",
}
"""The fields with an item's content. Without them a service would read its stored content by the
item's id."""
WITH_ID = frozenset({
    "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
    "apply_patch_call", "apply_patch_call_output", "computer_call", "computer_call_output",
    "image_generation_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
    "mcp_call",
})  # fmt: skip
"""The items that are sent with their id, which other items or the format need; all of them have
their content."""
PLACES = Places(
    top="input tools tool_choice reasoning text include metadata stream_options client_metadata",
    inner="content summary output outputs annotations logprobs top_logprobs bytes caller action"
    " actions path keys command environment skills operation outcome queries sources"
    " pending_safety_checks acknowledged_safety_checks tools allowed_callers format error"
    " prompt_cache_breakpoint cache_control",
    literal={
        "parameters": dict, "schema": dict, "output_schema": dict, "env": dict,
        "arguments": (str, dict), "input_schema": dict,
    },
    media=r"input\.\d+\.((content|output)\.\d+|output)\.(imageurl|fileurl|filedata)",
    asides={"annotations": ""},
)  # fmt: skip


class ResponsesRules(RequestRules):
    """The rules for requests of OpenAI's Responses API.

    Nothing is stored at the service, so a request contains everything that the model reads.
    """

    places = PLACES
    parameters = shapes(
        text="model input instructions tool_choice truncation user safety_identifier"
        " prompt_cache_key",
        number="max_tool_calls temperature top_p top_logprobs",
        flag="parallel_tool_calls",
        object="tool_choice reasoning text metadata stream_options client_metadata",
        objects="input tools",
        texts="include",
    )
    values: ClassVar[Values] = {
        "stream": (True, False),
        "background": (False,),
        "service_tier": ONLY_STANDARD,
    }
    fields_of: ClassVar[ItemFields] = {
        "text": frozenset({"format", "verbosity"}),
        "stream_options": frozenset({"include_obfuscation"}),
    }
    own_choices = frozenset({
        "function", "custom", "allowed_tools", "shell", "local_shell", "apply_patch", "namespace",
        "tool_search",
    })  # fmt: skip
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
        for item in items:
            if item.get("type") == APPROVAL and item.get("approve") and MCP not in service_tools:
                raise InvalidInput(
                    f"{APPROVAL}: approve starts a tool of the service, at a cost that no budget "
                    f"sees (possible: false, or {MCP} in door.service_tools)"
                )
        return kept | {"input": [self._sent(item, service_tools) for item in items]}

    def _sent(self, item: JsonObject, allowed: Collection[str]) -> JsonObject:
        """Return an item without the tools that are not allowed, and without its id.

        By an id the service could read a stored item instead of this one.
        """
        kind = item.get("type")
        if kind not in WITH_ID:
            item = {name: value for name, value in item.items() if name != "id"}
        if kind in BRINGING:
            # Items may bring further tools, from their place in the conversation on.
            kept = (self.allowed_tool(tool, allowed) for tool in self.tools(item))
            item = item | {"tools": [tool for tool in kept if tool is not None]}
        sent: JsonObject = with_short_marks(item)
        return sent

    def without_service_tools(self, body: JsonObject) -> JsonObject:
        kept = super().without_service_tools(body)
        if isinstance(items := kept.get("input"), list):
            kept["input"] = [
                super(ResponsesRules, self).without_service_tools(item)
                if isinstance(item, dict) and item.get("type") in BRINGING
                else item
                for item in items
            ]
        return kept

    def check_content(self, body: JsonObject) -> None:
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict):
            given = {name: value for name, value in reasoning.items() if value is not None}
            check_fields(given, REASONING, {"mode": ("standard",)}, where="reasoning.")
        if not isinstance(body.get("instructions", ""), str):
            raise InvalidInput("instructions: expected text")
        given_items = body.get("input", [])
        if not isinstance(given_items, str | list):
            raise InvalidInput("input: expected text or a list of items")
        items = [] if isinstance(given_items, str) else given_items
        for number, item in enumerate(items):
            _check_item(item, f"input.{number}")
        for tool in self.own_tools(body):
            self._check_tool(tool)

    def own_tools(self, body: JsonObject) -> list[Any]:
        items = objects_in(body.get("input"))
        bringing = [item for item in items if item.get("type") in BRINGING]
        return [tool for holder in (body, *bringing) for tool in self.tools(holder)]

    def _check_tool(self, tool: Any) -> None:
        """Raise InvalidInput for a field of one of the agent's own tools that is not forwarded."""
        if isinstance(tool, dict) and tool.get("type") == "namespace":
            for inner in _inner(tool):
                self._check_tool(inner)
        elif self.service_tools(tool):
            return
        if check_item(tool, TOOLS, "tools") == "shell":
            check_item(tool["environment"], LOCAL, "shell.environment")
            for skill in objects_in(tool["environment"].get("skills")):
                check_names(skill, SKILL, "shell.environment.skills")

    def may_shorten(self, body: JsonObject) -> bool:
        items = objects_in(body.get("input"))
        return "truncation" in body or any(item.get("type") in COMPACTIONS for item in items)

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        for item in objects_in(body.get("input")):
            if isinstance(item.get("result"), str) and item.get("type") == "image_generation_call":
                yield from_data(item["result"], "image/png", is_picture=True)
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


def _check_item(item: Any, where: str) -> None:
    """Raise InvalidInput for an item that refers to stored content, or may cost more."""
    match item:
        case {"type": "compaction_trigger"}:
            raise InvalidInput("compaction_trigger: compact the conversation yourself")
        case {"type": "item_reference"}:
            raise stored_object(f"{where}: item_reference")
        case {"id": _} if item.get("type") is None and item.get("role") is None:
            raise stored_object(f"{where}: an item_reference (an id without a type)")
    kind = check_item(item, ITEMS, where, usual="message")
    if kind == "message" and not (
        isinstance(item.get("role"), str) and isinstance(item.get("content"), str | list)
    ):
        raise InvalidInput(f"{where}: a message needs a role and content (text or a list of parts)")
    for name in CONTENT.get(kind, "").split():
        if item.get(name) is None or (item[name] == "" and name in SEALED):
            raise stored_object(f"{where}: {kind} without {name}")
    if kind == "computer_call" and item.get("action") is None and not item.get("actions"):
        raise stored_object(f"{where}: {kind} without action")
    if kind == "shell_call" and item.get("environment") is not None:
        check_item(item["environment"], LOCAL, "shell_call.environment")
    if kind == "shell_call_output":
        for output in objects_in(item.get("output")):
            check_names(output, SHELL_OUTPUT, "shell_call_output.output")
        return
    for name in PART_LISTS:
        held = item.get(name)
        for part in held if isinstance(held, list) else [held] if isinstance(held, dict) else []:
            _check_part(part, f"{where}.{name}")


def _check_part(part: Any, where: str) -> None:
    check_item(part, PARTS, where)


def _inner(space: JsonObject) -> list[JsonObject]:
    """Return the tools of a namespace, which contains no further namespaces."""
    return [tool for tool in objects_in(space.get("tools")) if tool.get("type") != "namespace"]


def _attached(part: JsonObject) -> Iterator[Attachment]:
    match part.get("type"):
        case "input_image" | "computer_screenshot":
            yield from_url(part.get("image_url"), is_picture=True)
        case "input_file":
            if part.get("file_url") is not None or part.get("file_data") is None:
                yield from_url(part.get("file_url"), is_picture=False)
            if part.get("file_data") is not None:
                yield from_file(part["file_data"])
        case "input_audio":
            raise InvalidInput("input_audio: audio has a price of its own")
