"""The real SDKs against the fake model server: whole answers, streams, tools, usage."""

import asyncio
import threading
from collections.abc import Iterator

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
from agiraph.llm.base import Provider
from agiraph.llm.connect import connect
from agiraph.llm.registry import load_presets
from tests.fakes.model_server import (
    Brain,
    Call,
    FakeModelServer,
    Reply,
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
}  # thoughts do not go back to Google, only the signature of what they led to


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(Script({"ada": []})) as running:
        yield running


def provider_of(server: FakeModelServer, api: str) -> Provider:
    return connect(api, load_presets(), server.env(), timeout_seconds=20)


def generate(
    server: FakeModelServer, api: str, brain: Brain, *turns: Turn, heard: list[str] | None = None
) -> ModelResponse:
    server.brain = brain

    async def once() -> ModelResponse:
        provider = provider_of(server, api)
        try:
            request = ask(*turns, model=f"{api}/fake")
            return await provider.generate(request, (heard if heard is not None else []).append)
        finally:
            await provider.close()

    response = asyncio.run(once())
    assert not server.problems
    return response


def test_text_streams_in_pieces_and_comes_whole(server: FakeModelServer, api: str) -> None:
    heard: list[str] = []
    response = generate(server, api, lambda seen: say("Grüße, ∆ 🙂 and good day"), heard=heard)
    assert response.text == "Grüße, ∆ 🙂 and good day"
    assert len(heard) > 1
    assert "".join(heard) == response.text
    assert response.stop_reason == "end_turn"
    assert response.model == f"{api}/fake"


def test_several_calls_in_one_turn(server: FakeModelServer, api: str) -> None:
    reply = calls(call("bash", command="ls -l 'ä'"), call("bash", command="pwd"), text="Looking.")
    response = generate(server, api, lambda seen: reply)
    assert response.text == "Looking."
    assert [c.arguments["command"] for c in response.tool_calls] == ["ls -l 'ä'", "pwd"]
    assert len({c.id for c in response.tool_calls}) == 2
    assert response.stop_reason == "tool_use"


def test_a_conversation_goes_there_and_back(server: FakeModelServer, api: str) -> None:
    script = Script({"ada": [calls(call("bash", command="a"), call("bash", command="b"))]})
    first = generate(server, api, script)
    turns: list[Turn] = [UserTurn(content="Begin."), first.turn()]
    for number, made in enumerate(first.tool_calls):
        turns.append(ToolTurn(call_id=made.id, name="bash", content=f"result {number}"))

    def second(seen: SeenRequest) -> Reply:
        assert seen.step == 1
        assert seen.system == "You are ada."
        assert seen.tools == ("bash",)
        assert seen.results("bash") == ["result 0", "result 1"]
        return say("Done.")

    assert generate(server, api, second, *turns).text == "Done."


def test_the_same_step_asked_again_is_answered_with_the_same_calls(
    server: FakeModelServer, api: str
) -> None:
    script = Script({"ada": [call("bash", command="ls")]})
    assert generate(server, api, script) == generate(server, api, script)


def test_cached_tokens_are_counted(server: FakeModelServer, api: str) -> None:
    usage = Usage(input_tokens=1000, output_tokens=7, cache_read_tokens=900)
    response = generate(server, api, lambda seen: Reply(text="x", usage=usage))
    assert response.usage == usage


@pytest.mark.parametrize("api", APIS[:3])
def test_malformed_arguments_are_kept_as_they_came(server: FakeModelServer, api: str) -> None:
    reply = Reply(calls=(Call("bash", raw='{"command": "ls'), Call("bash", {"command": "pwd"})))
    response = generate(server, api, lambda seen: reply)
    assert [c.malformed for c in response.tool_calls] == ['{"command": "ls', None]
    assert response.tool_calls[1].arguments == {"command": "pwd"}


def test_a_call_that_gemini_cannot_read_is_told_as_one(server: FakeModelServer) -> None:
    reply = Reply(text="Let me see.", calls=(Call("bash", raw='{"command": "ls'),))
    response = generate(server, "google", lambda seen: reply)
    assert response.text == "Let me see."
    assert response.stop_reason == "tool_use"
    (made,) = response.tool_calls
    assert made.malformed == 'Malformed function call: bash({"command": "ls)'


def test_ids_that_a_service_repeats_are_made_new(server: FakeModelServer, api: str) -> None:
    reply = Reply(calls=(Call("bash", {"command": "ls"}, id="call_0"),))
    first = generate(server, api, lambda seen: reply)
    assert first.tool_calls[0].id == "call_0"
    result = ToolTurn(call_id="call_0", name="bash", content="a")
    turns = (UserTurn(content="x"), first.turn(), result)
    assert generate(server, api, lambda seen: reply, *turns).tool_calls[0].id != "call_0"


def test_thinking_goes_back_with_the_next_request(server: FakeModelServer, api: str) -> None:
    first = generate(server, api, lambda seen: Reply(text="x", thinking="hm"))
    assert first.text == "x"
    generate(server, api, lambda seen: say("y"), UserTurn(content="a"), first.turn())
    body = server.requests[-1].body
    said = body.get("messages") or body.get("input") or body["contents"]
    assert PROOF.get(api, "hm") in repr(said)


def test_an_answer_that_is_too_long_says_so(server: FakeModelServer, api: str) -> None:
    response = generate(server, api, lambda seen: Reply(text="x", stop_reason="max_tokens"))
    assert response.stop_reason == "max_tokens"


def test_a_cancelled_call_drops_its_connection_at_once(server: FakeModelServer, api: str) -> None:
    gate = threading.Event()
    server.brain = lambda seen: Reply(text="a long, long story", text_gate=gate)

    async def cancel_in_mid_sentence() -> list[str]:
        provider = provider_of(server, api)
        heard: asyncio.Queue[str] = asyncio.Queue()
        task = asyncio.create_task(provider.generate(ask(model=f"{api}/fake"), heard.put_nowait))
        pieces = [await asyncio.wait_for(heard.get(), 10)]
        task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.cancelled()
        await provider.close()
        return pieces

    try:
        assert asyncio.run(cancel_in_mid_sentence())[0] in "a long, long story"
    finally:
        gate.set()


def test_many_calls_at_once_do_not_mix(server: FakeModelServer, api: str) -> None:
    server.brain = lambda seen: say("answer to " + seen.said)

    async def all_at_once() -> list[str | None]:
        provider = provider_of(server, api)

        async def one(number: int) -> str | None:
            request: ModelRequest = ask(UserTurn(content=str(number)), model=f"{api}/fake")
            return (await provider.generate(request, lambda text: None)).text

        try:
            return await asyncio.gather(*(one(n) for n in range(20)))
        finally:
            await provider.close()

    assert asyncio.run(all_at_once()) == [f"answer to {n}" for n in range(20)]


def test_an_interrupted_turn_is_shown_as_such_and_is_no_step(
    server: FakeModelServer, api: str
) -> None:
    cut = AssistantTurn(text="I was about", interrupted=True)
    seen: list[SeenRequest] = []

    def brain(request: SeenRequest) -> Reply:
        seen.append(request)
        return say("ok")

    generate(server, api, brain, UserTurn(content="a"), cut, UserTurn(content="no, b"))
    assert seen[0].step == 0
    assert "[interrupted]" in repr(seen[0].turns)


def test_a_service_on_this_machine_is_called_past_any_proxy(
    server: FakeModelServer, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert generate(server, api, lambda seen: say("direct")).text == "direct"
