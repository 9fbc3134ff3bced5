"""One model call: attempts, shared waits, time, and its row of the ledger."""

import asyncio

import pytest

from actors.broker.call_retries import AttemptFailure, WaitEnded
from actors.broker.calls import ModelCalls
from agiraph.core.turns import ModelRequest, ModelResponse, Usage
from agiraph.llm.base import OnText, ProviderError
from agiraph.models.prices import Price
from tests.unit.broker.conftest import CallsOf
from tests.unit.broker.stubs import MODEL, StubProvider, answer, quick_config
from tests.unit.llm.requests import ask

BUSY = ProviderError("overloaded", "busy")


async def make(
    calls: ModelCalls,
    request: ModelRequest | None = None,
    retries: list[AttemptFailure] | None = None,
) -> ModelResponse:
    def on_failure(failure: AttemptFailure | WaitEnded) -> None:
        if retries is not None and not isinstance(failure, WaitEnded):
            retries.append(failure)

    return await calls.answer(request or ask(model=MODEL), lambda text: None, on_failure)


async def forever(request: ModelRequest, on_text: OnText) -> ModelResponse:
    on_text("I begin to")
    await asyncio.Event().wait()
    raise AssertionError


async def test_an_answer_is_priced_and_written_down(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(answer()))
    response = await make(calls)
    assert response.usage.cost_usd == pytest.approx((100 * 1 + 10 * 10) / 1e6)
    assert calls.ledger.by_entity("run-1") == {"shop-1/ada": response.usage}


async def test_cost_reported_by_the_service_overrides_the_price_table(calls_of: CallsOf) -> None:
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=0.5)
    calls = calls_of(StubProvider(ModelResponse(text="x", usage=usage)))
    assert (await make(calls)).usage.cost_usd == 0.5


async def test_unknown_price_has_no_cost_and_a_local_model_is_free(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(answer()), price=None)
    assert (await make(calls)).usage.cost_usd is None
    assert (await make(calls, ask(model="ollama/x"))).usage.cost_usd == 0


async def test_temporary_failure_is_retried(calls_of: CallsOf) -> None:
    stub = StubProvider(BUSY, ProviderError("rate_limited", "slow", retry_after=0.1), answer())
    calls = calls_of(stub)
    retries: list[AttemptFailure] = []
    assert (await make(calls, retries=retries)).text == "fine"
    first, second = (retry.event_data() for retry in retries)
    assert (first["attempt"], first["kind"]) == (1, "overloaded")
    assert (second["attempt"], second["kind"]) == (2, "rate_limited")
    assert first["attempts"] == quick_config().broker.attempts
    assert second["attempts"] is None, "a busy service is waited for"
    assert second["wait_seconds"] > 0.05  # the rest of the requested wait


async def test_last_failure_is_raised(calls_of: CallsOf) -> None:
    stub = StubProvider(BUSY)
    calls = calls_of(stub, quick_config(attempts=3))
    with pytest.raises(ProviderError, match="busy"):
        await make(calls)
    assert len(stub.requests) == 3


async def test_a_bad_key_is_not_tried_again(calls_of: CallsOf) -> None:
    stub = StubProvider(ProviderError("bad_key", "no"))
    calls = calls_of(stub)
    with pytest.raises(ProviderError):
        await make(calls)
    assert len(stub.requests) == 1


async def test_unknown_provider_is_refused_with_the_known_names(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(answer()))
    with pytest.raises(ProviderError, match="unknown provider 'nobody'") as caught:
        await make(calls, ask(model="nobody/x"))
    assert caught.value.kind == "unknown_model"


async def test_a_model_that_does_not_end_has_failed(calls_of: CallsOf) -> None:
    stub = StubProvider(forever)
    calls = calls_of(stub, quick_config(attempts=1, timeout_seconds=0.05))
    with pytest.raises(ProviderError, match=r"within 0\.05 s") as caught:
        await make(calls)
    assert caught.value.kind == "timed_out"


async def test_cancelled_call_is_billed_for_its_streamed_text(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(forever))

    heard = asyncio.Event()
    task = asyncio.create_task(
        calls.answer(ask(model=MODEL), lambda text: heard.set(), lambda retry: None)
    )
    await asyncio.wait_for(heard.wait(), 10)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    usage = calls.ledger.by_entity()["shop-1/ada"]
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
    assert usage.cost_usd is not None


async def test_call_that_failed_before_streaming_costs_nothing(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(ProviderError("bad_request", "no")))
    with pytest.raises(ProviderError):
        await make(calls)
    assert calls.ledger.by_entity() == {}


async def test_the_budget_of_a_run_bounds_all_its_calls(calls_of: CallsOf) -> None:
    stub = StubProvider(answer(input_tokens=1000, output_tokens=3000))
    calls = calls_of(stub, price=Price(input=1, output=10))
    request = ask(model=MODEL, budget_usd=0.1, max_tokens=3000)

    async def main() -> list[ModelResponse | BaseException]:
        many = (make(calls, request) for _ in range(6))
        return await asyncio.gather(*many, return_exceptions=True)

    results = await main()
    assert calls.ledger.spent_usd("run-1") <= 0.1
    refused = [r for r in results if isinstance(r, ProviderError)]
    assert 0 < len(refused) < 6
    assert {error.kind for error in refused} == {"out_of_budget"}


async def test_calls_in_flight_are_bounded(calls_of: CallsOf) -> None:
    now, most = 0, 0

    async def count(request: ModelRequest, on_text: OnText) -> ModelResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return answer()

    calls = calls_of(StubProvider(count), quick_config(concurrent_calls=3))

    await asyncio.gather(*(make(calls) for _ in range(12)))
    assert most == 3


class CountingClock:
    """A clock that changes only when the test sets it; `asked` counts how often it was read."""

    def __init__(self) -> None:
        self.at = 100.0
        self.asked = 0
        self.looked_at = asyncio.Event()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        self.asked += 1
        if self.asked > 20:
            self.looked_at.set()
        return self.at


async def test_pause_of_one_caller_applies_to_all_callers_of_a_provider(
    calls_of: CallsOf,
) -> None:
    slow = ProviderError("rate_limited", "slow", retry_after=0.001)
    stub = StubProvider(slow, answer())

    clock = CountingClock()
    calls = calls_of(stub, clock=clock)
    told = asyncio.Event()
    first = asyncio.create_task(
        calls.answer(ask(model=MODEL), lambda text: None, lambda retry: told.set())
    )
    await asyncio.wait_for(told.wait(), 10)
    second = asyncio.create_task(make(calls))
    await asyncio.wait_for(clock.looked_at.wait(), 10)
    assert len(stub.requests) == 1, "the pause is not over, so nobody calls"
    clock.at += 1
    await asyncio.wait_for(asyncio.gather(first, second), 10)
    assert len(stub.requests) == 3


async def test_a_model_without_tool_calling_gets_text_at_the_same_price(
    calls_of: CallsOf,
) -> None:
    stub = StubProvider(answer('<tool_call>{"name": "bash"}</tool_call>'))
    calls = calls_of(stub)
    response = await make(calls, ask(model=f"text:{MODEL}"))
    assert [call.name for call in response.tool_calls] == ["bash"]
    assert response.usage.cost_usd is not None
    assert stub.requests[0].tools == ()


async def test_unreadable_answer_is_requested_three_times_at_most(
    calls_of: CallsOf,
) -> None:
    stub = StubProvider(ProviderError("bad_answer", "an event is not JSON"))
    with pytest.raises(ProviderError, match="not JSON"):
        await make(calls_of(stub, quick_config(attempts=6)))
    assert len(stub.requests) == 3


async def test_an_answer_that_cannot_be_read_is_billed(calls_of: CallsOf) -> None:
    calls = calls_of(StubProvider(ProviderError("bad_answer", "an unknown encoding")))
    with pytest.raises(ProviderError):
        await make(calls)
    usage = calls.ledger.by_entity()["shop-1/ada"]
    assert (usage.input_tokens > 0, usage.is_estimate) == (True, True)


async def test_a_call_is_answered_after_an_answer_that_cannot_be_read(calls_of: CallsOf) -> None:
    stub = StubProvider(ProviderError("bad_answer", "an event is not JSON"), answer("fine"))
    assert (await make(calls_of(stub))).text == "fine"
