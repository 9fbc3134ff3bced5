"""Each attempt that a service bills is in the ledger and the budgets, however it ended.

The broker's own way of a call, against a service that speaks the wire formats to the real SDKs.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actors.broker.call_retries import AttemptFailure, WaitEnded
from actors.broker.calls import ModelCalls
from agiraph.core.clock import SystemClock
from agiraph.core.turns import ModelRequest, ModelResponse, Usage
from agiraph.llm.base import (
    OnAnswer,
    OnText,
    Provider,
    ProviderError,
    UsageSoFar,
    unmetered,
)
from agiraph.llm.provider_pool import ProviderPool
from agiraph.llm.token_counts import guess_input_tokens, input_size
from agiraph.models.prices import Price
from agiraph.models.registry import ModelName, load_presets
from agiraph.spending.ledger import UsageLedger
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, cut
from tests.integration.test_providers import APIS, api, server
from tests.unit.broker.stubs import quick_config
from tests.unit.llm.requests import ask

__all__ = ["api", "server"]

THOUGHT = "Let me think about it. " * 100
COMMAND = "echo " + "x" * 3000
COUNTED = Usage(input_tokens=4321, output_tokens=9)
LONGEST = ("max_tokens", "max_completion_tokens", "max_output_tokens")
WITHIN = 60.0

EVENTS = {
    ("anthropic", "thinking"): 4,
    ("anthropic", "calls"): 5,
    ("openai", "thinking"): 2,
    ("openai", "calls"): 3,
    ("openai-responses", "thinking"): 5,
    ("openai-responses", "calls"): 4,
    ("google", "thinking"): 1,
    ("google", "calls"): 1,
}
"""After how many events of the stream some thinking, or some of a call, has come."""


class ObservedProvider:
    """A provider that shows a test how much of an answer has arrived."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner
        self.so_far: UsageSoFar | None = None

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        def watch(so_far: UsageSoFar) -> None:
            self.so_far = so_far
            on_answer(so_far)

        return await self.inner.generate(request, on_text, watch)

    async def close(self) -> None:
        await self.inner.close()


class ObservedServices(ProviderPool):
    """Services whose providers are watched."""

    watched: ObservedProvider | None = None

    async def provider(self, name: ModelName) -> Provider:
        self.watched = ObservedProvider(await super().provider(name))
        return self.watched

    async def until_streamed(self) -> None:
        """Wait until something of the answer has come in that is no text."""
        ends_at = time.monotonic() + WITHIN
        while not (self.watched and self.watched.so_far and self.watched.so_far().streamed_bytes):
            assert time.monotonic() < ends_at
            await asyncio.sleep(0.005)


class MeteredCalls:
    """The broker's way of a call, its ledger and the service that it asks."""

    def __init__(self, folder: Path, server: FakeModelServer, **broker: float) -> None:
        config = quick_config(**broker)
        self.ledger = UsageLedger(folder / "usage.db")
        self.file = folder / "usage.db"
        self.server = server
        prices = {f"{api}/fake": Price(input=1, output=10) for api in APIS}
        self.services = ObservedServices(config, load_presets(), prices, server.env())
        self.calls = ModelCalls(config, self.services, prices, self.ledger, SystemClock())
        self.retries: list[AttemptFailure] = []

    async def answer(self, request: ModelRequest) -> ModelResponse:
        return await self.calls.answer(request, lambda text: None, self._note)

    def _note(self, failure: AttemptFailure | WaitEnded) -> None:
        if not isinstance(failure, WaitEnded):
            self.retries.append(failure)

    async def failure(self, request: ModelRequest) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.answer(request)
        await self.ledger.flushed()
        return caught.value

    async def interrupted(self, request: ModelRequest) -> None:
        """Make a call and drop it once something has come in."""
        task = asyncio.create_task(self.answer(request))
        await self.services.until_streamed()
        task.cancel()
        await asyncio.wait([task])
        await self.ledger.flushed()

    def rows(self) -> list[tuple[Any, ...]]:
        """Return outcome, tokens in, tokens out, dollars and whether it is an estimate."""
        with sqlite3.connect(self.file) as db:
            columns = "outcome, input_tokens, output_tokens, cost_usd, is_estimate"
            return db.execute(f"SELECT {columns} FROM calls ORDER BY id").fetchall()


Build = Callable[..., MeteredCalls]


@pytest.fixture
async def build(tmp_path: Path, server: FakeModelServer) -> AsyncIterator[Build]:
    """Yield a function that builds metered calls with settings of the broker."""
    built: list[MeteredCalls] = []

    def metered(**broker: float) -> MeteredCalls:
        built.append(MeteredCalls(tmp_path, server, **broker))
        return built[-1]

    yield metered
    for one in built:
        await one.services.close()
        one.ledger.close()


def reply_with(part: str) -> Reply:
    return Reply(thinking=THOUGHT) if part == "thinking" else call("bash", command=COMMAND)


def size_of(part: str) -> int:
    """Return how many characters have come by then, at least, whatever the format."""
    return len(THOUGHT) if part == "thinking" else len(COMMAND) // 2


def check_estimate(metered: MeteredCalls, api: str, part: str, outcome: str) -> None:
    [(ended, tokens_in, tokens_out, cost, is_estimate)] = metered.rows()
    assert ended == outcome
    if api == "anthropic":
        assert tokens_in == COUNTED.input_tokens, "it was counted as the stream began"
    else:
        assert tokens_in == guess_input_tokens(ask(model=f"{api}/fake"))
    assert tokens_out >= size_of(part) // 4
    assert cost == pytest.approx((tokens_in + 10 * tokens_out) / 1e6)
    assert is_estimate
    assert metered.ledger.by_entity()["shop-1/ada"].is_estimate


@pytest.mark.parametrize("part", ["thinking", "calls"])
async def test_connection_lost_before_the_first_text_is_billed(
    build: Build, server: FakeModelServer, api: str, part: str
) -> None:
    reply = replace(reply_with(part), usage=COUNTED)
    server.responder = lambda seen: cut(reply, EVENTS[api, part])
    metered = build(attempts=1)
    await metered.failure(ask(model=f"{api}/fake"))
    check_estimate(metered, api, part, "failed")


@pytest.mark.parametrize("part", ["thinking", "calls"])
async def test_call_interrupted_before_its_first_text_is_billed(
    build: Build, server: FakeModelServer, api: str, part: str
) -> None:
    reply = replace(reply_with(part), usage=COUNTED, stall_after=EVENTS[api, part])
    metered = build()
    held = replace(reply, text_gate=(gate := threading.Event()))
    server.responder = lambda seen: held
    await metered.interrupted(ask(model=f"{api}/fake"))
    gate.set()
    check_estimate(metered, api, part, "cancelled")


async def test_abandoned_call_at_the_proxy_is_charged_for_the_longest_input(
    build: Build, server: FakeModelServer, api: str
) -> None:
    held = Reply(thinking=THOUGHT, usage=COUNTED, stall_after=EVENTS[api, "thinking"])
    held = replace(held, text_gate=(gate := threading.Event()))
    server.responder = lambda seen: held
    metered = build()
    request = ask(model=f"{api}/fake", door="a proxy")
    await metered.interrupted(request)
    gate.set()
    [(outcome, tokens_in, _, _, is_estimate)] = metered.rows()
    counted = COUNTED.input_tokens if api == "anthropic" else input_size(request).most
    assert (outcome, tokens_in, is_estimate) == ("cancelled", counted, True)


async def test_timed_out_call_is_billed(build: Build, server: FakeModelServer, api: str) -> None:
    reply = replace(reply_with("thinking"), usage=COUNTED, stall_after=EVENTS[api, "thinking"])
    metered = build(attempts=1, timeout_seconds=2.0)
    held = replace(reply, text_gate=(gate := threading.Event()))
    server.responder = lambda seen: held
    assert (await metered.failure(ask(model=f"{api}/fake"))).kind == "timed_out"
    gate.set()
    check_estimate(metered, api, "thinking", "failed")


FALSE_COUNTS = {
    "no count": Reply(is_counted=False),
    "negative": Reply(usage=Usage(input_tokens=-465_000_000, output_tokens=-5)),
    "enormous": Reply(usage=Usage(input_tokens=10**25, output_tokens=10**25)),
}


@pytest.mark.parametrize("reply", FALSE_COUNTS.values(), ids=FALSE_COUNTS)
async def test_impossible_token_counts_are_estimated_and_the_budget_is_kept(
    build: Build, server: FakeModelServer, api: str, reply: Reply
) -> None:
    server.responder = lambda seen: replace(reply, text="word " * 300)
    metered, budget = build(), 0.011
    request = ask(model=f"{api}/fake", budget_usd=budget, max_tokens=550)
    usage = (await metered.answer(request)).usage
    assert usage.is_estimate
    assert usage.input_tokens == guess_input_tokens(request)
    assert 1500 // 4 <= usage.output_tokens <= 550
    assert metered.ledger.by_entity() == {"shop-1/ada": usage}
    await metered.answer(request)
    assert (await metered.failure(request)).kind == "out_of_budget"
    assert 0 < metered.ledger.spent_usd("run-1") <= budget


async def test_refused_call_costs_nothing(build: Build, server: FakeModelServer, api: str) -> None:
    server.responder = lambda seen: Reply(status=500)
    metered = build(attempts=2)
    await metered.failure(ask(model=f"{api}/fake"))
    assert metered.rows() == []


async def test_each_attempt_is_reserved_and_charged(
    build: Build, server: FakeModelServer, api: str
) -> None:
    """A service that breaks off again and again, right after it has answered all it may."""
    asked: list[int] = []

    def cut_short(seen: SeenRequest) -> Reply:
        settings = {**seen.body, **seen.body.get("generationConfig", {})}
        longest = next(settings[key] for key in (*LONGEST, "maxOutputTokens") if key in settings)
        asked.append(longest)
        return cut(Reply(thinking="abc" * longest), EVENTS[api, "thinking"])

    server.responder = cut_short
    metered = build(attempts=6)
    error = await metered.failure(ask(model=f"{api}/fake", budget_usd=0.2, max_tokens=15_000))
    spent = metered.ledger.spent_usd("run-1")
    rows = metered.rows()
    assert error.kind == "out_of_budget"
    assert error.shortage is not None
    assert len(asked) == len(rows) == 2, "the second had what the first had left"
    assert asked[1] < asked[0] == 15_000
    assert 0.19 < spent <= 0.2 + 1e-3
    assert [retry.kind for retry in metered.retries] == ["unreachable"] * 2
