"""Tools for models that have none: schemas in the prompt, calls as `<tool_call>` tags in the text.

`text:` before a model's name (`text:ollama/gemma3`) puts this between the broker and the provider.
Pure but for TextTools, the shell that wraps a provider.
"""

import json
import re

from agiraph.providers.base import OnText, Provider
from agiraph.providers.transcript import read_arguments, spoken, unique_calls
from agiraph.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)

OPEN, CLOSE = "<tool_call>", "</tool_call>"
# The last tag may lack its end: models forget it, or the answer was as long as it might be.
TAG = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)
NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')

INTRODUCTION = f"""## Available tools

To call a tool, output EXACTLY this, on a line of its own:

{OPEN}{{"name": "tool_name", "arguments": {{"key": "value"}}}}{CLOSE}

You can make several calls in one answer. After your calls, stop: their results are told to you in
the next message. Never write a result yourself.
"""


def as_text(request: ModelRequest) -> ModelRequest:
    """Return the same request with no tools: schemas, calls and results are told in words."""
    system = "\n\n".join([request.system, INTRODUCTION, *map(_tool, request.tools)])
    turns = tuple(_told(turn) for turn in request.turns)
    return request.model_copy(
        update={"system": system if request.tools else request.system, "turns": turns, "tools": ()}
    )


def _tool(tool: ToolSchema) -> str:
    schema = json.dumps(tool.parameters, ensure_ascii=False)
    return f"### {tool.name}\n\n{tool.description}\n\nParameters: `{schema}`"


def _told(turn: Turn) -> Turn:
    match turn:
        case UserTurn():
            return turn
        case ToolTurn():
            what = "Error of" if turn.is_error else "Result of"
            return UserTurn(content=f"[{what} {turn.name}]\n{turn.content}")
        case AssistantTurn():
            calls = (f"{OPEN}{_call_text(call)}{CLOSE}" for call in turn.tool_calls)
            return AssistantTurn(text="\n".join(filter(None, [spoken(turn), *calls])))


def _call_text(call: ToolCall) -> str:
    if call.malformed is not None:
        return call.malformed
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def from_text(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Return an answer with the calls that its text makes, and the text without them."""
    text = response.text or ""
    calls = [_call(raw.strip()) for raw in TAG.findall(text)]
    if not calls:
        return response
    stop = "tool_use" if response.stop_reason == "end_turn" else response.stop_reason
    return response.model_copy(
        update={
            "text": TAG.sub("", text).strip() or None,
            "tool_calls": unique_calls(calls, request),
            "stop_reason": stop,
        }
    )


def _call(raw: str) -> ToolCall:
    value, malformed = read_arguments(raw)
    name, arguments = value.get("name"), value.get("arguments") or {}
    if malformed is None and isinstance(name, str) and isinstance(arguments, dict):
        return ToolCall(id="", name=name, arguments=arguments)
    guess = NAME.search(raw)
    return ToolCall(id="", name=guess.group(1) if guess else "unknown", malformed=raw)


class Curtain:
    """Passes streamed text on up to the first tag; what follows is calls, not speech."""

    def __init__(self, on_text: OnText) -> None:
        """Pass on to `on_text`."""
        self._on_text = on_text
        self._held = ""
        self._is_down = False

    def hear(self, text: str) -> None:
        """Take a piece of text; the beginning of what may be a tag is held back."""
        if self._is_down:
            return
        self._held += text
        place = self._held.find(OPEN)
        if place >= 0:
            self._is_down = True
            self._pass_on(place)
        else:
            self._pass_on(len(self._held) - self._maybe_tag())

    def end(self) -> None:
        """Pass on what was held back, now that no tag can come of it."""
        if not self._is_down:
            self._pass_on(len(self._held))

    def _maybe_tag(self) -> int:
        """Return how many of the last characters may be the beginning of a tag."""
        sizes = range(min(len(OPEN) - 1, len(self._held)), 0, -1)
        return next((size for size in sizes if self._held.endswith(OPEN[:size])), 0)

    def _pass_on(self, size: int) -> None:
        if size > 0:
            self._on_text(self._held[:size])
        self._held = self._held[size:]


class TextTools:
    """A provider that is asked in words only."""

    def __init__(self, inner: Provider) -> None:
        """Ask `inner`."""
        self._inner = inner

    async def generate(self, request: ModelRequest, on_text: OnText) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        curtain = Curtain(on_text)
        response = await self._inner.generate(as_text(request), curtain.hear)
        curtain.end()
        return from_text(response, request)

    async def close(self) -> None:
        """Let the inner provider go."""
        await self._inner.close()
