r"""Reader of calls that a model wrote into its text, in the forms that models use.

    <tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>     as requested
    <function=bash>{"command": "ls"}</function>                                 and other forms
    <function=bash><parameter=command>ls</parameter></function>
    ```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```              as the answer's end

The names of the tags and of the two keys vary. Slips of JSON are repaired (`lenient_json`). A call
that cannot be read without guessing is malformed: it is answered, never run. JSON without a tag is
a call only if it cannot be anything else: a known tool and its arguments, and no text after it.
Text between <think> and </think> contains no call.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agiraph.core.turns import JsonObject, ToolCall, ToolSchema
from agiraph.llm.text_tools.lenient_json import UnreadableJson, read_value, read_whole

NAMES = r"tool[_-]?calls?|function[_-]?calls?"
OPENER = re.compile(rf"<\|?(?:{NAMES})\|?>|\[(?:TOOL_CALLS?)\]|<function=", re.IGNORECASE)
CLOSER = re.compile(rf"<\|?/(?:{NAMES})\|?>|\[/(?:TOOL_CALLS?)\]|</function>", re.IGNORECASE)
FUNCTION = re.compile(r"\s*(?:<function=|=)?\s*[\"']?(?P<name>[\w.-]+)[\"']?\s*>", re.IGNORECASE)
FUNCTION_OPENER = re.compile(r"\s*<function=", re.IGNORECASE)
PARAMETER = re.compile(r"\s*<parameter=[\"']?(?P<name>[\w.-]+)[\"']?>")
PARAMETER_END = "</parameter>"
FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n?")
FENCE_END = re.compile(r"\s*```")
NEXT = re.compile(r"[\s,]*(?=\{)")
LAST_FENCE = re.compile(r"```(?:json|tool_calls?|tool_code|)[ \t]*\n(?P<body>[^`]*)```\s*\Z")
LAST_OBJECT = re.compile(r"^[^\S\n]*(?=\{)", re.MULTILINE)
LAST_OBJECTS = 200
"""The number of lines beginning with an object that are tried as a call without a tag."""
NO_SPACE = re.compile(r"\S")
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
SURPLUS = re.compile(r"(?:\s*[}\]])*")
GUESSED_NAME = re.compile(r"[\"']?name[\"']?\s*[:=]\s*[\"']([\w.-]+)[\"']|<function=([\w.-]+)")
NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input", "tool_input")
OTHER_KEYS = {"id", "type"}
UNKNOWN = "unknown"
GOES_ON = (",", ":", '"', "'", "{", "}", "[", "]")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer's text without its calls, and the calls; their ids are empty."""

    text: str
    calls: tuple[ToolCall, ...]


class _Tags:
    """The places of a text's tags, found once: a search for each call takes quadratic time."""

    def __init__(self, text: str) -> None:
        self._openers = [found.start() for found in OPENER.finditer(text)]
        self._closers = [found.span() for found in CLOSER.finditer(text)]

    def opener(self, at: int) -> int | None:
        """Return the index of the first opening tag from `at` on, None if there is none."""
        place = bisect_left(self._openers, at)
        return self._openers[place] if place < len(self._openers) else None

    def closer(self, at: int) -> tuple[int, int] | None:
        """Return start and end of the first closing tag from `at` on, None if there is none."""
        place = bisect_left(self._closers, (at, 0))
        return self._closers[place] if place < len(self._closers) else None


def read_calls(text: str, tools: Sequence[ToolSchema]) -> ParsedAnswer:
    """Return the text of an answer without its calls, and the calls."""
    spoken = THOUGHT.sub("", text)
    tags = _Tags(spoken)
    pieces: list[str] = []
    calls: list[ToolCall] = []
    at = 0
    while (opener := OPENER.search(spoken, at)) is not None:
        pieces.append(spoken[at : opener.start()])
        is_function = opener[0].lower() == "<function="
        start = opener.start() if is_function else opener.end()
        found, at = _tagged(spoken, start, tags, tools)
        calls += found
    pieces.append(spoken[at:])
    said = CLOSER.sub("", "".join(pieces)) if calls else "".join(pieces)
    if not calls:
        said, calls = _untagged(said, {tool.name for tool in tools})
    return ParsedAnswer(said.strip(), tuple(calls))


def problem_of(malformed: str, tools: Sequence[ToolSchema]) -> str:
    """Return why the text `malformed` is not a call, for the model that wrote it."""
    try:
        _calls_in(malformed, tools)
    except UnreadableJson as error:
        return str(error)
    return "it is not complete"


def _tagged(
    text: str, start: int, tags: _Tags, tools: Sequence[ToolSchema]
) -> tuple[list[ToolCall], int]:
    """Return the calls from `start` on, after an opening tag, and where the text continues."""
    limit, after = _end_of_tag(text, start, tags)
    try:
        calls, end = _scan(text, start, tools)
    except UnreadableJson:
        return [_malformed(text[start:limit].strip())], after
    closer = CLOSER.match(text, _skip_space(text, end))
    while closer is not None:
        end = closer.end()
        closer = CLOSER.match(text, _skip_space(text, end))
    is_closed = after > limit
    if (end < limit and is_closed) or not (is_closed or _may_end(text, end)):
        return [_malformed(text[start:limit].strip())], after
    return calls, end


def _may_end(text: str, end: int) -> bool:
    """Whether a call without a closing tag may end at `end`: its JSON and its line end there.

    Another tag, or the end of its tag after a quoted string, may follow on the same line.
    """
    if OPENER.match(text, _skip_space(text, end)) or CLOSER.match(text, max(0, end - 1)):
        return True
    rest = NO_SPACE.search(text, end)
    if rest is None:
        return True
    is_line_over = text.find("\n", end, rest.start()) >= 0
    return is_line_over and not text.startswith(GOES_ON, rest.start())


def _end_of_tag(text: str, start: int, tags: _Tags) -> tuple[int, int]:
    """Return the end of a tag's content, and the end of the tag itself."""
    following = tags.opener(start + 1 if text.startswith("<", start) else start)
    closer = tags.closer(start)
    place = len(text) if following is None else following
    is_nested = FUNCTION_OPENER.match(text, start) is not None
    if closer is None or (closer[0] > place and not is_nested):
        return place, place
    return closer


def _calls_in(text: str, tools: Sequence[ToolSchema]) -> list[ToolCall]:
    calls, end = _scan(text, 0, tools)
    if text[end:].strip():
        raise UnreadableJson(
            f"there is more behind the call: {json.dumps(text[end:].strip()[:20])}"
        )
    return calls


def _scan(text: str, at: int, tools: Sequence[ToolSchema]) -> tuple[list[ToolCall], int]:
    """Return one or more calls from `at` on, and their end; UnreadableJson."""
    if (FUNCTION_OPENER.match(text, at)) is not None:
        call, at = _function(text, at, tools)
        return [call], at
    fence = FENCE.match(text, at)
    at = fence.end() if fence else at
    calls: list[ToolCall] = []
    while True:
        value, at = read_value(text, at)
        calls += [_call_of(one) for one in (value if isinstance(value, list) else [value])]
        at = _skip_surplus(text, at)
        following = NEXT.match(text, at)
        if following is None:
            break
        at = following.end()
    if not calls:
        raise UnreadableJson("there is no call in it")
    end = FENCE_END.match(text, at) if fence else None
    return calls, end.end() if end else at


def _skip_surplus(text: str, at: int) -> int:
    """Return the place after surplus closing brackets, which have no meaning."""
    found = SURPLUS.match(text, at)
    return found.end() if found else at


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _function(text: str, at: int, tools: Sequence[ToolSchema]) -> tuple[ToolCall, int]:
    """Return the call of a <function=NAME> tag: JSON of its arguments, or a tag for each."""
    head = FUNCTION.match(text, at)
    if head is None:
        raise UnreadableJson("<function=NAME> has no name")
    name, at = head["name"], _skip_space(text, head.end())
    arguments: JsonObject = {}
    if text.startswith(("{", "```"), at):
        fence = FENCE.match(text, at)
        value, at = read_value(text, fence.end() if fence else at)
        at = _skip_surplus(text, at)
        end = FENCE_END.match(text, at) if fence else None
        return ToolCall(id="", name=name, arguments=_arguments(value)), end.end() if end else at
    types = _types_of(name, tools)
    while (given := PARAMETER.match(text, at)) is not None:
        value_end = text.find(PARAMETER_END, given.end())
        if value_end < 0:
            break
        if given["name"] in arguments:
            raise UnreadableJson(f"the parameter {given['name']} comes twice")
        value = text[given.end() : value_end]
        arguments[given["name"]] = _typed(value, types.get(given["name"], "string"))
        at = value_end + len(PARAMETER_END)
    if CLOSER.match(text, _skip_space(text, at)) is None:
        raise UnreadableJson("<function=...> has no end: </function> is missing")
    return ToolCall(id="", name=name, arguments=arguments), at


def _types_of(name: str, tools: Sequence[ToolSchema]) -> dict[str, Any]:
    """Return the JSON type of each parameter of a tool, "string" where several are possible."""
    schema = next((tool.parameters for tool in tools if tool.name == name), {})
    properties = schema.get("properties") or {}
    return {key: about.get("type", "string") for key, about in properties.items()}


def _typed(text: str, type: Any) -> Any:
    """Return the value of a parameter written without quotes: its text, or JSON for other types.

    One line break at either end belongs to the tag.
    """
    if type == "string":
        return text.removeprefix("\n").removesuffix("\n")
    return read_whole(text)


def _call_of(value: Any) -> ToolCall:
    """Return the call that a JSON object describes; UnreadableJson if it describes none."""
    if not isinstance(value, dict):
        raise UnreadableJson("a call is an object with `name` and `arguments`")
    if isinstance(value.get("function"), dict):  # the form of OpenAI's API
        return _call_of(value["function"])
    names = [key for key in NAME_KEYS if isinstance(value.get(key), str)]
    given = [key for key in ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(given) > 1:
        raise UnreadableJson("a call has one `name` and one object of `arguments`")
    if surplus := set(value) - {*names, *given} - OTHER_KEYS:
        listed = ", ".join(sorted(surplus))
        raise UnreadableJson(f"a call has `name` and `arguments`, and nothing else ({listed})")
    arguments = _arguments(value[given[0]]) if given else {}
    return ToolCall(id="", name=value[names[0]], arguments=arguments)


def _arguments(value: Any) -> JsonObject:
    """Return a call's arguments, which some models write as JSON text; UnreadableJson."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = read_whole(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableJson("`arguments` is an object")
    return value


def _malformed(raw: str) -> ToolCall:
    guess = GUESSED_NAME.search(raw)
    name = next(filter(None, guess.groups()), UNKNOWN) if guess else UNKNOWN
    return ToolCall(id="", name=name, malformed=raw)


def _untagged(text: str, known: set[str]) -> tuple[str, list[ToolCall]]:
    """Return text and calls of an answer; the call at its end may be without a tag."""
    for place, body in _last_objects(text):
        try:
            calls = _calls_in(body, ())
        except UnreadableJson:
            continue
        has_arguments = any(key in body for key in ARGUMENT_KEYS)
        if has_arguments and all(call.name in known for call in calls):
            return text[:place], calls
    return text, []


def _last_objects(text: str) -> Iterator[tuple[int, str]]:
    if (fenced := LAST_FENCE.search(text)) is not None:
        yield fenced.start(), fenced["body"]
    elif "```" not in text:
        for start in islice(LAST_OBJECT.finditer(text), LAST_OBJECTS):
            yield start.start(), text[start.end() :]
