"""The broker's door for who speaks to Google: a real broker, a fake model server, plain HTTP."""

import json
from dataclasses import replace
from typing import Any

import httpx2

from agiraph.core.turns import ModelResponse
from agiraph.llm.wire.google import GoogleReader
from agiraph.llm.wire.sse import SseSplitter
from agiraph.messages.llm_proxy import ProxyCallFailed
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, calls, say
from tests.integration.test_broker import House
from tests.integration.test_llm_proxy import Worker, house, server, worker
from tests.unit.llm.requests import ask

__all__ = ["house", "server"]

MODEL = "/google/v1beta/models/gemini-3.8-pro"
WHOLE, STREAM, COUNT = (
    f"{MODEL}:generateContent",
    f"{MODEL}:streamGenerateContent?alt=sse",
    f"{MODEL}:countTokens",
)
JsonObject = dict[str, Any]
BEGIN: JsonObject = {"role": "user", "parts": [{"text": "Begin."}]}
LOOK = {
    "name": "look",
    "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}},
}
QUESTION: JsonObject = {
    "contents": [BEGIN],
    "systemInstruction": {"parts": [{"text": "You are an outside agent."}]},
    "tools": [{"functionDeclarations": [LOOK]}],
}


async def post(ada: Worker, path: str, body: Any = QUESTION, **head: str) -> httpx2.Response:
    head = {"authorization": "", "x-goog-api-key": ada.door.token} | head
    return await ada.post(path, body, **head)


def heard(answer: httpx2.Response) -> ModelResponse:
    """Return what an answer says, whole or streamed."""
    assert answer.status_code == 200, answer.text
    hearing = GoogleReader()
    if answer.headers["content-type"].startswith("text/event-stream"):
        for event in SseSplitter().feed(answer.content):
            hearing.feed(event.data or {})
    else:
        hearing.feed(answer.json())
    return hearing.response(ask())


def looks(seen: SeenRequest) -> Reply:
    """Call a tool, then tell its result; refuse a conversation that lost something."""
    assert "outside agent" in seen.system
    assert "look" in seen.tools
    if not seen.step:
        return calls(call("look", path="a.txt"), text="Let me look.")
    return say(f"It says: {seen.result('look')}")


async def converse(ada: Worker, path: str) -> list[ModelResponse]:
    """Have a tool called, answer the call, return both answers."""
    first = heard(await post(ada, path))
    [made] = first.tool_calls
    called = {"id": made.id, "name": made.name, "args": made.arguments}
    given = {"id": made.id, "name": made.name, "response": {"output": "42"}}
    contents = [
        BEGIN,
        {"role": "model", "parts": [{"text": first.text}, {"functionCall": called}]},
        {"role": "user", "parts": [{"functionResponse": given}]},
    ]
    return [first, heard(await post(ada, path, QUESTION | {"contents": contents}))]


async def test_a_request_is_handed_on_to_google_and_metered(
    house: House, server: FakeModelServer
) -> None:
    server.brain = looks

    async with worker(house, "google/fake") as ada:
        answers = [*await converse(ada, STREAM), *await converse(ada, WHOLE)]
        assert [one.text for one in answers] == ["Let me look.", "It says: 42"] * 2
        spent = (await ada.spent()).by_entity[ada.endpoint.address]
        assert spent.tokens == sum(one.usage.tokens for one in answers)
        assert spent.cost_usd is not None
        extra = {"generationConfig": {"topK": 3}, "safetySettings": []}
        await post(ada, WHOLE, QUESTION | extra)
    seen = server.requests[-1]
    assert (seen.api, seen.model, seen.headers["x-goog-api-key"]) == ("google", "fake", server.key)
    assert (seen.body["generationConfig"], seen.body["safetySettings"]) == ({"topK": 3}, [])


async def test_other_services_answer_it_too(house: House, server: FakeModelServer) -> None:
    server.brain = looks
    used = []

    for model in ("anthropic/fake", "openai/fake", "openai-responses/fake"):
        async with worker(house, model) as ada:
            for path in (STREAM, WHOLE):
                first, second = await converse(ada, path)
                assert (first.text, first.stop_reason) == ("Let me look.", "tool_use")
                assert first.tool_calls[0].arguments == {"path": "a.txt"}
                assert second.text == "It says: 42"
                used.append(first.usage.tokens > 0)
                assert (await ada.spent()).total.tokens > 0
        assert server.requests[-1].api != "google"
    assert all(used)


async def test_an_answer_of_a_wanted_shape_is_asked_of_another_wire(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say('{"n": 1}')
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}

    async with worker(house, "openai/fake") as ada:
        config = {"responseMimeType": "application/json", "responseSchema": schema}
        await post(ada, WHOLE, QUESTION | {"generationConfig": config})
        search = {"contents": [BEGIN], "tools": [{"googleSearch": {}}]}
        refused = await post(ada, WHOLE, search)
        assert refused.status_code == 400
        assert "googleSearch" in refused.json()["error"]["message"]
    asked = server.requests[-1].body["response_format"]["json_schema"]
    assert asked["schema"] == {"type": "object", "properties": {"n": {"type": "integer"}}}


async def test_tokens_are_counted_and_models_listed(house: House) -> None:
    async with worker(house, "google/fake", models=("openai/fake",)) as ada:
        counted = (await post(ada, COUNT, {"contents": [BEGIN]})).json()["totalTokens"]
        wrapped = {"generateContentRequest": {"model": "models/x", **QUESTION}}
        assert (await post(ada, COUNT, wrapped)).json()["totalTokens"] > counted > 0
        async with httpx2.AsyncClient(trust_env=False) as client:
            url = f"{ada.door.url}/google/v1beta/models"
            listed = await client.get(url, params={"key": ada.door.token})
            names = [model["name"] for model in listed.json()["models"]]
            assert names == ["models/google/fake", "models/openai/fake"]
            one = await client.get(f"{url}/google/fake", params={"key": ada.door.token})
            assert one.json()["name"] == "models/google/fake"


async def test_the_token_in_the_query_lets_in_and_goes_no_further(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")

    async with worker(house, "google/fake") as ada:
        path = f"{STREAM}&key={ada.door.token}"
        assert heard(await post(ada, path, **{"x-goog-api-key": ""})).text == "fine"
        assert ada.door.token not in json.dumps(dict(server.requests[-1].headers))
        full = "/google/v1/models/google/fake:generateContent"
        assert heard(await post(ada, full)).text == "fine"
    assert [seen.path for seen in server.requests[-2:]] == [
        "/v1beta/models/fake:streamGenerateContent?alt=sse",
        "/v1beta/models/fake:generateContent",
    ]


async def test_refusals_and_failures_are_told_in_googles_words(house: House) -> None:
    async with worker(house, "google/fake") as ada:

        async def told(path: str, body: Any = QUESTION, **head: str) -> tuple[int, str, str]:
            answer = await post(ada, path, body, **head)
            error = answer.json()["error"]
            assert error["code"] == answer.status_code
            return answer.status_code, error["status"], error["message"]

        wrong = {"x-goog-api-key": "wrong"}
        assert (await told(WHOLE, **wrong))[:2] == (401, "UNAUTHENTICATED")
        assert (await told(WHOLE, origin="http://x"))[:2] == (403, "PERMISSION_DENIED")
        assert (await told(f"{MODEL}:embedContent"))[:2] == (404, "NOT_FOUND")
        assert "?alt=sse" in (await told(STREAM.partition("?")[0]))[2]
        for broken in ({}, {"contents": 3}, {"contents": [{"parts": 3}]}, [1]):
            assert (await told(WHOLE, broken))[:2] == (400, "INVALID_ARGUMENT")
        other = "/google/v1beta/models/openai/fake:generateContent"
        assert "not granted" in (await told(other))[2]


async def test_an_answer_that_breaks_off_ends_with_an_error_that_may_be_tried_again(
    house: House, server: FakeModelServer
) -> None:
    """Gemini CLI takes a lost connection for the end, and tries again after a 5xx."""
    server.brain = lambda seen: replace(say("one two three four five six seven"), cut_after=2)

    for model in ("google/fake", "openai/fake"):
        async with worker(house, model) as ada:
            answer = await post(ada, STREAM)
            assert answer.status_code == 200
            events = [event.data or {} for event in SseSplitter().feed(answer.content)]
            assert "one" in json.dumps(events[0])
            assert events[-1]["error"]["code"] in (502, 503), model
            assert (await ada.spent()).total.output_tokens > 0


async def test_out_of_budget_is_told_once_and_to_the_worker(
    house: House, server: FakeModelServer
) -> None:
    before = len(server.requests)

    async with worker(house, "google/fake", budget_usd=0.000001) as ada:
        refused = await post(ada, STREAM)
        assert (refused.status_code, refused.headers["x-should-retry"]) == (402, "false")
        assert refused.json()["error"]["status"] == "FAILED_PRECONDITION"
        failed = (await ada.endpoint.receive()).body
        assert isinstance(failed, ProxyCallFailed)
        assert failed.kind == "out_of_budget"
    assert len(server.requests) == before


async def test_a_budget_shortens_the_answer_that_is_handed_on(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")

    async with worker(house, "google/fake", budget_usd=0.1) as ada:
        long = QUESTION | {"generationConfig": {"maxOutputTokens": 60_000, "topK": 3}}
        assert (await post(ada, STREAM, long)).status_code == 200
    settings = server.requests[-1].body["generationConfig"]
    assert (settings["topK"], 1024 <= settings["maxOutputTokens"] < 10_000) == (3, True)
