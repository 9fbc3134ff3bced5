"""Differences between models in the requests of each wire format."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, UserTurn
from agiraph.models.registry import ProviderPreset, load_presets, usable, why_unusable
from tests.unit.llm.bodies import anthropic_body, google_body, openai_body, responses_body
from tests.unit.llm.requests import ask
from tests.unit.llm.test_openai_wire import answer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_a_model_is_found_by_name_by_name_without_date_and_by_pattern() -> None:
    models = {"small": {"context": 1}, "big*": {"context": 2}, "big-1": {"max_output": 3}}
    preset = ProviderPreset(api="openai", context=9, max_output=8, models=models)
    assert preset.of("small").context == 1
    assert preset.of("small-20260101").context == 1
    assert preset.of("big-2").context == 2
    assert (preset.of("big-1").context, preset.of("big-1").max_output) == (9, 3)
    assert preset.of("other") is preset
    assert preset.window("big-2") == 2
    assert preset.answer_tokens("big-1", 100) == 3
    assert preset.answer_tokens("big-1", 2) == 2


def test_reasoning_models_of_openai_are_asked_by_responses() -> None:
    preset = load_presets()["openai"]
    formats = {name: preset.of(name).api for name in ("gpt-5.2", "gpt-6-sol", "o3", "gpt-4o")}
    assert formats == {
        "gpt-5.2": "responses",
        "gpt-6-sol": "responses",
        "o3": "responses",
        "gpt-4o": "openai",
    }


def test_own_models_are_merged_over_those_of_a_service(tmp_path: Path) -> None:
    own = tmp_path / "providers.yaml"
    own.write_text("openai: {models: {gpt-5*: {api: openai}}}\n")
    preset = load_presets(own)["openai"]
    assert preset.of("gpt-5.2").api == "openai"
    assert preset.of("gpt-4o").max_output == 16384, "the others stay"
    own.write_text("openai: {models: {x: {contxt: 5}}}\n")
    with pytest.raises(InvalidInput, match=r"unknown key 'contxt' of x \(known: api, .*context"):
        load_presets(own)


def test_own_url_needs_no_file_and_no_key() -> None:
    preset = load_presets()["compatible"]
    assert why_unusable(preset, {}) == "COMPATIBLE_BASE_URL is not set"
    environ = {"COMPATIBLE_BASE_URL": "http://10.0.0.1/v1"}
    assert why_unusable(preset, environ) is None
    rows = {row["name"]: row for row in usable(load_presets(), environ)}
    assert rows["compatible"]["usable"]
    assert rows["google"]["reason"] == "GOOGLE_API_KEY or GEMINI_API_KEY is not set"


def test_response_schema_is_sent_natively_in_each_format() -> None:
    asked = ask(response_schema=SCHEMA)
    assert anthropic_body(asked, "m")["output_config"]["format"]["schema"] == SCHEMA
    chat = openai_body(asked, "m")["response_format"]["json_schema"]
    assert (chat["schema"], chat["strict"]) == (SCHEMA, True)
    assert responses_body(asked, "m")["text"]["format"]["schema"] == SCHEMA
    assert google_body(asked, "m")["generationConfig"]["responseJsonSchema"] == SCHEMA
    loose = ask(response_schema={"type": "object"})
    assert openai_body(loose, "m")["response_format"]["json_schema"]["strict"] is False


def test_effort_is_sent_in_the_parameter_of_each_format() -> None:
    asked = ask(temperature=0.2)
    anthropic = anthropic_body(asked, "m", effort="high")
    assert anthropic["thinking"] == {"type": "adaptive"}
    assert anthropic["output_config"] == {"effort": "high"}
    assert "temperature" not in anthropic, "the API takes none with thinking"
    assert openai_body(asked, "m", effort="high")["reasoning_effort"] == "high"
    assert responses_body(asked, "m", effort="high")["reasoning"] == {"effort": "high"}


def test_cache_marks_are_on_the_stable_beginning_and_the_last_turn() -> None:
    call = AssistantTurn(text="x", tool_calls=(ToolCall(id="c1", name="bash"),))
    asked = ask(UserTurn(content="a"), call, ToolTurn(call_id="c1", name="bash", content="out"))
    marked = openai_body(asked, "m", cache="marks")["messages"]
    assert [isinstance(message["content"], list) for message in marked] == [
        True, False, False, True,
    ]  # fmt: skip
    assert "cache_control" not in repr(openai_body(asked, "m"))
    assert "cache_control" not in repr(anthropic_body(asked, "m", cache="none"))


def test_extra_fields_are_added_and_null_removes_a_field() -> None:
    extra = {"reasoning_split": True, "stream_options": None, "max_tokens": 7}
    body = openai_body(ask(), "m", extra=extra)
    assert body["reasoning_split"] is True
    assert "stream_options" not in body
    assert body["max_tokens"] == 7


def test_reasoning_details_are_assembled_and_sent_back_unchanged() -> None:
    response = answer(
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "The user "}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "wants "}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "sig"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
        {"content": "Yes."},
    )
    body = openai_body(ask(response.turn(), model="openai/fake"), "fake")
    assert body["messages"][1]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "The user wants ", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]
    assert "reasoning_content" not in body["messages"][1]


def test_a_service_that_sends_all_of_its_thoughts_each_time_is_understood() -> None:
    said = "The user wants to know which of the two is longer."
    pieces = [said[:30], said[:40], said]
    deltas = [{"reasoning_details": [{"type": "reasoning.text", "text": one}]} for one in pieces]
    data = answer(*deltas, {"content": "x"}).provider_data
    assert data is not None
    assert data["details"][0]["text"] == said


def test_reasoning_field_is_sent_back_under_its_own_name() -> None:
    response = answer({"reasoning": "hm"}, {"content": "x"})
    body = openai_body(ask(response.turn(), model="openai/fake"), "fake")
    assert body["messages"][1]["reasoning"] == "hm"


def test_dropped_reasoning_is_never_sent_back() -> None:
    response = answer({"reasoning_content": "hm"}, {"content": "x"})
    asked = ask(response.turn(), model="openai/fake")
    assert "hm" not in repr(openai_body(asked, "fake", reasoning="dropped"))
