"""The real SDKs against services that send too much, packed, from elsewhere, slowly, or garbage."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.foreign import http
from agiraph.foreign.http import ERROR_BYTES, PIECE_BYTES
from agiraph.llm import network
from agiraph.llm.base import OnText, Provider, ProviderError, UsageSoFar
from agiraph.llm.connect import connect
from agiraph.llm.network import STREAM_BYTES
from agiraph.llm.wire.format import CONTENT_BYTES
from agiraph.llm.wire.sse import LONGEST_EVENT
from agiraph.models.registry import load_presets
from tests.fakes.raw_service import EVENTS, Answering, RawAnswer, RawRequest, RawService
from tests.integration.test_providers import api
from tests.integration.test_providers_faults import VARIABLES
from tests.unit.broker.conftest import CallsOf, calls_of, ledger
from tests.unit.broker.stubs import MODEL, StubProvider, quick_config
from tests.unit.llm.requests import ask

__all__ = ["api", "calls_of", "ledger"]

MEBIBYTE = 1 << 20
MOST_LINES = 50_000
KEY = "sk-very-secret-0123456789"
TRANSPORTS = pytest.mark.parametrize("api", ["openai", "google"])
"""An SDK, and the plain HTTP client."""
PACKED = {"content-type": EVENTS, "content-encoding": "gzip"}


def sse(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


WHOLE = {
    "anthropic": sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ),
    "openai": sse({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}),
    "openai-responses": sse(
        {"type": "response.output_text.delta", "delta": "hi"},
        {
            "type": "response.completed",
            "response": {
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]
            },
        },
    ),
    "google": sse(
        {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}
    ),
}


async def answer(api: str, service: RawService, seconds: float = 20) -> ModelResponse:
    provider = connected(api, service, seconds)
    try:
        return await provider.generate(ask(model=f"{api}/fake"), lambda text: None)
    finally:
        await provider.close()


def connected(api: str, service: RawService, seconds: float = 20) -> Provider:
    url, key = VARIABLES[api]
    environ = {url: service.url, key: KEY}
    return connect(api, load_presets(), environ, timeout_seconds=seconds)


async def failure(api: str, answering: Answering) -> ProviderError:
    with RawService(answering) as service:
        with pytest.raises(ProviderError) as caught:
            await answer(api, service)
        assert len(service.requests) == 1
    assert KEY not in str(caught.value)
    return caught.value


@cache
def packed_line() -> bytes:
    """Return a line of 300 MiB without an end, compressed to a thousandth."""
    packer = zlib.compressobj(1, wbits=31)
    pieces = [packer.compress(b"data: " + bytes(MEBIBYTE)) for _ in range(300)]
    return b"".join(pieces) + packer.flush()


@TRANSPORTS
async def test_compressed_line_of_300_mb_is_refused_while_other_calls_continue(api: str) -> None:
    turns = 0

    async def other_call(service: RawService) -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += bool(service.requests)

    with RawService(lambda asked: RawAnswer([packed_line()], headers=PACKED)) as service:
        other = asyncio.create_task(other_call(service))
        with pytest.raises(ProviderError) as caught:
            await answer(api, service)
        other.cancel()
    assert (caught.value.kind, caught.value.is_retryable) == ("bad_answer", True)
    assert f"more than {LONGEST_EVENT} bytes" in str(caught.value)
    assert turns >= LONGEST_EVENT // PIECE_BYTES // 2


@TRANSPORTS
async def test_a_line_without_an_end_is_refused(api: str) -> None:
    line = [b"data: " + b"x" * MEBIBYTE] * (2 * LONGEST_EVENT // MEBIBYTE)
    error = await failure(api, lambda asked: RawAnswer(line))
    assert error.kind == "bad_answer"
    assert f"more than {LONGEST_EVENT} bytes" in str(error)


async def test_an_answer_of_more_bytes_than_a_stream_may_have_is_refused() -> None:
    comments = gzip.compress((b": " + b"x" * 1021 + b"\n") * 64 + b"\n")
    more = [comments] * (2 * STREAM_BYTES // (64 << 10))
    error = await failure("openai", lambda asked: RawAnswer(more, headers=PACKED))
    assert error.kind == "bad_answer"
    assert f"more than {STREAM_BYTES} bytes" in str(error)


SHORT_LINES = {
    "blank lines": (EVENTS, b"\n"),
    "blank lines of a text": ("text/plain", b"\n"),
    "returns": (EVENTS, b"\r"),
    "comments": (EVENTS, b": ping\n\n"),
    "lines of one event": (EVENTS, b"data:\n"),
}


@pytest.fixture
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_LINES", MOST_LINES)


@pytest.mark.parametrize(("kind", "line"), SHORT_LINES.values(), ids=SHORT_LINES)
@pytest.mark.usefixtures("few_lines")
async def test_an_answer_of_more_lines_than_are_read_is_refused(kind: str, line: bytes) -> None:
    error = await failure("openai", lambda asked: short_lines(line, kind))
    assert (error.kind, error.is_retryable) == ("bad_answer", True)
    assert f"more than {MOST_LINES:,} lines" in str(error)


@pytest.mark.usefixtures("few_lines")
async def test_an_answer_of_empty_events_is_refused(api: str) -> None:
    error = await failure(api, lambda asked: short_lines(b"data: {}\n\n"))
    assert f"more than {MOST_LINES:,} lines" in str(error)


def short_lines(line: bytes, kind: str = EVENTS) -> RawAnswer:
    """Return an answer of more lines than are read, with few bytes on the wire."""
    packed = gzip.compress(line * (MOST_LINES // 10))
    return RawAnswer([packed] * 12, headers=PACKED | {"content-type": kind})


async def test_a_packed_answer_of_empty_parts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "STREAM_BYTES", MEBIBYTE)
    empty = [gzip.compress(b"") * 3000] * 40
    error = await failure("openai", lambda asked: RawAnswer(empty, headers=PACKED))
    assert error.kind == "bad_answer"
    assert f"more than {MEBIBYTE} bytes" in str(error)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_compressed_answer_is_read(
    api: str, name: str, pack: Callable[[bytes], bytes]
) -> None:
    headers = {"content-type": EVENTS, "content-encoding": name}
    with RawService(lambda asked: RawAnswer([pack(WHOLE[api])], headers=headers)) as service:
        assert (await answer(api, service)).text == "hi"
        assert service.requests[0].headers["accept-encoding"] == "identity"


async def test_an_unknown_compression_is_refused_by_its_name(api: str) -> None:
    headers = {"content-type": EVENTS, "content-encoding": "zstd"}
    error = await failure(api, lambda asked: RawAnswer([b"x"], headers=headers))
    assert "encoding 'zstd' (possible: gzip, deflate, none)" in str(error)


@TRANSPORTS
async def test_only_the_beginning_of_an_error_body_is_read(api: str) -> None:
    headers = {"content-type": "text/plain", "content-encoding": "gzip"}
    error = await failure(
        api, lambda asked: RawAnswer([packed_line()], status=500, headers=headers)
    )
    assert error.kind == "overloaded"
    assert len(str(error)) < ERROR_BYTES


# --- redirects -----------------------------------------------------------------------------------


def redirected(to: str, status: int) -> Answering:
    return lambda asked: RawAnswer(status=status, headers={"location": to + asked.path})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed_and_named(
    api: str, status: int
) -> None:
    with RawService(lambda asked: RawAnswer([WHOLE[api]])) as elsewhere:
        error = await failure(api, redirected(elsewhere.url + "/there", status))
        assert elsewhere.requests == []
    assert (error.kind, error.is_retryable) == ("bad_request", False)
    assert f"redirects to {elsewhere.url}/there" in str(error)


async def test_a_redirect_within_the_origin_is_followed_with_its_key(api: str) -> None:
    def answering(asked: RawRequest) -> RawAnswer:
        if asked.path.startswith("/there"):
            return RawAnswer([WHOLE[api]])
        return RawAnswer(status=308, headers={"location": "/there" + asked.path})

    with RawService(answering) as service:
        assert (await answer(api, service)).text == "hi"
        assert [asked.method for asked in service.requests] == ["POST", "POST"]
        assert KEY in str(service.requests[1].headers)


async def test_a_redirect_that_changes_the_method_is_not_followed(api: str) -> None:
    answering = redirected("/there", 302)
    error = await failure(api, answering)
    assert "/there" in str(error)


async def test_circular_redirects_end(api: str) -> None:
    with RawService(redirected("", 307)) as service:
        with pytest.raises(ProviderError, match="redirects again and again") as caught:
            await answer(api, service)
        assert len(service.requests) < 10
    assert caught.value.kind == "bad_request"


# --- garbage -------------------------------------------------------------------------------------

GARBAGE = {
    "bytes that are no UTF-8": (b'data: {"a": "\xff\xfe"}\n\n', "not UTF-8"),
    "no JSON": (b"data: {oh no\n\n", "not JSON"),
    "a list": (b"data: [1, 2]\n\n", "not a JSON object"),
    "a number too long to be one": (b"data: " + b"1" * 10_000 + b"\n\n", "not JSON"),
    "nested too deeply": (b"data: " + b"[" * 100_000 + b"\n\n", "not JSON"),
}


@pytest.mark.parametrize(("data", "why"), GARBAGE.values(), ids=GARBAGE)
async def test_garbage_is_a_failure_that_is_tried_again(api: str, data: bytes, why: str) -> None:
    error = await failure(api, lambda asked: RawAnswer([data]))
    assert (error.kind, error.is_retryable) == ("bad_answer", True)
    assert why in str(error)


ODD_SHAPES: dict[str, list[object]] = {
    "anthropic": [
        {"type": "message_start", "message": 5},
        {"type": "content_block_start", "index": 0, "content_block": "text"},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}},
    ],
    "openai": [
        {"choices": 7},
        {"choices": ["one"]},
        {"choices": [{"delta": {"tool_calls": [None]}}]},
    ],
    "openai-responses": [
        {"type": "response.output_item.done", "item": "x"},
        {"type": "response.completed", "response": "all of it"},
        {"type": "response.completed", "response": {"output": [5]}},
    ],
    "google": [
        {"candidates": 7},
        {"candidates": [{"content": {"parts": ["one"]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]},
    ],
}


@pytest.mark.parametrize("number", range(3))
async def test_an_event_of_the_wrong_shape_is_a_failure_that_is_tried_again(
    api: str, number: int
) -> None:
    # Some fields have a default, so that the answer only lacks its end.
    error = await failure(api, lambda asked: RawAnswer([sse(ODD_SHAPES[api][number])]))
    assert error.is_retryable
    assert error.kind in ("bad_answer", "unreachable")
    assert "cannot be read" in str(error) or "broke off" in str(error)


async def test_the_key_of_a_service_is_replaced_in_its_answer(api: str) -> None:
    echo = json.dumps(f"my key is {KEY}").encode()
    body = WHOLE[api].replace(b'"hi"', echo)
    with RawService(lambda asked: RawAnswer([body])) as service:
        assert (await answer(api, service)).text == "my key is [key]"


# --- content -------------------------------------------------------------------------------------


def pieces_of(api: str) -> Iterator[bytes]:
    """Yield the events of an answer with one call whose arguments never end."""
    text = "x" * 512
    match api:
        case "anthropic":
            block = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
            yield sse({"type": "content_block_start", "index": 0, "content_block": block})
            delta: object = {"type": "input_json_delta", "partial_json": text}
            more = sse({"type": "content_block_delta", "index": 0, "delta": delta})
        case "openai":
            piece = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": text}}
            more = sse({"choices": [{"delta": {"tool_calls": [piece]}}]})
        case "openai-responses":
            more = sse({"type": "response.function_call_arguments.delta", "delta": text})
        case _:
            more = sse({"candidates": [{"content": {"parts": [{"text": text}]}}]})
    for _ in range(CONTENT_BYTES // 512 // 64 + 2):
        yield more * 64


async def test_an_answer_with_too_much_content_is_refused(api: str) -> None:
    error = await failure(api, lambda asked: RawAnswer(pieces_of(api)))
    assert error.kind == "bad_answer"
    assert f"more than {CONTENT_BYTES} bytes" in str(error)


async def test_complete_answer_ends_although_the_connection_stays_open() -> None:
    with RawService(lambda asked: RawAnswer(ended_and_open())) as service:

        def ended_and_open() -> Iterator[bytes]:
            yield WHOLE["openai"] + b"data: [DONE]\n\n"
            service.closing.wait(60)
            yield b"\n"

        assert (await answer("openai", service, seconds=30)).text == "hi"


UNSTORABLE = {
    "250 levels": '{"a":' * 250 + "1" + "}" * 250,
    "900 levels": '{"a":' * 900 + "1" + "}" * 900,
    "a number of 30 digits": '{"a": [1' + "0" * 29 + "]}",
}


@pytest.mark.parametrize("arguments", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_arguments_that_could_not_be_stored_are_kept_as_text(
    arguments: str, api: str
) -> None:
    with RawService(lambda asked: RawAnswer([call_with(api, arguments)])) as service:
        [call] = (await answer(api, service)).tool_calls
    assert call.arguments == {}
    assert call.malformed is not None
    assert json.loads(call.malformed) == json.loads(arguments)


async def test_unreadable_answer_counts_as_started(api: str) -> None:
    metered: list[UsageSoFar] = []
    with RawService(lambda asked: RawAnswer([b'data: {"a": "\xff"}\n\n'])) as service:
        provider = connected(api, service)
        with pytest.raises(ProviderError, match="UTF-8"):
            await provider.generate(
                ask(model=f"{api}/fake"), lambda text: None, on_answer=metered.append
            )
        await provider.close()
    assert metered[0]().has_begun


async def test_a_call_with_arguments_of_some_depth_is_read(api: str) -> None:
    arguments = '{"a":' * 60 + "1" + "}" * 60
    with RawService(lambda asked: RawAnswer([call_with(api, arguments)])) as service:
        read = await answer(api, service)
    assert [call.arguments for call in read.tool_calls] == [json.loads(arguments)]


def call_with(api: str, arguments: str) -> bytes:
    """Return an answer with one call; its arguments are JSON."""
    match api:
        case "anthropic":
            block = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": arguments}
            return sse(
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
                {"type": "message_stop"},
            )
        case "openai":
            piece = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": arguments}}
            return sse(
                {"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": "tool_calls"}]}
            )
        case "openai-responses":
            item = {"type": "function_call", "call_id": "a", "name": "bash"}
            return sse(
                {
                    "type": "response.completed",
                    "response": {"output": [{**item, "arguments": arguments}]},
                }
            )
    part = {"functionCall": {"name": "bash", "args": "HERE"}}
    event = sse({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
    return event.replace(b'"HERE"', arguments.encode())


# --- through the broker's retries ----------------------------------------------------------------


async def called(
    api: str, service: RawService, calls_of: CallsOf, **broker: float
) -> ModelResponse:
    """Return the answer of a service as the broker calls it, again where that may help."""

    provider = connected(api, service)

    async def ask_service(request: ModelRequest, on_text: OnText) -> ModelResponse:
        return await provider.generate(request, on_text)

    calls = calls_of(StubProvider(ask_service), quick_config(**broker))
    try:
        return await calls.answer(ask(model=MODEL), lambda text: None, lambda failure: None)
    finally:
        await provider.close()


@pytest.mark.parametrize(
    "garbage", [b'data: {"a": "\xff"}\n\n', b"data: {oh no\n\n", b'data: {"choices": 7}\n\n']
)
async def test_call_is_repeated_after_an_unreadable_answer(
    garbage: bytes, calls_of: CallsOf
) -> None:
    def answering(asked: RawRequest) -> RawAnswer:
        return RawAnswer([garbage if asked.number == 0 else WHOLE["openai"]])

    with RawService(answering) as service:
        assert (await called("openai", service, calls_of)).text == "hi"
        assert len(service.requests) == 2


DRIPS = {
    "a byte at a time": b" ",
    "comments": b": still here\n\n",
    "events": sse({"choices": [{"delta": {"content": "x"}}]}),
}


@pytest.mark.parametrize("piece", DRIPS.values(), ids=DRIPS)
async def test_slow_answer_fails_at_the_total_timeout(piece: bytes, calls_of: CallsOf) -> None:
    def drip() -> Iterator[bytes]:
        while not service.closing.wait(0.02):
            yield piece

    with RawService(lambda asked: RawAnswer(drip())) as service:
        with pytest.raises(ProviderError, match=r"not done within 0\.3 s") as caught:
            await called("openai", service, calls_of, attempts=2, timeout_seconds=0.3)
        assert len(service.requests) == 2
    assert caught.value.kind == "timed_out"
