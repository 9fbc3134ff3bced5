"""Tools for models without tool calling: schemas in the prompt, `<tool_call>` tags in the text.

`text:` before a model's name (`text:ollama/gemma3`) inserts this between the broker and the
provider. Pure except for TextToolsProvider, which wraps a provider.
"""

import json
import re
from collections.abc import Mapping, Sequence

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agiraph.llm.base import OnAnswer, OnText, Provider, ProviderError, unmetered
from agiraph.llm.structured import with_schema_as_text
from agiraph.llm.text_tools.text_tool_calls import OPENER, problem_of, read_calls
from agiraph.llm.wire.transcript import spoken, unique_calls

OPEN, CLOSE = "<tool_call>", "</tool_call>"
EXAMPLE = f'{OPEN}{{"name": "tool_name", "arguments": {{"key": "value"}}}}{CLOSE}'
BEGINNING = re.compile(r"[<\[][|\w-]*\|?\Z")
LONGEST_OPENER = 20
TEXT_CHARACTERS = 1 << 19

INTRODUCTION = f"""## Available tools

To call a tool, output EXACTLY this, on a line of its own:

{EXAMPLE}

You can make several calls in one answer. After your calls, stop: the next message has their
results. Never write a result yourself.
"""

CORRECTION = """

Nothing was run: the call could not be read ({problem}). Write it again, in exactly this form, as
JSON with double quotes, every bracket closed:

{example}"""


def as_text(request: ModelRequest) -> ModelRequest:
    """Return the request without tools: schemas, calls and results are rendered as text.

    A schema of the answer is rendered too if there are tools: restricted to it, a model could not
    call them.
    """
    if request.tools:
        request = with_schema_as_text(request)
    system = "\n\n".join([request.system, INTRODUCTION, *map(_tool, request.tools)])
    calls = [call for t in request.turns if isinstance(t, AssistantTurn) for call in t.tool_calls]
    malformed = {call.id: call.malformed for call in calls if call.malformed is not None}
    turns = tuple(_rendered(turn, malformed, request.tools) for turn in request.turns)
    return request.model_copy(
        update={"system": system if request.tools else request.system, "turns": turns, "tools": ()}
    )


def _tool(tool: ToolSchema) -> str:
    schema = json.dumps(tool.parameters, ensure_ascii=False)
    return f"### {tool.name}\n\n{tool.description}\n\nParameters: `{schema}`"


def _rendered(turn: Turn, malformed: Mapping[str, str], tools: Sequence[ToolSchema]) -> Turn:
    match turn:
        case UserTurn():
            return turn
        case ToolTurn():
            text = result_as_text(turn)
            if turn.call_id in malformed:
                problem = problem_of(malformed[turn.call_id], tools)
                text += CORRECTION.format(problem=problem, example=EXAMPLE)
            return UserTurn(content=text, pictures=turn.pictures)
        case AssistantTurn():
            calls = (f"{OPEN}{call_as_text(call)}{CLOSE}" for call in turn.tool_calls)
            return AssistantTurn(text="\n".join(filter(None, [spoken(turn), *calls])))


def result_as_text(turn: ToolTurn) -> str:
    """Return the result of a call as the text of a message."""
    what = "Error of" if turn.is_error else "Result of"
    return f"[{what} {turn.name}]\n{turn.content}"


def call_as_text(call: ToolCall) -> str:
    """Return a call as JSON; an unreadable call as it was written."""
    if call.malformed is not None:
        return call.malformed
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def from_text(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Return an answer with the calls in its text, and the text without them.

    Raises ProviderError for a text that is too long to be searched for calls.
    """
    if not request.tools:
        return response
    if len(response.text or "") > TEXT_CHARACTERS:
        text = f"an answer with calls in its text has more than {TEXT_CHARACTERS} characters"
        raise ProviderError("bad_answer", f"{request.model}: {text}")
    written = read_calls(response.text or "", request.tools)
    said = response.model_copy(update={"text": written.text or None})
    if not written.calls:
        return said
    stop = "tool_use" if response.stop_reason == "end_turn" else response.stop_reason
    calls = unique_calls(list(written.calls), request)
    return said.model_copy(update={"tool_calls": calls, "stop_reason": stop})


class StreamFilter:
    """Passes a streamed text on until the first opening tag: calls follow that tag."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._held = ""
        self._is_closed = False

    def feed(self, text: str) -> None:
        """Pass on a piece of text; a possible beginning of a tag is held back."""
        if self._is_closed:
            return
        self._held += text
        opener = OPENER.search(self._held)
        if opener is not None:
            self._is_closed = True
            self._pass_on(opener.start())
        else:
            self._pass_on(len(self._held) - self._maybe_tag())

    def end(self) -> None:
        """Pass on the text that was held back as a possible tag, at the end of the stream."""
        if not self._is_closed:
            self._pass_on(len(self._held))

    def _maybe_tag(self) -> int:
        """Return how many of the last characters may be the beginning of a tag."""
        tail = BEGINNING.search(self._held)
        return len(tail[0]) if tail and len(tail[0]) < LONGEST_OPENER else 0

    def _pass_on(self, size: int) -> None:
        if size > 0:
            self._on_text(self._held[:size])
        self._held = self._held[size:]


class TextToolsProvider:
    """Wraps a provider whose model has no tool calling: tools and calls are sent as text."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        filtered = StreamFilter(on_text)
        response = await self._inner.generate(as_text(request), filtered.feed, on_answer)
        filtered.end()
        return from_text(response, request)

    async def close(self) -> None:
        """Close the inner provider."""
        await self._inner.close()
