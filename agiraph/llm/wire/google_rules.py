"""Rules for the parts of a Google Gemini request that reach the service. Pure."""

import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_rules import (
    RequestRules,
    Values,
    check_fields,
    check_limit,
    check_names,
    from_data,
    objects_in,
    shapes,
    stored_object,
)
from agiraph.llm.wire.request_walk import Places, media_type, shown

OWN_TOOLS = "functionDeclarations"
DYNAMIC = -1
"""The thinking budget of a model that decides by itself."""


CONTENT = frozenset({"role", "parts"})
PART = frozenset({
    "text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse",
    "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata",
    "mediaResolution", "partMetadata",
})  # fmt: skip
"""The fields of a part of a content, or of a function's response."""
PART_VALUES = {
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "mediaResolution": frozenset({"level"}),
    "videoMetadata": frozenset({"startOffset", "endOffset", "fps"}),
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset({
        "id", "name", "response", "willContinue", "scheduling", "parts",
    }),
}  # fmt: skip
FIELDS = {
    "toolConfig": frozenset({"functionCallingConfig", "retrievalConfig"}),
    "thinkingConfig": frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"}),
    "safetySettings": frozenset({"category", "threshold", "method"}),
}
"""The fields of settings that are objects."""
PLACES = Places(
    top="contents systemInstruction tools toolConfig safetySettings generationConfig labels",
    inner="parts inlineData functionCall functionResponse executableCode codeExecutionResult"
    " toolCall toolResponse videoMetadata mediaResolution partMetadata partialArgs"
    " functionDeclarations functionCallingConfig allowedFunctionNames retrievalConfig latLng"
    " stopSequences responseModalities thinkingConfig",
    literal={
        "args": dict, "response": dict, "parameters": dict, "parametersJsonSchema": (dict, bool),
        "responseSchema": dict, "responseJsonSchema": (dict, bool),
    },
    media=r"(contents(\.\d+)?|systeminstruction)\.parts(\.\d+)?"
    r"(\.functionresponse\.parts(\.\d+)?)*\.inlinedata\.data",
)  # fmt: skip


class GoogleRules(RequestRules):
    """The rules of Gemini. A name may be in camel case or in snake case; camel case is sent.

    `model` and `stream` are in the path of a request; the LLM proxy puts them into the body.
    """

    places = PLACES
    parameters = shapes(
        text="model systemInstruction",
        object="contents systemInstruction tools toolConfig safetySettings generationConfig labels",
        objects="contents tools safetySettings",
    )
    values: ClassVar[Values] = {"stream": (True, False)}
    limits = ()
    stored = ("cachedContent",)
    settings = shapes(
        text="responseMimeType mediaResolution",
        number="temperature topP topK seed presencePenalty frequencyPenalty logprobs",
        flag="responseLogprobs enableEnhancedCivicAnswers responseJsonSchema",
        object="responseSchema responseJsonSchema thinkingConfig",
        texts="stopSequences",
    )
    setting_values: ClassVar[Values] = {
        "candidateCount": (1,),
        "responseModalities": (["TEXT"], ["Text"]),
    }
    setting_limits = ("maxOutputTokens",)

    def checked(self, body: JsonObject, service_tools: Collection[str] = ()) -> JsonObject:
        named = in_camel_case(body)
        config = named.get("generationConfig")
        if isinstance(config, dict):
            config = in_camel_case(config, "generationConfig.")
            thinking = config.get("thinkingConfig")
            if isinstance(thinking, dict):
                config["thinkingConfig"] = in_camel_case(thinking, "thinkingConfig.")
            named["generationConfig"] = config
        return super().checked(named, service_tools)

    def limit(self, body: JsonObject) -> int | None:
        config = in_camel_case(body).get("generationConfig")
        limit = None
        if isinstance(config, dict):
            limit = in_camel_case(config, "generationConfig.").get("maxOutputTokens")
        check_limit("maxOutputTokens", limit)
        return limit

    def check_content(self, body: JsonObject) -> None:
        config = body.get("generationConfig", {})
        if not isinstance(config, dict):
            raise InvalidInput("generationConfig: expected an object")
        given = {name: value for name, value in config.items() if value is not None}
        check_fields(
            given,
            self.settings,
            self.setting_values,
            self.setting_limits,
            where="generationConfig.",
        )
        for name, value in (*body.items(), *given.items()):
            for one in objects_in(value) if isinstance(value, list) else objects_in([value]):
                if name in FIELDS:
                    check_names(in_camel_case(one, f"{name}."), FIELDS[name], name)
        thinking = config.get("thinkingConfig")
        budget = thinking.get("thinkingBudget") if isinstance(thinking, dict) else None
        if budget is not None and (type(budget) is not int or budget < DYNAMIC):
            raise InvalidInput(
                f"thinkingBudget: {shown(budget)} is no limit (possible: a whole number of tokens, "
                f"{DYNAMIC} for the model's own decision)"
            )

    def chosen(self, body: JsonObject) -> Iterator[Any]:
        config = in_camel_case(_mapping(body.get("toolConfig")), "toolConfig.")
        calling = _mapping(config.get("functionCallingConfig"))
        names = in_camel_case(calling).get("allowedFunctionNames")
        yield from names if isinstance(names, list) else [] if names is None else [names]

    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        contents = body.get("contents")
        listed = contents if isinstance(contents, list) else [contents]
        for content in objects_in([*listed, body.get("systemInstruction")]):
            check_names(in_camel_case(content, "contents."), CONTENT, "contents")
            yield from _attached(content.get("parts"))

    def tools(self, body: JsonObject) -> list[Any]:
        tools = body.get("tools")
        return [tools] if isinstance(tools, dict) else super().tools(body)

    def service_tools(self, tool: Any) -> tuple[str, ...]:
        if not isinstance(tool, dict):
            return ()
        return tuple(name for name in map(camel_case, tool) if name != OWN_TOOLS)

    def why_native_only(self, body: JsonObject) -> str:
        # An entry of `tools` may contain functions and tools of the service.
        if any(
            camel_case(name) == OWN_TOOLS for tool in objects_in(self.tools(body)) for name in tool
        ):
            return ""
        return super().why_native_only(body)

    def allowed_tool(self, tool: Any, allowed: Collection[str]) -> Any | None:
        if not isinstance(tool, dict):
            return tool
        sent = {*allowed, OWN_TOOLS}
        return {name: value for name, value in tool.items() if camel_case(name) in sent} or None


def camel_case(name: str) -> str:
    """Return a name in camel case."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def in_camel_case(given: JsonObject, where: str = "") -> JsonObject:
    """Return the fields with their names in camel case. Raises InvalidInput for a duplicate."""
    named: JsonObject = {}
    for name, value in given.items():
        if (camel := camel_case(name)) in named:
            raise InvalidInput(f"{where}{camel}: given twice, as {camel} and in snake case")
        named[camel] = value
    return named


def _mapping(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _object(value: Any, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise InvalidInput(f"parts.{name}: {shown(value)} is not an object")
    return value


def _attached(parts: Any) -> Iterator[Attachment]:
    waiting = [parts]
    while waiting:
        given = waiting.pop()
        for part in objects_in(given if isinstance(given, list) else [given]):
            named = in_camel_case(part, "parts.")
            if named.get("fileData") is not None:
                raise stored_object("fileData")
            check_names(named, PART, "parts")
            values = {
                name: in_camel_case(_object(named[name], name), f"{name}.")
                for name in PART_VALUES
                if named.get(name) is not None
            }
            for name, value in values.items():
                check_names(value, PART_VALUES[name], name)
            if (data := values.get("inlineData")) is not None:
                kind = media_type(data.get("mimeType"), "inlineData.mimeType")
                yield from_data(data.get("data"), kind, is_picture=True)
            waiting.append(values.get("functionResponse", {}).get("parts"))
