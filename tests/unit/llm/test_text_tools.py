"""Tools in words: the prompt of a model without tool calling, and the meaning of its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolTurn,
    UserTurn,
)
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.text_tools.text_tools import (
    TEXT_CHARACTERS,
    StreamFilter,
    TextToolsProvider,
    as_text,
    from_text,
)
from agiraph.models.registry import load_presets, parse_model
from tests.unit.llm.requests import ask


def read(text: str, stop: StopReason = "end_turn") -> ModelResponse:
    return from_text(ModelResponse(text=text, stop_reason=stop), ask())


def test_tools_calls_and_results_are_rendered_as_text() -> None:
    call = ToolCall(id="c1", name="bash", arguments={"command": "ls"})
    turns = (
        UserTurn(content="Begin."),
        AssistantTurn(text="Looking.", tool_calls=(call,)),
        ToolTurn(call_id="c1", name="bash", content="a b"),
    )
    told = as_text(ask(*turns))
    assert told.tools == ()
    assert "### bash" in told.system
    assert '"command"' in told.system
    assert told.turns[1] == AssistantTurn(
        text='Looking.\n<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    )
    assert told.turns[2] == UserTurn(content="[Result of bash]\na b")


def test_prompt_without_tools_does_not_mention_them() -> None:
    assert as_text(ask(tools=())).system == "You are ada."


def test_calls_are_read_and_removed_from_the_text() -> None:
    one = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    two = '<tool_call>\n{"name": "wait"}\n</tool_call>'
    response = read(f"Looking.\n{one}\n{two}\n")
    assert response.text == "Looking."
    assert [(c.name, c.arguments) for c in response.tool_calls] == [
        ("bash", {"command": "ls"}),
        ("wait", {}),
    ]
    assert len({c.id for c in response.tool_calls} - {""}) == 2
    assert response.stop_reason == "tool_use"


def test_tag_without_an_end_is_read_as_a_call() -> None:
    response = read('<tool_call>{"name": "wait", "arguments": {}}', stop="max_tokens")
    assert response.tool_calls[0].name == "wait"
    assert response.stop_reason == "max_tokens"
    assert response.text is None


@given(st.lists(st.sampled_from(["a", "<", "<tool", "_call>", "{}", "</tool_call>", "b"])))
def test_text_is_streamed_up_to_the_first_tag(pieces: list[str]) -> None:
    heard: list[str] = []
    filtered = StreamFilter(heard.append)
    for piece in pieces:
        filtered.feed(piece)
    filtered.end()
    assert "".join(heard) == "".join(pieces).partition("<tool_call>")[0]


async def test_a_provider_is_asked_without_tools_and_answers_with_calls() -> None:
    class Parrot:
        async def generate(
            self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
        ) -> ModelResponse:
            assert request.tools == ()
            text = 'Ok. <tool_call>{"name": "wait"}</tool_call>'
            on_text(text)
            return ModelResponse(text=text)

        async def close(self) -> None: ...

    heard: list[str] = []
    response = await TextToolsProvider(Parrot()).generate(ask(), heard.append)
    assert response.tool_calls[0].name == "wait"
    assert heard == ["Ok. "]


def test_the_prefix_is_part_of_the_models_name() -> None:
    name = parse_model("text:ollama/gemma3:1b", load_presets())
    assert name.in_text
    assert name.plain == "ollama/gemma3:1b"
    assert str(name) == "text:ollama/gemma3:1b"


def test_a_text_that_is_too_long_to_be_searched_is_a_bad_answer() -> None:
    with pytest.raises(ProviderError, match=f"more than {TEXT_CHARACTERS} characters") as caught:
        read("x" * (TEXT_CHARACTERS + 1))
    assert caught.value.kind == "bad_answer"
    assert read("x" * TEXT_CHARACTERS).text
