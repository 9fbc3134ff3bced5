"""The broker's door: the real SDKs as external agents, a real broker, a fake model server."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from agiraph.core.ids import BROKER, SUPERVISOR, message_id
from agiraph.core.money import SpendingLimits
from agiraph.core.turns import JsonObject, ToolSchema, ToolTurn
from agiraph.llm.connect import connect
from agiraph.messages.control import RefusedReply
from agiraph.messages.llm_proxy import (
    CloseProxy,
    OpenProxy,
    ProxyBudgetLow,
    ProxyCallFailed,
    ProxyCostsSettled,
    ProxyOpened,
    SettleProxyCosts,
)
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.models.registry import load_presets
from tests.fakes.accounts import begin_run
from tests.fakes.model_server import (
    FakeModelServer,
    Reply,
    SeenRequest,
    call,
    calls,
    rate_limited,
    say,
    server_error,
)
from tests.integration.test_broker import BrokerSystem
from tests.unit.llm.requests import ask
from transport.endpoint import Endpoint

DEADLINE = 45
PRICED = ("anthropic", "openai", "google")
SERVICES = (*PRICED[:2], "openai-responses", "google")
ANTHROPIC, RESPONSES = "/anthropic/v1/messages", "/openai/v1/responses"
GOOGLE = "/google/v1beta/models/gemini-3.8-pro:generateContent"
PATH: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
LOOK = ToolSchema(name="look", description="Look at a file.", parameters=PATH)
LOOK_TOOL: anthropic.types.ToolParam = {"name": "look", "input_schema": PATH}
SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}

MESSAGES: list[anthropic.types.MessageParam] = [{"role": "user", "content": "Begin."}]
QUESTION: dict[str, Any] = {
    "model": "any",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Begin."}],
}
BODIES: dict[str, JsonObject] = {
    ANTHROPIC: QUESTION,
    RESPONSES: {"model": "any", "input": "Begin."},
    GOOGLE: {"contents": [{"role": "user", "parts": [{"text": "Begin."}]}]},
}
"""A call in the format of each path."""
SERVICE_OF = {ANTHROPIC: "anthropic", RESPONSES: "openai-responses", GOOGLE: "google"}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("fine")) as running:
        yield running


@pytest.fixture(scope="module")
def broker_system(
    server: FakeModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerSystem]:
    """One broker for all tests of this file."""
    built = BrokerSystem(tmp_path_factory.mktemp("door"), server)
    built.home.mkdir(exist_ok=True)
    (built.home / "prices.yaml").write_text(
        "".join(f"{name}/fake: {{input: 3, output: 15}}\n" for name in PRICED)
    )

    async def start() -> None:
        async with asyncio.timeout(DEADLINE):
            supervisor = await built.join(SUPERVISOR)
            built.start_broker()
            await built.wait_until_ready(supervisor)
            supervisor.abort()

    asyncio.run(start())
    yield built
    built.close()


class ProxyWorker:
    """A worker on the bus, with a door of its own."""

    def __init__(self, endpoint: Endpoint, door: ProxyOpened, run: str) -> None:
        self.endpoint = endpoint
        self.door = door
        self.run = run
        self.http = httpx2.AsyncClient(trust_env=False, verify=False)
        self.anthropic = anthropic.AsyncAnthropic(
            api_key=door.token,
            base_url=f"{door.url}/anthropic",
            max_retries=0,
            http_client=self.http,
        )
        self.openai = openai.AsyncOpenAI(
            api_key=door.token,
            base_url=f"{door.url}/openai/v1",
            max_retries=0,
            http_client=self.http,
        )

    async def close(self) -> None:
        await self.http.aclose()

    def environ(self) -> dict[str, str]:
        """Return the variables that lead agents of all formats to the proxy."""
        url, token = self.door.url, self.door.token
        return {
            "ANTHROPIC_BASE_URL": f"{url}/anthropic",
            "ANTHROPIC_API_KEY": token,
            "OPENAI_BASE_URL": f"{url}/openai/v1",
            "OPENAI_API_KEY": token,
            "GOOGLE_GEMINI_BASE_URL": f"{url}/google",
            "GEMINI_API_KEY": token,
        }

    async def spent(self) -> UsageTable:
        body = (await self.endpoint.ask(BROKER, AskUsage(run_id=self.run, agent="shop-1"))).body
        assert isinstance(body, UsageTable)
        return body

    async def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        head = {"authorization": f"Bearer {self.door.token}"} | headers
        return await self.http.post(f"{self.door.url}{path}", json=body, headers=head)


COUNT = iter(range(1000))


@asynccontextmanager
async def worker(
    broker_system: BrokerSystem,
    model: str = "anthropic/fake",
    budget_usd: float | None = None,
    **asked: Any,
) -> AsyncIterator[ProxyWorker]:
    """A worker that has opened a door for `model`, in a run with this budget."""
    async with asyncio.timeout(DEADLINE):
        number = next(COUNT)
        run = f"run-{number}"
        begin_run(broker_system.home, run, budget_usd=budget_usd)
        endpoint = await broker_system.join(f"shop-1/ada-{number}")
        try:
            opened = await ask_door(endpoint, run_id=run, node_id="n1", model=model, **asked)
            assert isinstance(opened, ProxyOpened), opened
            made = ProxyWorker(endpoint, opened, run)
            try:
                yield made
            finally:
                await made.close()
        finally:
            await endpoint.send(BROKER, CloseProxy())
            endpoint.abort()


async def ask_door(endpoint: Endpoint, **asked: Any) -> Any:
    return (await endpoint.ask(BROKER, OpenProxy(**asked))).body


def looks(seen: SeenRequest) -> Reply:
    """Call a tool, then say its result; refuse a conversation that lost something."""
    assert "outside agent" in seen.system
    assert "look" in seen.tools
    if not seen.step:
        return calls(call("look", path="a.txt"), text="Let me look.")
    return say(f"It says: {seen.result('look')}")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("agent", SERVICES)
async def test_an_agent_of_each_format_talks_to_each_service_and_is_metered(
    broker_system: BrokerSystem, server: FakeModelServer, agent: str, service: str
) -> None:
    server.responder = looks
    begun = ask(system="You are an outside agent.", tools=(LOOK,))
    async with worker(broker_system, f"{service}/fake") as ada:
        provider = connect(agent, load_presets(), ada.environ(), timeout_seconds=DEADLINE)
        first = await provider.generate(begun, lambda text: None)
        assert (first.text, first.stop_reason) == ("Let me look.", "tool_use")
        [made] = first.tool_calls
        assert made.arguments == {"path": "a.txt"}
        result = ToolTurn(call_id=made.id, name="look", content="42")
        turns = (*begun.turns, first.turn(), result)
        second = await provider.generate(
            begun.model_copy(update={"turns": turns}), lambda text: None
        )
        assert second.text == "It says: 42"
        spent = (await ada.spent()).by_entity[ada.endpoint.address]
        assert spent.tokens == first.usage.tokens + second.usage.tokens
        assert (spent.cost_usd is not None) == (service in PRICED)
        await provider.close()
    seen = server.requests[-1]
    assert (seen.api, seen.model) == (service.removeprefix("openai-"), "fake")
    assert server.key in seen.headers.values() or f"Bearer {server.key}" in seen.headers.values()


@pytest.mark.parametrize(
    ("service", "path", "extra"),
    [
        ("anthropic", "/anthropic/v1/messages?beta=true", {"metadata": {"user_id": "u"}}),
        ("openai-responses", RESPONSES, {"truncation": "auto"}),
        ("google", GOOGLE, {"safetySettings": []}),
    ],
)
async def test_service_specific_parameters_are_forwarded(
    broker_system: BrokerSystem, server: FakeModelServer, service: str, path: str, extra: JsonObject
) -> None:
    server.responder = lambda seen: say("fine")
    async with worker(broker_system, f"{service}/fake") as ada:
        head = {"anthropic-beta": "some-beta"} if service == "anthropic" else {}
        await ada.post(path, BODIES[path.partition("?")[0]] | extra, **head)
    seen = server.requests[-1]
    assert {key: seen.body[key] for key in extra} == extra
    assert seen.headers.get("anthropic-beta") == head.get("anthropic-beta")


async def test_usage_that_an_agent_did_not_ask_for_is_metered_and_not_shown(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = lambda seen: say("Let me look at it first.")
    async with worker(broker_system, "openai/fake") as ada:
        stream = await ada.openai.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Begin."}], stream=True
        )
        chunks = [chunk async for chunk in stream]
        assert all(chunk.choices for chunk in chunks)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == "Let me look at it first."
        assert (await ada.spent()).total.tokens > 0
        assert (await ada.openai.models.list()).data[0].id == "openai/fake"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (ANTHROPIC, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
        (
            GOOGLE,
            {
                "generationConfig": {
                    "responseSchema": {
                        "type": "OBJECT",
                        "properties": {"n": {"type": "INTEGER"}},
                    }
                }
            },
        ),
    ],
)
async def test_a_schema_of_the_answer_is_translated(
    broker_system: BrokerSystem, server: FakeModelServer, path: str, asked: JsonObject
) -> None:
    server.responder = lambda seen: say('{"n": 1}')
    async with worker(broker_system, "openai/fake") as ada:
        await ada.post(path, BODIES[path] | asked)
    assert server.requests[-1].body["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_the_anthropic_sdk_talks_to_an_openai_model(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = looks

    async with worker(broker_system, "openai/fake") as ada:
        client = ada.anthropic
        messages = list(MESSAGES)
        common: dict[str, Any] = {
            "model": "claude-sonnet-5",
            "max_tokens": 500,
            "system": "You are an outside agent.",
            "tools": [LOOK_TOOL],
        }
        async with client.messages.stream(messages=messages, **common) as stream:
            asked = await stream.get_final_message()
        text, use = asked.content
        assert isinstance(text, anthropic.types.TextBlock)
        assert isinstance(use, anthropic.types.ToolUseBlock)
        assert (text.text, use.input, asked.stop_reason) == (
            "Let me look.",
            {"path": "a.txt"},
            "tool_use",
        )
        result: Any = {"type": "tool_result", "tool_use_id": use.id, "content": "42"}
        messages.append({"role": "assistant", "content": asked.content})
        messages.append({"role": "user", "content": [result]})
        told = await client.messages.create(messages=messages, **common)
        assert told.content[0].to_dict()["text"] == "It says: 42"
        spent = (await ada.spent()).total
        assert spent.input_tokens == asked.usage.input_tokens + told.usage.input_tokens
    assert server.requests[-1].api == "openai"


async def test_the_openai_sdk_talks_to_an_anthropic_model(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = looks
    function = {"name": "look", "parameters": PATH}

    async with worker(broker_system) as ada:
        client = ada.openai
        messages: list[Any] = [
            {"role": "system", "content": "You are an outside agent."},
            {"role": "user", "content": "Begin."},
        ]
        common: dict[str, Any] = {
            "model": "gpt-5",
            "tools": [{"type": "function", "function": function}],
        }
        asked = (await client.chat.completions.create(messages=messages, **common)).choices[0]
        assert asked.finish_reason == "tool_calls"
        made = (asked.message.tool_calls or [])[0]
        messages.append(asked.message.to_dict())
        messages.append({"role": "tool", "tool_call_id": made.id, "content": "42"})
        stream = await client.chat.completions.create(messages=messages, stream=True, **common)
        said = [chunk.choices[0].delta.content or "" async for chunk in stream]
        assert "".join(said) == "It says: 42"
    assert server.requests[-1].api == "anthropic"


async def test_responses_are_translated_with_freeform_and_namespaced_tools(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    def responder(seen: SeenRequest) -> Reply:
        assert set(seen.tools) == {"look", "patch", "mail__send"}
        if not seen.step:
            return calls(
                call("look", path="a"), call("patch", input="*** Begin"), call("mail__send")
            )
        return say(" ".join(seen.result(tool) for tool in ("look", "patch", "mail__send")))

    server.responder = responder
    parameters = {"type": "object", "properties": {}}
    tools: list[Any] = [
        {"type": "function", "name": "look", "parameters": parameters, "strict": False},
        {"type": "custom", "name": "patch", "description": "Patch."},
        {
            "type": "namespace",
            "name": "mail",
            "description": "Mail.",
            "tools": [{"type": "function", "name": "send", "parameters": parameters}],
        },
        {"type": "web_search"},
    ]

    async with worker(broker_system) as ada:
        client = ada.openai
        items: list[Any] = [{"role": "user", "content": "Begin."}]
        common: dict[str, Any] = {"model": "gpt-5-codex", "tools": tools, "store": False}
        stream = await client.responses.create(
            input=items, instructions="You are Codex.", stream=True, **common
        )
        events = [event async for event in stream]
        assert events[-1].type == "response.completed"
        made = [item.to_dict() for item in events[-1].response.output]
        assert [item["type"] for item in made] == [
            "function_call", "custom_tool_call", "function_call",
        ]  # fmt: skip
        assert made[1]["input"] == "*** Begin"
        assert (made[2]["namespace"], made[2]["name"]) == ("mail", "send")
        items += made
        for number, item in enumerate(made):
            kind = item["type"] + "_output"
            items.append({"type": kind, "call_id": item["call_id"], "output": f"r{number}"})
        told = await client.responses.create(input=items, **common)
        assert told.output_text == "r0 r1 r2"
        assert told.usage is not None
        assert told.usage.total_tokens > 0


async def test_the_embedded_model_answers_claude_codes_format(broker_system: BrokerSystem) -> None:
    async with worker(broker_system, "script/survey") as ada:
        client = ada.anthropic
        counted = await client.messages.count_tokens(model="any", messages=MESSAGES)
        assert counted.input_tokens > 0
        models = [model.id async for model in client.models.list()]
        assert models == ["script/survey"]


# --- failures ------------------------------------------------------------------------------------


async def test_failed_call_is_retried_before_the_agent_sees_it(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    replies = iter([server_error(), rate_limited("0.01"), say("at last")])
    server.responder = lambda seen: next(replies)

    async with worker(broker_system) as ada:
        client = ada.anthropic
        done = await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert done.content[0].to_dict()["text"] == "at last"


async def test_an_answer_that_breaks_off_is_not_whole_for_the_agent_either(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    long = say("one two three four five six seven eight")
    server.responder = lambda seen: replace(long, cut_after=5)

    async def read(client: anthropic.AsyncAnthropic) -> None:
        async with client.messages.stream(model="any", max_tokens=500, messages=MESSAGES) as stream:
            await stream.get_final_message()

    async with worker(broker_system) as ada:
        client = ada.anthropic
        with pytest.raises((anthropic.APIError, httpx2.RemoteProtocolError)):
            await read(client)
        assert (await ada.spent()).total.output_tokens > 0
    async with worker(broker_system, "openai/fake") as bob:
        client = bob.anthropic
        with pytest.raises(anthropic.APIError):
            await read(client)


@pytest.mark.parametrize(
    ("path", "status", "name"),
    [
        (ANTHROPIC, 402, "billing_error"),
        (RESPONSES, 400, "insufficient_quota"),
        (GOOGLE, 402, "FAILED_PRECONDITION"),
    ],
)
async def test_out_of_budget_is_reported_to_agent_and_worker_and_not_retried(
    broker_system: BrokerSystem, server: FakeModelServer, path: str, status: int, name: str
) -> None:
    before = len(server.requests)
    async with worker(broker_system, budget_usd=0.000001) as ada:
        refused = await ada.post(path, BODIES[path])
        assert (refused.status_code, refused.headers["x-should-retry"]) == (status, "false")
        assert name in refused.text
        failed = (await ada.endpoint.receive()).body
        assert isinstance(failed, ProxyCallFailed)
        assert failed.kind == "out_of_budget"
    assert len(server.requests) == before


async def test_a_budget_shortens_the_answer_that_is_forwarded(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = lambda seen: say("fine")
    async with worker(broker_system, budget_usd=0.1) as ada:
        assert await ask_once(ada) == 200
        assert await ask_once(ada, max_tokens=60_000) == 200
    assert server.requests[-2].body["max_tokens"] == 500
    assert 1024 <= server.requests[-1].body["max_tokens"] < 10_000
    async with worker(broker_system, "google/fake", budget_usd=0.1) as ada:
        long = {"generationConfig": {"maxOutputTokens": 60_000, "topK": 3}}
        assert (await ada.post(GOOGLE, BODIES[GOOGLE] | long)).status_code == 200
    settings = server.requests[-1].body["generationConfig"]
    assert (settings["topK"], 1024 <= settings["maxOutputTokens"] < 10_000) == (3, True)


@pytest.mark.parametrize(
    ("service", "path", "more"),
    [
        ("openai", "/openai/v1/chat/completions", {"n": 128}),
        ("openai-responses", RESPONSES, {"background": True}),
        ("anthropic", ANTHROPIC, {"max_tokens": -1}),
        ("google", GOOGLE, {"generationConfig": {"candidateCount": 8}}),
        ("anthropic", RESPONSES, {"background": True}),
    ],
)
async def test_request_for_several_answers_is_refused_before_the_service_sees_it(
    broker_system: BrokerSystem, server: FakeModelServer, service: str, path: str, more: JsonObject
) -> None:
    before = len(server.requests)
    async with worker(broker_system, f"{service}/fake") as ada:
        body = BODIES.get(path, QUESTION) | more
        refused = await ada.post(path, body)
        assert (refused.status_code, refused.headers["x-should-retry"]) == (400, "false")
        named = [*more, *more.get("generationConfig", {})][-1]
        assert f"{named}: " in refused.text
    assert len(server.requests) == before


async def ask_once(ada: ProxyWorker, **more: Any) -> int:
    """Ask a question through the worker's door; return the status of the answer."""
    return (await ada.post(ANTHROPIC, QUESTION | more)).status_code


async def settle(ada: ProxyWorker) -> ProxyCostsSettled:
    """Close the worker's proxy and return the usage metered there."""
    body = (await ada.endpoint.ask(BROKER, SettleProxyCosts(token=ada.door.token))).body
    assert isinstance(body, ProxyCostsSettled)
    return body


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_the_key_of_the_service_does_not_reach_the_agent(
    broker_system: BrokerSystem, server: FakeModelServer, is_streamed: bool
) -> None:
    server.responder = lambda seen: say(f"I was called with {server.key} and")
    for path, body in BODIES.items():
        async with worker(broker_system, f"{SERVICE_OF[path]}/fake") as ada:
            answer = await ada.post(path, body | ({"stream": True} if is_streamed else {}))
            assert answer.status_code == 200
            assert server.key not in answer.text
            assert "[key]" in answer.text


async def test_call_abandoned_by_an_agent_is_billed_even_without_streamed_text(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    gate = threading.Event()
    server.responder = lambda seen: Reply(text="never", gate=gate)
    try:
        async with worker(broker_system) as ada:
            asking = QUESTION | {"messages": [{"role": "user", "content": "abandoned"}]}
            call = asyncio.create_task(ada.post(ANTHROPIC, asking))
            await asyncio.to_thread(server.wait_for, lambda seen: "abandoned" in seen.said)
            call.cancel()
            await asyncio.wait([call])
            async with asyncio.timeout(30):  # until the broker has noticed the disconnection
                while not (settled := await settle(ada)).calls:  # noqa: ASYNC110 (no event)
                    await asyncio.sleep(0.01)
            assert (settled.calls, settled.usage.is_estimate) == (1, True)
            assert settled.usage.input_tokens > 0
            assert settled.usage.output_tokens > 0
    finally:
        gate.set()


async def heard(ada: ProxyWorker, kind: type[ProxyBudgetLow | ProxyCallFailed]) -> Any:
    """Return the worker's next message of this kind."""
    while not isinstance(body := (await ada.endpoint.receive()).body, kind):
        pass
    return body


async def test_limits_of_a_node_apply_to_all_proxies_of_one_attempt(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = lambda seen: say("fine")
    asked: dict[str, Any] = {"node_id": "n1", "bounds": SpendingLimits(calls=6)}

    async with worker(broker_system, attempt=1, bounds=SpendingLimits(calls=6)) as ada:
        assert [await ask_once(ada) for _ in range(3)] == [200] * 3
        low = await heard(ada, ProxyBudgetLow)
        assert low.shortage.in_words() == "2 calls of the 6 calls of the node n1 are spent"
        settled = await settle(ada)
        assert settled.calls == 3
        assert settled.usage.tokens == (await ada.spent()).total.tokens
        assert await settle(ada) == settled, "asked again it is told the same"
        assert await ask_once(ada) == 401, "and the door is closed"

        async def door(attempt: int) -> None:
            common = {"run_id": ada.run, "model": "anthropic/fake", "attempt": attempt}
            opened = await ask_door(ada.endpoint, **common, **asked)
            assert isinstance(opened, ProxyOpened)
            ada.door = opened

        await door(1)
        answers = await asyncio.gather(*(ask_once(ada) for _ in range(5)))
        assert sorted(answers) == [200, 200, 200, 402, 402], "also if all come at once"
        failed = await heard(ada, ProxyCallFailed)
        assert failed.shortage.budget.scope == "node"
        assert failed.shortage.unit == "calls"
        assert (await settle(ada)).calls == 3, "what this door's calls were alone"
        await door(2)
        assert await ask_once(ada) == 200, "another attempt has bounds of its own"


async def test_a_call_that_would_pass_a_nodes_tokens_or_money_is_refused(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    server.responder = lambda seen: say("fine")

    async def passed(bounds: SpendingLimits) -> UsageTable:
        async with worker(broker_system, bounds=bounds) as ada:
            for _ in range(20):
                if await ask_once(ada, max_tokens=50) == 402:
                    return await ada.spent()
        raise AssertionError("nothing was refused")

    in_tokens = (await passed(SpendingLimits(tokens=300))).total.tokens
    in_dollars = (await passed(SpendingLimits(usd=0.002))).total.cost_usd
    assert 0 < in_tokens <= 300
    assert in_dollars is not None
    assert 0 < in_dollars <= 0.002


async def test_a_bound_in_dollars_opens_no_door_to_a_model_without_a_price(
    broker_system: BrokerSystem,
) -> None:
    ada = await broker_system.join("shop-1/unpriced")
    begin_run(broker_system.home, "r")
    asked = {"run_id": "r", "node_id": "n", "model": "openai/unpriced"}
    refused = await ask_door(ada, **asked, bounds=SpendingLimits(usd=1))
    assert isinstance(refused, RefusedReply)
    assert "the price of openai/unpriced is not known" in refused.reason
    assert isinstance(await ask_door(ada, **asked, bounds=SpendingLimits(calls=9)), ProxyOpened)
    await ada.send(BROKER, CloseProxy())
    ada.abort()


# --- access --------------------------------------------------------------------------------------


async def test_unauthorized_requests_are_refused(broker_system: BrokerSystem) -> None:
    async with worker(broker_system, models=("openai/fake",)) as ada:
        path = ANTHROPIC

        async def status(path: str = path, body: Any = QUESTION, **head: str) -> int:
            return (await ada.post(path, body, **head)).status_code

        assert await status() == 200
        assert await status(authorization="Bearer agd-wrong") == 401
        assert await status(authorization="") == 401
        assert await status(host="evil.example") == 403
        assert await status(host="127.0.0.1:1") == 403
        assert await status(origin="http://127.0.0.1") == 403
        assert await status(body=QUESTION | {"model": "openai/fake"}) == 200
        assert await status(body=QUESTION | {"model": "openai/gpt-5.2"}) == 400
        assert await status(body=QUESTION | {"model": "moonshot/fake"}) == 400
        assert await status("/anthropic/v1/files") == 404
        assert await status("/openai/v1/embeddings") == 404
        assert await status("/") == 404
        assert await status(body=[1]) == 400
        for broken in (None, 3, [3], []):
            assert await status(body={"model": "any", "messages": broken}) == 400
        told = (await ada.post(path, QUESTION, authorization="")).json()
        assert told["error"]["type"] == "authentication_error"
        told = (await ada.post(RESPONSES, {}, authorization="")).json()
        assert told["error"]["code"] == "invalid_api_key"


async def test_a_body_that_is_too_large_is_refused(broker_system: BrokerSystem) -> None:
    async with worker(broker_system) as ada:
        host, port = ada.door.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /anthropic/v1/messages HTTP/1.1\r\nhost: {host}:{port}\r\n"
        head += f"x-api-key: {ada.door.token}\r\ncontent-length: 33554433\r\n\r\n"
        writer.write(head.encode())
        assert b" 413 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize("levels", [700, 100_000])
async def test_a_body_that_is_nested_too_deeply_is_refused(
    broker_system: BrokerSystem, levels: int
) -> None:
    nested = '{"a":' * levels + "1" + "}" * levels
    use = '{"type": "tool_use", "id": "a", "name": "b", "input": %s}'
    body = '{"model": "m", "messages": [{"role": "assistant", "content": [%s]}]}'
    async with worker(broker_system) as ada:
        host, port = ada.door.url.removeprefix("http://").split(":")
        content = body.replace("%s", use.replace("%s", nested)).encode()
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /anthropic/v1/messages HTTP/1.1\r\nhost: {host}:{port}\r\n"
        head += f"x-api-key: {ada.door.token}\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        assert b" 400 " in await reader.readline()
        writer.close()


CHAT = "/openai/v1/chat/completions"
TEXT_AS_PARAMETERS = {
    "messages": QUESTION["messages"],
    "model": "any",
    "tools": [{"type": "function", "function": {"name": "a", "parameters": "EVIL"}}],
}
MALFORMED: list[tuple[str, bytes, bytes, bytes]] = [
    (ANTHROPIC, json.dumps(QUESTION).encode(), b"anthropic-beta: \xc3\xa9", b"anthropic-beta"),
    (ANTHROPIC, json.dumps(QUESTION).encode(), b"anthropic-beta: a context-1m", b"anthropic-beta"),
    (
        ANTHROPIC,
        json.dumps(QUESTION).encode(),
        b"anthropic-beta: a\r\nanthropic-beta: b;c",
        b"anthropic-beta",
    ),
    (ANTHROPIC + "?beta=%ff%00", json.dumps(QUESTION).encode(), b"x: y", b"?beta="),
    (CHAT, json.dumps(TEXT_AS_PARAMETERS).encode(), b"x: y", b"parameters"),
    (CHAT, b'{"model": "any", "messages": [], "\\ud800": 1}', b"x: y", b"not forwarded"),
    (CHAT, b'{"model": "any", "temperature": 1e999, "messages": []}', b"x: y", b"temperature"),
    (RESPONSES, b'{"model": "any", "input": [{"type": "compaction", "id": "c"}]}', b"x: y",
     b"encrypted_content"),
    (RESPONSES, b"\xff\xfe", b"x: y", b"no JSON"),
    (CHAT, b'{"model": "any", "messages": [%b1]}' % (b"1," * 200_000), b"x: y", b"200,000 values"),
    (CHAT, b'{"model": "any", "messages": [%b{}]}' % (b"{}," * 200_000), b"x: y", b"values"),
    (CHAT, b'{"model": "any", "messages": [], "max_tokens": 1, "max_token\\u0073": 100000}',
     b"x: y", b"max_tokens"),
    (ANTHROPIC, json.dumps(QUESTION).encode()[:-1] + b', "metadata": {"a": 1, "a": 2}}', b"x: y",
     b"twice"),
    (f"{ANTHROPIC}?beta=true&beta=false", json.dumps(QUESTION).encode(), b"x: y", b"twice"),
    (GOOGLE, json.dumps(
        BODIES[GOOGLE] | {"generationConfig": {"stopSequences": {"a": "b"}}}
    ).encode(), b"x: y", b"stopSequences"),
    (f"{ANTHROPIC}/count_tokens", json.dumps(
        QUESTION | {"system": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}
    ).encode(), b"x: y", b"file_id"),
    (GOOGLE, json.dumps(BODIES[GOOGLE] | {"labels": {"fileUri": "u"}}).encode(), b"x: y",
     b"fileUri"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content", "header", "named"), MALFORMED)
async def test_a_malformed_request_is_refused_in_its_format_and_names_the_field(
    broker_system: BrokerSystem, path: str, content: bytes, header: bytes, named: bytes
) -> None:
    async with worker(broker_system) as ada:
        host, port = ada.door.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path} HTTP/1.1\r\nhost: {host}:{port}\r\nx-api-key: {ada.door.token}\r\n"
        length = f"\r\nconnection: close\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + header + length.encode() + content)
        answer = await reader.read()
        assert b" 400 " in answer.partition(b"\r\n")[0], answer
        body = answer.partition(b"\r\n\r\n")[2]
        assert named in body
        assert "error" in json.loads(body)
        writer.close()


async def test_a_model_that_cannot_be_called_opens_no_door(broker_system: BrokerSystem) -> None:
    ada = await broker_system.join("shop-1/nobody")
    begin_run(broker_system.home, "r")
    common = {"run_id": "r", "node_id": "n"}
    for model in ("nope/x", "moonshot/kimi", "script/nope"):
        refused = await ask_door(ada, model=model, **common)
        assert isinstance(refused, RefusedReply), refused
    of_others = await ask_door(ada, model="anthropic/fake", run_id="run-of-bank", node_id="n")
    assert isinstance(of_others, RefusedReply), "a run that is not its agent's"
    ada.abort()


async def test_repeated_message_opens_the_same_proxy_and_another_one_replaces_it(
    broker_system: BrokerSystem,
) -> None:
    async with worker(broker_system) as ada:
        body = OpenProxy(run_id=ada.run, node_id="n", model="anthropic/fake")
        id = message_id()
        first = (await ada.endpoint.ask(BROKER, body, id=id)).body
        again = (await ada.endpoint.ask(BROKER, body, id=id)).body
        assert isinstance(first, ProxyOpened)
        assert again == first
        old = await ada.post(ANTHROPIC, QUESTION)
        assert old.status_code == 401
        bearer = f"Bearer {first.token}"
        new = await ada.post(ANTHROPIC, QUESTION, authorization=bearer)
        assert new.status_code == 200


async def test_closing_the_proxy_ends_running_calls(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    gate, text_gate = threading.Event(), threading.Event()
    server.responder = lambda seen: (
        Reply(text="never", gate=gate)
        if "waits" in seen.said
        else Reply(text="one two three four", text_gate=text_gate)
    )

    try:
        async with worker(broker_system) as ada:
            waits = QUESTION | {"messages": [{"role": "user", "content": "waits"}]}
            waiting = asyncio.create_task(ada.post(ANTHROPIC, waits))
            await asyncio.to_thread(server.wait_for, lambda seen: "waits" in seen.said)
            head = {"x-api-key": ada.door.token}
            async with (
                httpx2.AsyncClient(trust_env=False, verify=False) as client,
                client.stream(
                    "POST",
                    f"{ada.door.url}/anthropic/v1/messages",
                    json=QUESTION | {"stream": True},
                    headers=head,
                ) as answer,
            ):
                assert answer.status_code == 200
                pieces = answer.aiter_raw()
                await anext(pieces)
                await ada.endpoint.send(BROKER, CloseProxy())
                with pytest.raises(httpx2.RemoteProtocolError):
                    async for _ in pieces:
                        pass
            assert (await waiting).status_code == 401
            assert (await ada.post(ANTHROPIC, QUESTION)).status_code == 401
    finally:
        gate.set()
        text_gate.set()


# --- deaths --------------------------------------------------------------------------------------


async def test_killed_broker_is_restarted_with_the_same_proxy(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    """The last test of this file: it leaves another broker than it found."""
    server.responder = lambda seen: say("fine")

    async with worker(broker_system, attempt=1, bounds=SpendingLimits(calls=2)) as ada:
        assert await ask_once(ada) == 200
        supervisor = await broker_system.join(SUPERVISOR)
        assert broker_system.broker is not None
        broker_system.broker.kill()
        await asyncio.to_thread(broker_system.broker.join, 10)
        broker_system.start_broker(incarnation=2)
        await broker_system.wait_until_ready(supervisor)
        client = ada.anthropic.copy(max_retries=20)
        done = await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert done.content[0].to_dict()["text"] == "fine"
        assert await ask_once(ada) == 402, "the calls before it died count"
        assert (await settle(ada)).calls == 2
        supervisor.abort()
    file = broker_system.home / "system" / "doors.json"
    assert file.stat().st_mode & 0o777 == 0o600
