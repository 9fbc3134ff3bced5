"""The broker's proxy for Google's format: a real broker, a fake model server, plain HTTP."""

import json
from dataclasses import replace
from typing import Any

import httpx2

from agiraph.core.turns import ModelResponse
from agiraph.llm.wire.google import GoogleReader
from agiraph.llm.wire.sse import SseSplitter
from tests.fakes.model_server import FakeModelServer, say
from tests.integration.test_broker import BrokerSystem
from tests.integration.test_llm_proxy import ProxyWorker, broker_system, server, worker
from tests.unit.llm.requests import ask

__all__ = ["broker_system", "server"]

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


async def post(ada: ProxyWorker, path: str, body: Any = QUESTION, **head: str) -> httpx2.Response:
    head = {"authorization": "", "x-goog-api-key": ada.door.token} | head
    return await ada.post(path, body, **head)


def heard(answer: httpx2.Response) -> ModelResponse:
    """Return the text of an answer, whole or streamed."""
    assert answer.status_code == 200, answer.text
    hearing = GoogleReader()
    if answer.headers["content-type"].startswith("text/event-stream"):
        for event in SseSplitter().feed(answer.content):
            hearing.feed(event.data or {})
    else:
        hearing.feed(answer.json())
    return hearing.response(ask())


async def test_a_search_is_refused_where_google_does_not_answer(
    broker_system: BrokerSystem,
) -> None:
    async with worker(broker_system, "openai/fake") as ada:
        search = {"contents": [BEGIN], "tools": [{"googleSearch": {}}]}
        refused = await post(ada, WHOLE, search)
        assert refused.status_code == 400
        assert "googleSearch" in refused.json()["error"]["message"]


async def test_tokens_are_counted_and_models_listed(broker_system: BrokerSystem) -> None:
    async with worker(broker_system, "google/fake", models=("openai/fake",)) as ada:
        counted = (await post(ada, COUNT, {"contents": [BEGIN]})).json()["totalTokens"]
        wrapped = {"generateContentRequest": {"model": "models/x", **QUESTION}}
        assert (await post(ada, COUNT, wrapped)).json()["totalTokens"] > counted > 0
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
            url = f"{ada.door.url}/google/v1beta/models"
            listed = await client.get(url, params={"key": ada.door.token})
            names = [model["name"] for model in listed.json()["models"]]
            assert names == ["models/google/fake", "models/openai/fake"]
            one = await client.get(f"{url}/google/fake", params={"key": ada.door.token})
            assert one.json()["name"] == "models/google/fake"


async def test_token_in_the_query_is_accepted_and_not_forwarded(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = lambda seen: say("fine")

    async with worker(broker_system, "google/fake") as ada:
        path = f"{STREAM}&key={ada.door.token}"
        assert heard(await post(ada, path, **{"x-goog-api-key": ""})).text == "fine"
        assert ada.door.token not in json.dumps(dict(server.requests[-1].headers))
        full = "/google/v1/models/google/fake:generateContent"
        assert heard(await post(ada, full)).text == "fine"
    assert [seen.path for seen in server.requests[-2:]] == [
        "/v1beta/models/fake:streamGenerateContent?alt=sse",
        "/v1beta/models/fake:generateContent",
    ]


async def test_refusals_and_failures_use_the_error_format_of_google(
    broker_system: BrokerSystem,
) -> None:
    async with worker(broker_system, "google/fake") as ada:

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
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    """Gemini CLI takes a lost connection for the end, and tries again after a 5xx."""
    server.responder = lambda seen: replace(say("one two three four five six seven"), cut_after=2)

    for model in ("google/fake", "openai/fake"):
        async with worker(broker_system, model) as ada:
            answer = await post(ada, STREAM)
            assert answer.status_code == 200
            events = [event.data or {} for event in SseSplitter().feed(answer.content)]
            assert "one" in json.dumps(events[0])
            assert events[-1]["error"]["code"] in (502, 503), model
            assert (await ada.spent()).total.output_tokens > 0
