"""Fallback: the answering model, the notices, and data that no other service sees."""

import pytest

from actors.broker.call_retries import AttemptFailure, WaitEnded
from actors.broker.calls import ModelCalls
from agiraph.core.clock import SystemClock
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import AssistantTurn, ModelRequest, ModelResponse, UserTurn
from agiraph.llm.base import FailureKind, Provider, ProviderError
from agiraph.llm.fallback import FallbackStarted, chain_of, is_handed_on
from agiraph.models.prices import Price
from agiraph.models.registry import ModelName
from agiraph.settings.config import Config
from agiraph.spending.ledger import UsageLedger
from tests.unit.broker.stubs import MODEL, StubProvider, StubServices, answer, quick_config
from tests.unit.llm.requests import ask

OTHER = "openai/gpt-5.2"
LOCAL = "ollama/llama3.1"
BUSY = ProviderError("overloaded", "busy")


class TwoServices(StubServices):
    """Services with a stub each; a missing one has no key."""

    def __init__(self, config: Config, **stubs: StubProvider) -> None:
        super().__init__(config, next(iter(stubs.values())))
        self.stubs = stubs

    async def provider(self, name: ModelName) -> Provider:
        if name.provider not in self.stubs:
            raise ProviderError("bad_key", f"no key for {name.provider}")
        return self.stubs[name.provider]


def with_chain(config: Config | None = None, **chains: list[str]) -> Config:
    config = config or quick_config()
    names = {"model": MODEL}
    fallbacks = {names.get(key, key): tuple(chain) for key, chain in chains.items()}
    models = config.models.model_copy(update={"fallbacks": fallbacks})
    return config.model_copy(update={"models": models})


class FallbackCalls:
    """Calls over several stubs; `told` are the forwarded notices."""

    def __init__(self, ledger: UsageLedger, config: Config, **stubs: StubProvider) -> None:
        prices = {MODEL: Price(input=1, output=10), OTHER: Price(input=2, output=20)}
        self.services = TwoServices(config, **stubs)
        self.calls = ModelCalls(config, self.services, prices, ledger, SystemClock())
        self.told: list[FallbackStarted] = []

    async def make(self, request: ModelRequest | None = None) -> ModelResponse:
        asked = request or ask(model=MODEL)
        return await self.calls.answer(asked, lambda text: None, self._note)

    def _note(self, failure: AttemptFailure | WaitEnded) -> None:
        if isinstance(failure, FallbackStarted):
            self.told.append(failure)


async def test_fallback_model_answers_and_names_the_wanted_model(ledger: UsageLedger) -> None:
    first, second = StubProvider(BUSY), StubProvider(answer("hello"))
    fallback = FallbackCalls(ledger, with_chain(model=[OTHER]), anthropic=first, openai=second)
    response = await fallback.make()
    assert (response.text, response.model, response.instead_of) == ("hello", OTHER, MODEL)
    assert "busy" in response.why
    assert len(first.requests) == 3, "patience is short for who has elsewhere to go"
    assert [(h.model, h.to, h.kind) for h in fallback.told] == [(MODEL, OTHER, "overloaded")]
    assert response.usage.cost_usd == pytest.approx((100 * 2 + 10 * 20) / 1e6), "at its own price"


@pytest.mark.parametrize("kind", ["bad_request", "internal"])
async def test_invalid_call_is_not_sent_to_a_fallback(
    ledger: UsageLedger, kind: FailureKind
) -> None:
    first, second = StubProvider(ProviderError(kind, "no")), StubProvider(answer())
    fallback = FallbackCalls(ledger, with_chain(model=[OTHER]), anthropic=first, openai=second)
    with pytest.raises(ProviderError, match="no"):
        await fallback.make()
    assert second.requests == []


async def test_fallback_without_key_or_credit_is_skipped(ledger: UsageLedger) -> None:
    config = with_chain(model=[OTHER, LOCAL])
    empty = StubProvider(ProviderError("no_credit", "empty"))
    fallback = FallbackCalls(ledger, config, anthropic=empty, ollama=StubProvider(answer()))
    assert (await fallback.make()).model == LOCAL
    assert [h.kind for h in fallback.told] == ["no_credit", "bad_key"]


async def test_all_failures_are_reported_if_no_fallback_answers(
    ledger: UsageLedger,
) -> None:
    fallback = FallbackCalls(ledger, with_chain(model=[OTHER]), anthropic=StubProvider(BUSY))
    with pytest.raises(ProviderError, match=r"busy.*openai/gpt-5\.2: no key") as it:
        await fallback.make()
    assert it.value.kind == "overloaded"


async def test_too_long_conversation_uses_a_larger_window_from_then_on(ledger: UsageLedger) -> None:
    first = StubProvider(ProviderError("context_too_long", "too long"))
    second = StubProvider(answer())
    config = with_chain(model=[LOCAL, OTHER])
    fallback = FallbackCalls(ledger, config, anthropic=first, openai=second, ollama=second)
    assert (await fallback.make()).model == OTHER, "the local window is smaller yet"
    longer = ask(model=MODEL, turns=(UserTurn(content="x" * 999),))
    assert (await fallback.make(longer)).model == OTHER
    assert len(first.requests) == 1


async def test_open_breaker_sends_all_calls_to_the_fallback_at_once(ledger: UsageLedger) -> None:
    first, second = StubProvider(BUSY), StubProvider(answer())
    config = with_chain(quick_config(breaker_seconds=60), model=[OTHER])
    fallback = FallbackCalls(ledger, config, anthropic=first, openai=second)

    for _ in range(6):
        assert (await fallback.make()).model == OTHER
    assert len(first.requests) == 5, "as many as open the breaker"


async def test_no_service_sees_the_opaque_data_of_another(ledger: UsageLedger) -> None:
    thinking = {"api": "anthropic", "thinking": [{"signature": "s"}]}
    first = StubProvider(answer().model_copy(update={"provider_data": thinking}), BUSY)
    second = StubProvider(answer())
    fallback = FallbackCalls(ledger, with_chain(model=[OTHER]), anthropic=first, openai=second)

    said = (await fallback.make()).turn()
    turns = (UserTurn(content="a"), said, UserTurn(content="b"))
    await fallback.make(ask(model=MODEL, turns=turns))

    def shown(request: ModelRequest) -> list[object]:
        return [t.provider_data for t in request.turns if isinstance(t, AssistantTurn)]

    assert shown(first.requests[-1]) == [thinking | {"by": "anthropic"}]
    assert shown(second.requests[-1]) == [None]


async def test_a_budget_bounds_the_fallback_too(ledger: UsageLedger) -> None:
    first, second = StubProvider(BUSY), StubProvider(answer())
    fallback = FallbackCalls(ledger, with_chain(model=[OTHER]), anthropic=first, openai=second)
    request = ask(model=MODEL, budget_usd=0.0105, max_tokens=1024)
    with pytest.raises(ProviderError) as caught:
        await fallback.make(request)
    assert caught.value.kind == "out_of_budget"
    assert second.requests == []


def test_chain_of_the_model_precedes_the_chain_of_the_role() -> None:
    fallbacks = {MODEL: (OTHER, LOCAL), "worker": (LOCAL, "groq/x"), "coordinator": (MODEL,)}
    assert chain_of(fallbacks, MODEL, "shop-1/ada") == (OTHER, LOCAL, "groq/x")
    assert chain_of(fallbacks, MODEL, "shop-1/coordinator") == (OTHER, LOCAL)
    assert chain_of(fallbacks, "other/y", "shop-1/coordinator") == (MODEL,)


def test_chain_with_an_unknown_key_is_refused_at_the_start(ledger: UsageLedger) -> None:
    config = with_chain(leader=[OTHER])
    with pytest.raises(InvalidInput, match=r"models\.fallbacks\.leader.*coordinator or worker"):
        FallbackCalls(ledger, config, anthropic=StubProvider(BUSY))


def test_refused_call_is_not_passed_to_a_fallback() -> None:
    kinds: list[FailureKind] = ["bad_request", "internal", "out_of_budget"]
    assert not any(is_handed_on(kind, 10, 100) for kind in kinds)
    assert not is_handed_on("context_too_long", 100, 100)
