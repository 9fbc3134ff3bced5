"""The broker's door: the real SDKs as external agents, a real broker, a fake model server."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from agiraph.core.ids import BROKER, SUPERVISOR, message_id
from agiraph.core.money import SpendingLimits
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
from tests.integration.test_broker import House
from transport.endpoint import Endpoint

DEADLINE = 45
PRICED = ("anthropic", "openai", "google")
LOOK: anthropic.types.ToolParam = {
    "name": "look",
    "description": "Look at a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("fine")) as running:
        yield running


@pytest.fixture(scope="module")
def house(server: FakeModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One broker for all tests of this file."""
    built = House(tmp_path_factory.mktemp("door"), server)
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


class Worker:
    """A worker on the bus, with a door of its own."""

    def __init__(self, endpoint: Endpoint, door: ProxyOpened, run: str) -> None:
        self.endpoint = endpoint
        self.door = door
        self.run = run
        self.anthropic = anthropic.AsyncAnthropic(
            api_key=door.token, base_url=f"{door.url}/anthropic", max_retries=0
        )
        self.openai = openai.AsyncOpenAI(
            api_key=door.token, base_url=f"{door.url}/openai/v1", max_retries=0
        )

    async def close(self) -> None:
        await self.anthropic.close()
        await self.openai.close()

    async def spent(self) -> UsageTable:
        body = (await self.endpoint.ask(BROKER, AskUsage(run_id=self.run, agent="shop-1"))).body
        assert isinstance(body, UsageTable)
        return body

    async def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(trust_env=False) as client:
            head = {"authorization": f"Bearer {self.door.token}"} | headers
            return await client.post(f"{self.door.url}{path}", json=body, headers=head)


COUNT = iter(range(1000))


@asynccontextmanager
async def worker(
    house: House, model: str = "anthropic/fake", budget_usd: float | None = None, **asked: Any
) -> AsyncIterator[Worker]:
    """A worker that has opened a door for `model`, in a run with this budget."""
    async with asyncio.timeout(DEADLINE):
        number = next(COUNT)
        run = f"run-{number}"
        begin_run(house.home, run, budget_usd=budget_usd)
        endpoint = await house.join(f"shop-1/ada-{number}")
        try:
            opened = await ask_door(endpoint, run_id=run, node_id="n1", model=model, **asked)
            assert isinstance(opened, ProxyOpened), opened
            made = Worker(endpoint, opened, run)
            try:
                yield made
            finally:
                await made.close()
        finally:
            await endpoint.send(BROKER, CloseProxy())
            endpoint.abort()


async def ask_door(endpoint: Endpoint, **asked: Any) -> Any:
    return (await endpoint.ask(BROKER, OpenProxy(**asked))).body


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


MESSAGES: list[anthropic.types.MessageParam] = [{"role": "user", "content": "Begin."}]
QUESTION: dict[str, Any] = {
    "model": "any",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Begin."}],
}


async def test_the_anthropic_sdk_goes_through_and_is_metered(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: calls(call("look", path="a.txt"), text="Let me look at it first.")

    async with worker(house) as ada:
        client = ada.anthropic
        async with client.messages.stream(
            model="claude-sonnet-5", max_tokens=500, messages=MESSAGES, tools=[LOOK]
        ) as stream:
            message = await stream.get_final_message()
        assert [block.type for block in message.content] == ["text", "tool_use"]
        whole = await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert whole.content[0].type == "text"
        spent = await ada.spent()
        row = spent.by_entity[ada.endpoint.address]
        assert row.cost_usd is not None
        assert row.cost_usd > 0
        assert row.input_tokens == message.usage.input_tokens + whole.usage.input_tokens
        assert row.output_tokens == message.usage.output_tokens + whole.usage.output_tokens
    assert [seen.model for seen in server.requests[-2:]] == ["fake", "fake"]
    assert server.requests[-1].headers["x-api-key"] == server.key


async def test_what_only_the_service_understands_is_handed_on(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")

    async with worker(house) as ada:
        body = QUESTION | {"metadata": {"user_id": "u"}, "top_k": 3}
        head = {"anthropic-beta": "some-beta", "anthropic-version": "2023-06-01"}
        await ada.post("/anthropic/v1/messages?beta=true", body, **head)
    seen = server.requests[-1]
    assert (seen.body["metadata"], seen.body["top_k"]) == ({"user_id": "u"}, 3)
    assert seen.headers["anthropic-beta"] == "some-beta"


async def test_the_openai_sdk_goes_through_and_is_metered_without_asking_for_usage(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: calls(call("look", path="a.txt"), text="Let me look at it first.")

    async with worker(house, "openai/fake") as ada:
        client = ada.openai
        stream = await client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Begin."}], stream=True
        )
        chunks = [chunk async for chunk in stream]
        assert all(chunk.choices for chunk in chunks)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == "Let me look at it first."
        assert (await ada.spent()).total.tokens > 0
        whole = await client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Begin."}]
        )
        assert whole.choices[0].message.tool_calls
        assert (await client.models.list()).data[0].id == "openai/fake"


def saw_the_conversation(seen: SeenRequest) -> Reply:
    """Call a tool, then tell its result; refuse a conversation that lost something."""
    assert "outside agent" in seen.system
    assert "look" in seen.tools
    if not seen.step:
        return calls(call("look", path="a.txt"), text="Let me look.")
    return say(f"It says: {seen.result('look')}")


async def test_the_anthropic_sdk_talks_to_an_openai_model(
    house: House, server: FakeModelServer
) -> None:
    server.brain = saw_the_conversation

    async with worker(house, "openai/fake") as ada:
        client = ada.anthropic
        messages = list(MESSAGES)
        common: dict[str, Any] = {
            "model": "claude-sonnet-5",
            "max_tokens": 500,
            "system": "You are an outside agent.",
            "tools": [LOOK],
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
    house: House, server: FakeModelServer
) -> None:
    server.brain = saw_the_conversation
    function = {"name": "look", "parameters": LOOK["input_schema"]}

    async with worker(house) as ada:
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
    house: House, server: FakeModelServer
) -> None:
    def brain(seen: SeenRequest) -> Reply:
        assert set(seen.tools) == {"look", "patch", "mail__send"}
        if not seen.step:
            return calls(
                call("look", path="a"), call("patch", input="*** Begin"), call("mail__send")
            )
        return say(" ".join(seen.result(tool) for tool in ("look", "patch", "mail__send")))

    server.brain = brain
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

    async with worker(house) as ada:
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


async def test_responses_are_handed_on_to_a_service_that_speaks_them(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: calls(call("look", path="a.txt"), text="Let me look.")
    schema = {"type": "object", "properties": {}}
    tool: Any = {"type": "function", "name": "look", "parameters": schema, "strict": False}

    async with worker(house, "openai-responses/fake") as ada:
        asked: Any = {"model": "gpt-5-codex", "input": "Begin.", "tools": [tool]}
        stream = await ada.openai.responses.create(stream=True, truncation="auto", **asked)
        events = [event async for event in stream]
        assert events[-1].type == "response.completed"
        whole = await ada.openai.responses.create(**asked)
        assert whole.output_text == "Let me look."
        assert whole.usage is not None
        assert (await ada.spent()).total.tokens >= 2 * whole.usage.total_tokens
    assert server.requests[-1].api == "responses"
    assert server.requests[-2].body["truncation"] == "auto"
    assert server.requests[-1].model == "fake"


async def test_a_shape_that_is_wanted_is_asked_of_another_wire_too(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say('{"n": 1}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    async with worker(house, "openai/fake") as ada:
        config = {"format": {"type": "json_schema", "schema": schema}}
        await ada.post("/anthropic/v1/messages", QUESTION | {"output_config": config})
    asked = server.requests[-1].body["response_format"]["json_schema"]
    assert asked["schema"] == schema


async def test_the_embedded_model_answers_claude_codes_format(house: House) -> None:
    async with worker(house, "script/survey") as ada:
        client = ada.anthropic
        counted = await client.messages.count_tokens(model="any", messages=MESSAGES)
        assert counted.input_tokens > 0
        models = [model.id async for model in client.models.list()]
        assert models == ["script/survey"]


# --- failures ------------------------------------------------------------------------------------


async def test_what_fails_is_tried_again_before_the_agent_hears_of_it(
    house: House, server: FakeModelServer
) -> None:
    replies = iter([server_error(), rate_limited("0.01"), say("at last")])
    server.brain = lambda seen: next(replies)

    async with worker(house) as ada:
        client = ada.anthropic
        done = await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert done.content[0].to_dict()["text"] == "at last"


async def test_an_answer_that_breaks_off_is_not_whole_for_the_agent_either(
    house: House, server: FakeModelServer
) -> None:
    long = say("one two three four five six seven eight")
    server.brain = lambda seen: replace(long, cut_after=5)

    async def read(client: anthropic.AsyncAnthropic) -> None:
        async with client.messages.stream(model="any", max_tokens=500, messages=MESSAGES) as stream:
            await stream.get_final_message()

    async with worker(house) as ada:
        client = ada.anthropic
        with pytest.raises((anthropic.APIError, httpx2.RemoteProtocolError)):
            await read(client)
        assert (await ada.spent()).total.output_tokens > 0
    async with worker(house, "openai/fake") as bob:
        client = bob.anthropic
        with pytest.raises(anthropic.APIError):
            await read(client)


async def test_out_of_budget_is_told_to_agent_and_worker_and_not_tried_again(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")
    before = len(server.requests)

    async with worker(house, budget_usd=0.000001) as ada:
        client = ada.anthropic.copy(max_retries=5)
        with pytest.raises(anthropic.APIStatusError) as failed:
            await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert failed.value.status_code == 402
        assert failed.value.response.headers["x-should-retry"] == "false"
        heard = (await ada.endpoint.receive()).body
        assert isinstance(heard, ProxyCallFailed)
        assert heard.kind == "out_of_budget"
        with pytest.raises(openai.APIStatusError) as refused:
            await ada.openai.responses.create(model="any", input="Begin.")
        assert (refused.value.code, refused.value.status_code) == ("insufficient_quota", 400)
    assert len(server.requests) == before


async def test_a_budget_shortens_the_answer_that_is_handed_on(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")

    async with worker(house, budget_usd=0.1) as ada:
        assert (await ada.post("/anthropic/v1/messages", QUESTION)).status_code == 200
        long = QUESTION | {"max_tokens": 60_000}
        assert (await ada.post("/anthropic/v1/messages", long)).status_code == 200
    assert server.requests[-2].body["max_tokens"] == 500
    assert 1024 <= server.requests[-1].body["max_tokens"] < 10_000


async def ask_once(ada: Worker, **more: Any) -> int:
    """Ask a question through the worker's door; return the status of the answer."""
    return (await ada.post("/anthropic/v1/messages", QUESTION | more)).status_code


async def settle(ada: Worker) -> ProxyCostsSettled:
    """Close the worker's door and return what was metered at it."""
    body = (await ada.endpoint.ask(BROKER, SettleProxyCosts(token=ada.door.token))).body
    assert isinstance(body, ProxyCostsSettled)
    return body


async def heard(ada: Worker, kind: type[ProxyBudgetLow | ProxyCallFailed]) -> Any:
    """Return the next message of this kind that the worker is told."""
    while not isinstance(body := (await ada.endpoint.receive()).body, kind):
        pass
    return body


async def test_bounds_of_a_node_hold_for_all_doors_of_one_attempt_at_it(
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")
    asked: dict[str, Any] = {"node_id": "n1", "bounds": SpendingLimits(calls=6)}

    async with worker(house, attempt=1, bounds=SpendingLimits(calls=6)) as ada:
        assert [await ask_once(ada) for _ in range(3)] == [200] * 3
        low = await heard(ada, ProxyBudgetLow)
        assert low.shortage.told() == "2 calls of the 6 calls of the node n1 are spent"
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
    house: House, server: FakeModelServer
) -> None:
    server.brain = lambda seen: say("fine")

    async def passed(bounds: SpendingLimits) -> UsageTable:
        async with worker(house, bounds=bounds) as ada:
            for _ in range(20):
                if await ask_once(ada, max_tokens=50) == 402:
                    return await ada.spent()
        raise AssertionError("nothing was refused")

    in_tokens = (await passed(SpendingLimits(tokens=300))).total.tokens
    in_dollars = (await passed(SpendingLimits(usd=0.002))).total.cost_usd
    assert 0 < in_tokens <= 300
    assert in_dollars is not None
    assert 0 < in_dollars <= 0.002


async def test_a_bound_in_dollars_opens_no_door_to_a_model_without_a_price(house: House) -> None:
    ada = await house.join("shop-1/unpriced")
    begin_run(house.home, "r")
    asked = {"run_id": "r", "node_id": "n", "model": "openai/unpriced"}
    refused = await ask_door(ada, **asked, bounds=SpendingLimits(usd=1))
    assert isinstance(refused, RefusedReply)
    assert "the price of openai/unpriced is not known" in refused.reason
    assert isinstance(await ask_door(ada, **asked, bounds=SpendingLimits(calls=9)), ProxyOpened)
    await ada.send(BROKER, CloseProxy())
    ada.abort()


# --- who gets in ---------------------------------------------------------------------------------


async def test_who_is_not_let_in(house: House) -> None:
    async with worker(house, models=("openai/fake",)) as ada:
        path = "/anthropic/v1/messages"

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
        told = (await ada.post("/openai/v1/responses", {}, authorization="")).json()
        assert told["error"]["code"] == "invalid_api_key"


async def test_a_body_that_is_too_large_is_refused(house: House) -> None:
    async with worker(house) as ada:
        host, port = ada.door.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /anthropic/v1/messages HTTP/1.1\r\nhost: {host}:{port}\r\n"
        head += f"x-api-key: {ada.door.token}\r\ncontent-length: 33554433\r\n\r\n"
        writer.write(head.encode())
        assert b" 413 " in await reader.readline()
        writer.close()


async def test_a_model_that_cannot_be_called_opens_no_door(house: House) -> None:
    ada = await house.join("shop-1/nobody")
    begin_run(house.home, "r")
    common = {"run_id": "r", "node_id": "n"}
    for model in ("nope/x", "moonshot/kimi", "script/nope"):
        refused = await ask_door(ada, model=model, **common)
        assert isinstance(refused, RefusedReply), refused
    of_others = await ask_door(ada, model="anthropic/fake", run_id="run-of-bank", node_id="n")
    assert isinstance(of_others, RefusedReply), "a run that is not its agent's"
    ada.abort()


async def test_the_same_message_opens_the_same_door_and_another_one_replaces_it(
    house: House,
) -> None:
    async with worker(house) as ada:
        body = OpenProxy(run_id=ada.run, node_id="n", model="anthropic/fake")
        id = message_id()
        first = (await ada.endpoint.ask(BROKER, body, id=id)).body
        again = (await ada.endpoint.ask(BROKER, body, id=id)).body
        assert isinstance(first, ProxyOpened)
        assert again == first
        old = await ada.post("/anthropic/v1/messages", QUESTION)
        assert old.status_code == 401
        bearer = f"Bearer {first.token}"
        new = await ada.post("/anthropic/v1/messages", QUESTION, authorization=bearer)
        assert new.status_code == 200


async def test_closing_the_door_ends_what_is_under_way(
    house: House, server: FakeModelServer
) -> None:
    gate, text_gate = threading.Event(), threading.Event()
    server.brain = lambda seen: (
        Reply(text="never", gate=gate)
        if "waits" in seen.said
        else Reply(text="one two three four", text_gate=text_gate)
    )

    try:
        async with worker(house) as ada:
            waits = QUESTION | {"messages": [{"role": "user", "content": "waits"}]}
            waiting = asyncio.create_task(ada.post("/anthropic/v1/messages", waits))
            await asyncio.to_thread(server.wait_for, lambda seen: "waits" in seen.said)
            head = {"x-api-key": ada.door.token}
            async with (
                httpx2.AsyncClient(trust_env=False) as client,
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
            assert (await ada.post("/anthropic/v1/messages", QUESTION)).status_code == 401
    finally:
        gate.set()
        text_gate.set()


# --- deaths --------------------------------------------------------------------------------------


async def test_a_killed_broker_comes_back_with_the_same_door(
    house: House, server: FakeModelServer
) -> None:
    """The last test of this file: it leaves another broker than it found."""
    server.brain = lambda seen: say("fine")

    async with worker(house, attempt=1, bounds=SpendingLimits(calls=2)) as ada:
        assert await ask_once(ada) == 200
        supervisor = await house.join(SUPERVISOR)
        assert house.broker is not None
        house.broker.kill()
        await asyncio.to_thread(house.broker.join, 10)
        house.start_broker(incarnation=2)
        await house.wait_until_ready(supervisor)
        client = ada.anthropic.copy(max_retries=20)
        done = await client.messages.create(model="any", max_tokens=500, messages=MESSAGES)
        assert done.content[0].to_dict()["text"] == "fine"
        assert await ask_once(ada) == 402, "the calls before it died count"
        assert (await settle(ada)).calls == 2
        supervisor.abort()
    file = house.home / "system" / "doors.json"
    assert file.stat().st_mode & 0o777 == 0o600
