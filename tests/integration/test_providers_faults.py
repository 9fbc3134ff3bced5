"""The real SDKs against a model server that fails: every failure has its kind and a clear text."""

import json
import socket
import threading
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.llm.base import ProviderError
from agiraph.llm.connect import connect
from agiraph.llm.providers.forwarding import ForwardingProvider
from agiraph.llm.providers.service import ServiceProvider
from agiraph.llm.token_counts import InputSize
from agiraph.models.registry import load_presets
from tests.fakes.model_server import (
    FakeModelServer,
    Reply,
    call,
    calls,
    cut,
    rate_limited,
    server_error,
    too_long,
)
from tests.fakes.raw_service import RawAnswer, RawService
from tests.integration.test_providers import api, server
from tests.unit.llm.requests import ask

__all__ = ["api", "server"]

# The variables that lead to a service and hold its key.
VARIABLES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openai-responses": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "google": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}


async def failure(
    api: str, environ: dict[str, str], model: str = "fake", timeout_seconds: float = 20
) -> ProviderError:
    provider = connect(api, load_presets(), environ, timeout_seconds=timeout_seconds)
    try:
        with pytest.raises(ProviderError) as caught:
            await provider.generate(ask(model=f"{api}/{model}"), lambda text: None)
    finally:
        await provider.close()
    return caught.value


WHOLE = calls(call("bash", command="ls"), text="one two three four")
FAILURES: dict[str, tuple[Reply, str, float | None]] = {
    "rate limited, with a wish": (rate_limited(retry_after="7"), "rate_limited", 7),
    "rate limited": (rate_limited(), "rate_limited", None),
    "a 500": (server_error(), "overloaded", None),
    "too long": (too_long(), "context_too_long", None),
    **{f"cut off after {n}": (cut(WHOLE, n), "unreachable", None) for n in (0, 1, 3, 4)},
}


@pytest.mark.parametrize(("reply", "kind", "wish"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_has_its_kind_and_the_sdk_does_not_retry_by_itself(
    server: FakeModelServer, api: str, reply: Reply, kind: str, wish: float | None
) -> None:
    server.responder = lambda seen: reply
    error = await failure(api, server.env())
    assert (error.kind, error.retry_after) == (kind, wish)
    assert error.is_retryable == (kind != "context_too_long")
    assert kind != "overloaded" or "internal server error" in str(error)
    assert len(server.requests) == 1


async def test_a_wrong_key_is_refused_and_not_shown(server: FakeModelServer, api: str) -> None:
    environ = server.env() | {VARIABLES[api][1]: "sk-wrong-and-secret"}
    error = await failure(api, environ)
    assert (error.kind, error.is_retryable) == ("bad_key", False)
    assert "sk-wrong" not in str(error)
    assert "[key]" in str(error)


def test_missing_key_names_its_variable(server: FakeModelServer, api: str) -> None:
    with pytest.raises(ProviderError, match=f"set (.* or )?{VARIABLES[api][1]}") as caught:
        connect(api, load_presets(), {}, timeout_seconds=1)
    assert caught.value.kind == "bad_key"


async def test_unknown_model_is_a_failure(server: FakeModelServer, api: str) -> None:
    error = await failure(api, server.env(), model="no-such-model")
    assert (error.kind, error.is_retryable) == ("unknown_model", False)
    assert "no-such-model" in str(error)


async def test_unreachable_service_is_a_failure(api: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refused at once
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        environ = dict(zip(VARIABLES[api], (url, "k-0123456789"), strict=True))
        error = await failure(api, environ)
    assert (error.kind, error.is_retryable) == ("unreachable", True)
    assert url in str(error)


async def test_service_that_answers_too_late_is_a_failure(
    server: FakeModelServer, api: str
) -> None:
    gate = threading.Event()
    server.responder = lambda seen: Reply(text="late", gate=gate)
    try:
        error = await failure(api, server.env(), timeout_seconds=0.3)
    finally:
        gate.set()
    assert (error.kind, error.is_retryable) == ("timed_out", True)


async def test_service_of_another_protocol_is_a_failure(server: FakeModelServer, api: str) -> None:
    others = VARIABLES.keys() - {api, "openai"}
    environ = server.env() | {VARIABLES[api][0]: f"{server.url}/nowhere"}
    error = await failure(api, environ)
    assert error.kind == "unknown_model"
    assert "no route" in str(error)
    assert not any(other in str(error) for other in others)


async def test_local_services_need_no_key(server: FakeModelServer) -> None:
    server.key = "none"
    environ = {"OLLAMA_BASE_URL": f"{server.url}/v1"}
    provider = connect("ollama", load_presets(), environ, timeout_seconds=20)
    answer = await provider.generate(ask(model="ollama/x"), lambda text: None)
    assert answer.text == "fine"
    await provider.close()


def test_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="unknown provider 'x'"):
        connect("x", load_presets(), {}, timeout_seconds=1)


JSON_TYPE, PLAIN, EVENTS = "application/json", "text/plain", "text/event-stream"
MESSAGE = {"role": "assistant", "content": "Hi"}
IN_ONE_PIECE: dict[str, tuple[str, Any]] = {
    "Chat Completions": ("openai", {"choices": [{"message": MESSAGE, "finish_reason": "stop"}]}),
    "without a finish reason": ("openai", {"choices": [{"message": MESSAGE}]}),
    "Messages": (
        "anthropic", {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}),
    "Responses": (
        "openai-responses",
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}),
    "Gemini, as a list": (
        "google", [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
                   {"candidates": [{"finishReason": "STOP"}]}]),
}  # fmt: skip


def raw_variables(service: RawService, api: str) -> dict[str, str]:
    url, key = VARIABLES[api]
    return {url: service.url + ("/v1" if api.startswith("openai") else ""), key: "k" * 20}


@pytest.mark.parametrize("kind", [JSON_TYPE, EVENTS])
@pytest.mark.parametrize(("service_api", "body"), IN_ONE_PIECE.values(), ids=IN_ONE_PIECE)
async def test_unstreamed_answer_to_a_streaming_request_is_read(
    service_api: str, body: Any, kind: str
) -> None:
    raw = RawAnswer([json.dumps(body, indent=1).encode()], headers={"content-type": kind})
    with RawService(lambda seen: raw) as service:
        environ = raw_variables(service, service_api)
        provider = connect(service_api, load_presets(), environ, timeout_seconds=20)
        answer = await provider.generate(ask(model=f"{service_api}/fake"), lambda text: None)
        await provider.close()
    assert (answer.text, answer.stop_reason) == ("Hi", "end_turn")


# Content type, status, body, kind of the failure, part of its message.
REFUSED = b'{"choices": null, "base_resp": {"status_code": 1004, "status_msg": "WHY"}}'
ODD_BODIES: dict[str, tuple[str, int, bytes, str, str]] = {
    "an error with status 200": (
        JSON_TYPE, 200, b'{"error": {"code": 429, "message": "WHY"}}', "rate_limited", "WHY"),
    "base_resp with status 200 (MiniMax)": (JSON_TYPE, 200, REFUSED, "bad_key", "WHY"),
    "a text with status 200": (PLAIN, 200, b"WHY", "bad_answer", "text/plain instead of events"),
    "JSON of another API": (JSON_TYPE, 200, b'{"status": "WHY"}', "bad_answer", "WHY"),
    "a page as text": (PLAIN, 200, b"<!doctype html>", "bad_request", "is the base URL right"),
    "a named event": (
        EVENTS, 200, b'event: error\ndata: {"message": "WHY", "code": 500}\n\n', "overloaded",
        "WHY"),
    "a cut event": (EVENTS, 200, b'data: {"choices": [', "unreachable", "broke off"),
    "null beside the reason": (
        JSON_TYPE, 400, b'{"error": null, "message": "WHY"}', "bad_request", "WHY"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "status", "body", "failure_kind", "expected"), ODD_BODIES.values(), ids=ODD_BODIES
)
async def test_unexpected_body_is_a_failure_that_quotes_it(
    kind: str, status: int, body: bytes, failure_kind: str, expected: str
) -> None:
    raw = RawAnswer([body], status, {"content-type": kind})
    with RawService(lambda seen: raw) as service:
        error = await failure("openai", raw_variables(service, "openai"))
    assert error.kind == failure_kind
    assert expected in str(error)


class ForwardedAgent:
    """The external agent of a forwarded request: keeps the statuses that it gets."""

    def __init__(self) -> None:
        self.statuses: list[int] = []

    async def begin(self, status: int, headers: object) -> None:
        self.statuses.append(status)

    async def write(self, data: bytes) -> None:
        pass


FORWARDED = {
    "an error": (JSON_TYPE, b'{"error": {"code": 429, "message": "WHY"}}', "rate_limited"),
    "base_resp": (JSON_TYPE, REFUSED, "bad_key"),
    "a page": ("text/html", b"<html>Sign in</html>", "bad_request"),
    "an event": (EVENTS, b'data: {"error": {"code": 503, "message": "WHY"}}\n\n', "overloaded"),
}


@pytest.mark.parametrize(("kind", "body", "failure_kind"), FORWARDED.values(), ids=FORWARDED)
async def test_failure_with_status_200_does_not_reach_an_agent_as_an_answer(
    kind: str, body: bytes, failure_kind: str
) -> None:
    raw, agent, presets = (
        RawAnswer([body], headers={"content-type": kind}),
        ForwardedAgent(),
        load_presets(),
    )
    with RawService(lambda seen: raw) as service:
        environ = raw_variables(service, "openai")
        provider = connect("openai", presets, environ, timeout_seconds=20)
        assert isinstance(provider, ServiceProvider)
        forwarding = ForwardingProvider(
            provider.service,
            {"messages": [{"role": "user", "content": "Hi"}], "stream": True},
            agent,
            size=InputSize(1, 1),
            traits=presets["openai"],
            headers={},
            query="",
        )
        with pytest.raises(ProviderError) as caught:
            await forwarding.generate(ask(model="openai/fake"), lambda text: None)
        await provider.close()
    assert (caught.value.kind, agent.statuses) == (failure_kind, [])
