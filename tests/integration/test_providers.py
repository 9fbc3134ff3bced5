"""The real SDKs against the fake model server: whole answers, streams, tools, usage."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.connect import connect
from agiraph.models.registry import load_presets
from tests.fakes.model_server import (
    Call,
    FakeModelServer,
    Reply,
    Responder,
    Script,
    SeenRequest,
    call,
    calls,
    say,
)
from tests.unit.llm.requests import ask

APIS = ("anthropic", "openai", "openai-responses", "google")

PROOF = {
    "google": "c2ln"
}  # thoughts do not go back to Google, only the signatures of their results


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("fine")) as running:
        yield running


class ProviderUnderTest:
    """A provider of a format, and the service that it calls."""

    def __init__(self, server: FakeModelServer, api: str) -> None:
        self.server = server
        self.api = api
        self.provider = connect(api, load_presets(), server.env(), timeout_seconds=20)

    def request(self, *turns: Turn) -> ModelRequest:
        return ask(*turns, model=f"{self.api}/fake")

    async def generate(
        self, answer: Reply | Responder, *turns: Turn, heard: list[str] | None = None
    ) -> ModelResponse:
        """Return the provider's reading of an answer of the service."""
        self.server.responder = (lambda seen: answer) if isinstance(answer, Reply) else answer
        on_text = (heard if heard is not None else []).append
        response = await self.provider.generate(self.request(*turns), on_text)
        assert not self.server.problems
        return response


@pytest.fixture
async def asked(server: FakeModelServer, api: str) -> AsyncIterator[ProviderUnderTest]:
    made = ProviderUnderTest(server, api)
    yield made
    await made.provider.close()


async def test_text_is_streamed_in_pieces_and_returned_whole(asked: ProviderUnderTest) -> None:
    heard: list[str] = []
    response = await asked.generate(say("Grüße, ∆ 🙂 and good day"), heard=heard)
    assert response.text == "Grüße, ∆ 🙂 and good day"
    assert len(heard) > 1
    assert "".join(heard) == response.text
    assert response.stop_reason == "end_turn"
    assert response.model == f"{asked.api}/fake"


async def test_several_calls_of_one_turn_are_read(asked: ProviderUnderTest) -> None:
    reply = calls(call("bash", command="ls -l 'ä'"), call("bash", command="pwd"), text="Looking.")
    response = await asked.generate(reply)
    assert response.text == "Looking."
    assert [c.arguments["command"] for c in response.tool_calls] == ["ls -l 'ä'", "pwd"]
    assert len({c.id for c in response.tool_calls}) == 2
    assert response.stop_reason == "tool_use"


async def test_conversation_with_calls_and_results_is_exchanged(asked: ProviderUnderTest) -> None:
    script = Script({"ada": [calls(call("bash", command="a"), call("bash", command="b"))]})
    first = await asked.generate(script)
    turns: list[Turn] = [UserTurn(content="Begin."), first.turn()]
    for number, made in enumerate(first.tool_calls):
        turns.append(ToolTurn(call_id=made.id, name="bash", content=f"result {number}"))

    def second(seen: SeenRequest) -> Reply:
        assert seen.step == 1
        assert seen.system == "You are ada."
        assert seen.tools == ("bash",)
        assert seen.results("bash") == ["result 0", "result 1"]
        return say("Done.")

    assert (await asked.generate(second, *turns)).text == "Done."


async def test_the_same_step_asked_again_is_answered_with_the_same_calls(
    asked: ProviderUnderTest,
) -> None:
    script = Script({"ada": [call("bash", command="ls")]})
    assert await asked.generate(script) == await asked.generate(script)


async def test_cached_tokens_are_counted(asked: ProviderUnderTest) -> None:
    usage = Usage(input_tokens=1000, output_tokens=7, cache_read_tokens=900)
    response = await asked.generate(Reply(text="x", usage=usage))
    assert response.usage == usage


@pytest.mark.parametrize("api", APIS[:3])
async def test_malformed_arguments_are_kept_unchanged(asked: ProviderUnderTest) -> None:
    reply = Reply(calls=(Call("bash", raw='{"command": "ls'), Call("bash", {"command": "pwd"})))
    response = await asked.generate(reply)
    assert [c.malformed for c in response.tool_calls] == ['{"command": "ls', None]
    assert response.tool_calls[1].arguments == {"command": "pwd"}


@pytest.mark.parametrize("api", ["google"])
async def test_unreadable_call_of_gemini_is_reported_as_malformed(asked: ProviderUnderTest) -> None:
    reply = Reply(text="Let me see.", calls=(Call("bash", raw='{"command": "ls'),))
    response = await asked.generate(reply)
    assert response.text == "Let me see."
    assert response.stop_reason == "tool_use"
    (made,) = response.tool_calls
    assert made.malformed == 'Malformed function call: bash({"command": "ls)'


async def test_ids_that_a_service_repeats_are_made_new(asked: ProviderUnderTest) -> None:
    reply = Reply(calls=(Call("bash", {"command": "ls"}, id="call_0"),))
    first = await asked.generate(reply)
    assert first.tool_calls[0].id == "call_0"
    result = ToolTurn(call_id="call_0", name="bash", content="a")
    turns = (UserTurn(content="x"), first.turn(), result)
    assert (await asked.generate(reply, *turns)).tool_calls[0].id != "call_0"


async def test_thinking_is_sent_back_with_the_next_request(asked: ProviderUnderTest) -> None:
    first = await asked.generate(Reply(text="x", thinking="hm"))
    assert first.text == "x"
    await asked.generate(say("y"), UserTurn(content="a"), first.turn())
    body = asked.server.requests[-1].body
    said = body.get("messages") or body.get("input") or body["contents"]
    assert PROOF.get(asked.api, "hm") in repr(said)


async def test_truncated_answer_is_marked(asked: ProviderUnderTest) -> None:
    response = await asked.generate(Reply(text="x", stop_reason="max_tokens"))
    assert response.stop_reason == "max_tokens"


async def test_a_cancelled_call_drops_its_connection_at_once(asked: ProviderUnderTest) -> None:
    gate = threading.Event()
    asked.server.responder = lambda seen: Reply(text="a long, long story", text_gate=gate)
    heard: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(asked.provider.generate(asked.request(), heard.put_nowait))
    try:
        async with asyncio.timeout(10):
            assert await heard.get() in "a long, long story"
            task.cancel()
            await asyncio.wait([task])
        assert task.cancelled()
    finally:
        gate.set()


async def test_many_calls_at_once_do_not_mix(asked: ProviderUnderTest) -> None:
    asked.server.responder = lambda seen: say("answer to " + seen.said)

    async def one(number: int) -> str | None:
        request = asked.request(UserTurn(content=str(number)))
        return (await asked.provider.generate(request, lambda text: None)).text

    answers = await asyncio.gather(*(one(n) for n in range(20)))
    assert answers == [f"answer to {n}" for n in range(20)]


async def test_interrupted_turn_is_marked_and_is_not_a_step(asked: ProviderUnderTest) -> None:
    cut = AssistantTurn(text="I was about", interrupted=True)
    seen: list[SeenRequest] = []

    def responder(request: SeenRequest) -> Reply:
        seen.append(request)
        return say("ok")

    await asked.generate(responder, UserTurn(content="a"), cut, UserTurn(content="no, b"))
    assert seen[0].step == 0
    assert "[interrupted]" in repr(seen[0].turns)


async def test_a_service_on_this_machine_is_called_past_any_proxy(
    server: FakeModelServer, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    asked = ProviderUnderTest(server, api)
    assert (await asked.generate(say("direct"))).text == "direct"
    await asked.provider.close()
