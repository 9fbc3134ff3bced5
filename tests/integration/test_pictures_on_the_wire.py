"""Pictures in the four wire formats, as the service receives them from the real SDKs."""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agiraph.core.turns import AssistantTurn, Picture, ToolCall, ToolTurn, Turn, UserTurn
from agiraph.llm.base import Provider
from agiraph.llm.connect import adapted, connect
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.google_requests import encode_request
from agiraph.models.registry import load_presets, parse_model
from agiraph.testing.probes import red_picture
from tests.fakes.model_server import FakeModelServer, say
from tests.unit.llm.requests import ask

APIS = ("anthropic", "openai", "openai-responses", "google")
DATA = red_picture()
ENCODED = base64.b64encode(DATA).decode()
URL = f"data:image/png;base64,{ENCODED}"
PLOT = Picture(
    digest=hashlib.sha256(DATA).hexdigest(),
    media_type="image/png",
    name="plot.png",
    width=64,
    height=64,
)
BEGIN = UserTurn(content="Begin.")
ASKED = AssistantTurn(tool_calls=(ToolCall(id="c1", name="read_file"),))
READ = ToolTurn(call_id="c1", name="read_file", content="A chart.", pictures=(PLOT,))
SENT = UserTurn(content="Look at this.", pictures=(PLOT,))
BLIND = "[plot.png: a picture of 64 x 64 pixels (PNG), not shown: this model cannot see images]"

JsonObject = dict[str, Any]


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("fine")) as running:
        yield running


@asynccontextmanager
async def provider_of(server: FakeModelServer, model: str) -> AsyncIterator[Provider]:
    presets, env = load_presets(), server.env()
    env |= {f"OLLAMA_{part}": env[f"OPENAI_{part}"] for part in ("BASE_URL", "API_KEY")}
    name = parse_model(model, presets)
    provider = connect(name.provider, presets, env, timeout_seconds=20, model=name.name)
    try:
        yield adapted(provider, name, presets[name.provider])
    finally:
        await provider.close()


async def received(
    server: FakeModelServer, model: str, *turns: Turn, pictures: bool = True
) -> JsonObject:
    """Return the body that the service received."""
    request = ask(*turns, model=model.removeprefix("text:")).model_copy(
        update={"pictures": {PLOT.digest: DATA} if pictures else {}}
    )
    async with provider_of(server, model) as provider:
        await provider.generate(request, lambda text: None)
    assert not server.problems
    return dict(server.requests[-1].body)


async def test_messages_have_the_picture_in_the_result_of_the_call(server: FakeModelServer) -> None:
    body = await received(server, "anthropic/claude-sonnet-4-6", BEGIN, ASKED, READ)
    (result,) = body["messages"][-1]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": ENCODED}
    assert result["type"] == "tool_result"
    assert result["content"] == [
        {"type": "text", "text": "A chart."},
        {"type": "image", "source": source},
    ]


async def test_responses_have_the_picture_in_the_output_of_the_call(
    server: FakeModelServer,
) -> None:
    body = await received(server, "openai/gpt-5.2", BEGIN, ASKED, READ)
    assert body["input"][-1]["output"] == [
        {"type": "input_text", "text": "A chart."},
        {"type": "input_image", "image_url": URL},
    ]


async def test_chat_completions_have_the_picture_after_the_results(server: FakeModelServer) -> None:
    asked = AssistantTurn(
        tool_calls=(ToolCall(id="c1", name="read_file"), ToolCall(id="c2", name="bash"))
    )
    other = ToolTurn(call_id="c2", name="bash", content="ok")
    body = await received(server, "openai/gpt-4o", BEGIN, asked, READ, other)
    first, second, user = body["messages"][-3:]
    assert (first["role"], first["content"]) == ("tool", "A chart.")
    assert (second["role"], second["content"]) == ("tool", "ok")
    assert user["role"] == "user"
    assert user["content"] == [
        {"type": "text", "text": "[Pictures in the result of read_file: plot.png]"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]


async def test_gemini_3_has_the_picture_in_the_function_response(server: FakeModelServer) -> None:
    body = await received(server, "google/gemini-3.8-flash", BEGIN, ASKED, READ)
    (part,) = body["contents"][-1]["parts"]
    response = part["functionResponse"]
    assert response["response"] == {"output": "A chart."}
    assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": ENCODED}}]


def test_older_gemini_has_the_picture_beside_the_function_response() -> None:
    request = ask(BEGIN, ASKED, READ, model="google/gemini-2.5-flash").model_copy(
        update={"pictures": {PLOT.digest: DATA}}
    )
    traits = load_presets()["google"].of("gemini-2.5-flash")
    body = json.loads(encode_request(request, "gemini-2.5-flash", traits, RequestBodyCache()))
    result, picture = body["contents"][-1]["parts"]
    assert "parts" not in result["functionResponse"]
    assert picture == {"inlineData": {"mimeType": "image/png", "data": ENCODED}}


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("anthropic/claude-sonnet-4-6", "messages"),
        ("openai/gpt-4o", "messages"),
        ("openai/gpt-5.2", "input"),
        ("google/gemini-3.8-flash", "contents"),
    ],
)
async def test_a_picture_of_a_person_follows_the_text(
    server: FakeModelServer, model: str, field: str
) -> None:
    body = await received(server, model, SENT)
    last = body[field][-1]
    text, picture = last.get("content") or last["parts"]
    assert text["text"] == "Look at this."
    assert ENCODED in repr(picture)


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-3.5-turbo", "openai/o3-mini", "ollama/llama3.1", "text:ollama/gemma3:1b"],
)
async def test_a_model_without_vision_gets_a_line_of_text(
    server: FakeModelServer, model: str
) -> None:
    body = await received(server, model, BEGIN, ASKED, READ)
    assert ENCODED not in repr(body)
    assert BLIND in repr(body)


async def test_a_model_with_tools_as_text_sees_the_picture(server: FakeModelServer) -> None:
    body = await received(server, "text:ollama/gemma3", BEGIN, ASKED, READ)
    text, picture = body["messages"][-1]["content"]
    assert "A chart." in text["text"]
    assert picture == {"type": "image_url", "image_url": {"url": URL}}


async def test_a_picture_that_is_not_stored_is_replaced_by_text(server: FakeModelServer) -> None:
    body = await received(server, "anthropic/claude-sonnet-4-6", BEGIN, ASKED, READ, pictures=False)
    assert "its content is no longer stored" in body["messages"][-1]["content"][0]["content"]


@pytest.mark.parametrize("api", APIS)
async def test_a_picture_is_encoded_the_same_in_each_request(
    server: FakeModelServer, api: str
) -> None:
    """A service serves the beginning of a conversation from its cache only if it is the same."""
    model = {"openai": "openai/gpt-4o"}.get(api, f"{api}/fake")
    request = ask(BEGIN, ASKED, READ, model=model).model_copy(
        update={"pictures": {PLOT.digest: DATA}}
    )
    more = (AssistantTurn(text="It is red."), UserTurn(content="Go on."))
    async with provider_of(server, model) as provider:
        await provider.generate(request, lambda text: None)
        longer = request.model_copy(update={"turns": (*request.turns, *more)})
        await provider.generate(longer, lambda text: None)
        fresh = longer.model_copy(update={"turns": tuple(t.model_copy() for t in longer.turns)})
        await provider.generate(fresh, lambda text: None)
    assert not server.problems
    _, cached, whole = (seen.raw for seen in server.requests)
    assert cached == whole
