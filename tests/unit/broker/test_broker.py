"""The broker actor on the loopback: requests, answers, and survival of crashes."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from actors.broker import broker as broker_module
from actors.broker.broker import Broker
from actors.broker.calls import ModelCalls
from actors.router.main import TOPOLOGY
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime
from agiraph.core.clock import SystemClock
from agiraph.core.ids import BROKER, HUMAN, RECORDER, AgentId, message_id
from agiraph.core.money import Budget
from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.base import OnText, ProviderError
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.body import MessageBody
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.event import ReportEvents
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    BudgetTable,
    CallModel,
    CancelCall,
    CheckModel,
    ListModels,
    ModelAnswer,
    ModelCatalog,
    ModelDelta,
    ModelFailed,
    ResetBudget,
    SetBudgetMessage,
    StreamDelta,
    SubscribeToStream,
    UsageTable,
)
from agiraph.spending.ledger import UsageLedger
from tests.fakes.accounts import begin_run
from tests.unit.broker.stubs import (
    MODEL,
    PRICE,
    StubProvider,
    StubServices,
    answer,
    quick_config,
)
from tests.unit.llm.requests import ask
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.testing.loopback import LoopbackRouter

CODEC = Codec(MESSAGES)
ADA = "shop-1/ada"
B = TypeVar("B", bound=MessageBody)
CALL = CallModel(request=ask(model=MODEL))


@dataclass
class RoutedBroker:
    """A router with a broker behind it."""

    router: LoopbackRouter
    stub: StubProvider
    endpoints: list[Endpoint] = field(default_factory=list)

    async def join(self, address: str = ADA, incarnation: int = 1) -> Endpoint:
        """Return a started endpoint."""
        endpoint = self.router.endpoint(address, incarnation, codec=CODEC)
        await endpoint.start()
        self.endpoints.append(endpoint)
        return endpoint


@asynccontextmanager
async def running_broker(folder: Path) -> AsyncIterator[RoutedBroker]:
    config, stub = quick_config(), StubProvider(answer())
    begin_run(folder)
    router = LoopbackRouter(topology=TOPOLOGY)
    endpoint = router.endpoint(BROKER, codec=CODEC)
    await endpoint.start()
    values = config.model_dump(mode="json")
    launch = ActorLaunch(BROKER, "broker", 1, b"", "loopback://", folder, {}, values)
    runtime = Runtime(launch, config, endpoint)
    runtime.start_background()
    services = StubServices(config, stub)
    ledger = UsageLedger(folder / "usage.db")
    calls = ModelCalls(config, services, {MODEL: PRICE}, ledger, SystemClock())
    broker = Broker(runtime, services, calls)
    serving = asyncio.create_task(broker.serve())
    running = RoutedBroker(router, stub)
    try:
        yield running
    finally:
        for joined in running.endpoints:
            joined.abort()
        serving.cancel()
        await asyncio.wait([serving])
        await broker.close()
        runtime.cancel_background()
        endpoint.abort()
        ledger.close()
    assert serving.cancelled()


@pytest.fixture
async def routed(tmp_path: Path) -> AsyncIterator[RoutedBroker]:
    async with running_broker(tmp_path) as running:
        yield running


@pytest.fixture
async def ada(routed: RoutedBroker) -> Endpoint:
    return await routed.join()


@pytest.fixture
def held(routed: RoutedBroker) -> "HeldAnswer":
    """The stub's behaviour, which answers when the test lets it go."""
    routed.stub.behaviours = [behaviour := HeldAnswer()]
    return behaviour


class HeldAnswer:
    """A behaviour that answers when it is released; `begun` is set by its first request."""

    def __init__(self, text: str = "fine") -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.text = text

    async def __call__(self, request: ModelRequest, on_text: OnText) -> ModelResponse:
        on_text("I begin to")
        self.begun.set()
        await self.go.wait()
        return answer(self.text)


async def reply(endpoint: Endpoint, body: MessageBody, kind: type[B], id: bytes | None = None) -> B:
    """Ask the broker; return the reply, which is of this kind."""
    received = await endpoint.ask(BROKER, body, id=id)
    endpoint.done(received)
    assert isinstance(received.body, kind)
    return received.body


async def test_a_call_is_answered_and_counted(ada: Endpoint) -> None:
    got = await reply(ada, CALL, ModelAnswer)
    assert got.response.text == "fine"
    usage = await reply(ada, AskUsage(run_id="run-1", agent="shop-1"), UsageTable)
    assert usage.by_entity == {ADA: got.response.usage}
    assert usage.total == got.response.usage


async def test_text_is_streamed_to_the_caller(ada: Endpoint, held: HeldAnswer) -> None:
    call = message_id()
    asking = asyncio.create_task(ada.ask(BROKER, CALL, id=call))
    delta = await ada.receive()
    assert delta.body == ModelDelta(call=call, text="I begin to")
    held.go.set()
    await asking


async def test_text_streams_only_to_subscribed_consoles(
    routed: RoutedBroker, ada: Endpoint, held: HeldAnswer
) -> None:
    console = await routed.join("console/1")
    spy = await routed.join("spy-1/eve")
    for listener in (console, spy):
        listener.post(BROKER, SubscribeToStream(agent=AgentId("shop-1")))
        await reply(listener, CheckModel(model=MODEL), Ok)
    call = message_id()
    asking = asyncio.create_task(ada.ask(BROKER, CALL, id=call))
    heard = await console.receive()
    assert heard.body == StreamDelta(entity=ADA, call=call, text="I begin to")
    late = await routed.join("human")
    late.post(BROKER, SubscribeToStream(agent=AgentId("shop-1"), from_start=True))
    assert (await late.receive()).body == heard.body
    held.go.set()
    await asking
    end = StreamDelta(entity=ADA, call=call, at=len("I begin to"), is_end=True)
    assert [(await one.receive()).body for one in (console, late)] == [end, end]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await spy.receive()


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (ProviderError("bad_key", "no key"), "bad_key", False),
        (ProviderError("overloaded", "busy"), "overloaded", True),
        (ZeroDivisionError("a bug"), "internal", False),
    ],
)
async def test_a_failure_has_its_kind_and_ends_nothing_else(
    routed: RoutedBroker, ada: Endpoint, error: Exception, kind: str, retryable: bool
) -> None:
    routed.stub.behaviours = [error]
    got = await reply(ada, CALL, ModelFailed)
    assert (got.kind, got.retryable) == (kind, retryable)
    routed.stub.behaviours = [answer()]
    await reply(ada, CALL, ModelAnswer)


async def test_retry_is_reported_and_discards_the_streamed_text(
    routed: RoutedBroker, ada: Endpoint
) -> None:
    async def fail_midway(request: ModelRequest, on_text: OnText) -> ModelResponse:
        on_text("half a")
        raise ProviderError("unreachable", "the answer broke off")

    routed.stub.behaviours = [fail_midway, answer()]
    recorder = await routed.join(RECORDER)
    await reply(ada, CALL, ModelAnswer)
    report = await recorder.receive()
    assert isinstance(report.body, ReportEvents)
    (event,) = report.body.events
    assert (event.type, event.agent_id, event.entity) == ("model.retry", "shop-1", ADA)
    assert (event.run_id, event.node_id) == ("run-1", "n1")
    assert event.data["kind"] == "unreachable"
    assert (event.data["attempt"], event.data["attempts"]) == (1, quick_config().broker.attempts)


async def test_call_that_waits_for_a_paused_service_is_reported(
    routed: RoutedBroker, ada: Endpoint
) -> None:
    routed.stub.behaviours = [ProviderError("rate_limited", "slow down", retry_after=60)]
    bob, recorder = await routed.join("shop-1/bob"), await routed.join(RECORDER)
    tasks = []
    async with asyncio.timeout(20):
        for asker, name, attempt in ((ada, ADA, 1), (bob, "shop-1/bob", 0)):
            call = CallModel(request=ask(model=MODEL, entity=name))
            tasks.append(asyncio.create_task(asker.ask(BROKER, call)))
            delta = (await asker.receive()).body
            assert isinstance(delta, ModelDelta)
            assert re.fullmatch(r"waits for \w+ until [\d:]{8}: slow down", delta.waits or "")
            report = await recorder.receive()
            recorder.done(report)
            assert isinstance(report.body, ReportEvents)
            [event] = report.body.events
            assert (event.type, event.data["attempt"]) == ("model.retry", attempt)
    for task in tasks:
        task.cancel()


async def test_a_cancelled_call_is_dropped(
    routed: RoutedBroker, ada: Endpoint, held: HeldAnswer
) -> None:
    bob = await routed.join("shop-1/bob")
    call = message_id()
    asking = asyncio.create_task(ada.ask(BROKER, CALL, id=call))
    await held.begun.wait()
    bob.post(BROKER, CancelCall(call=call))
    await reply(bob, CheckModel(model=MODEL), Ok)
    assert not routed.stub.cancelled.is_set(), "only the asker may cancel"
    ada.post(BROKER, CancelCall(call=call))
    await routed.stub.cancelled.wait()
    asking.cancel()


async def test_a_call_cancelled_at_once_can_be_made_again(ada: Endpoint) -> None:
    call = message_id()
    asking = asyncio.create_task(ada.ask(BROKER, CALL, id=call))
    await asyncio.sleep(0)  # the question is on its way, and the order to drop it behind it
    ada.post(BROKER, CancelCall(call=call))
    asking.cancel()
    await asyncio.wait([asking])
    await reply(ada, CALL, ModelAnswer, id=call)


async def test_a_call_that_is_being_dropped_is_not_joined(
    routed: RoutedBroker, ada: Endpoint
) -> None:
    dropped = asyncio.Event()

    async def die_slowly(request: ModelRequest, on_text: OnText) -> ModelResponse:
        on_text("x")
        try:
            await asyncio.Event().wait()
        finally:
            await dropped.wait()
        return answer()

    routed.stub.behaviours = [die_slowly, answer()]
    call = message_id()
    asking = asyncio.create_task(ada.ask(BROKER, CALL, id=call))
    await ada.receive()
    ada.post(BROKER, CancelCall(call=call))
    asking.cancel()
    await asyncio.wait([asking])
    await reply(ada, CALL, ModelAnswer, id=call)
    dropped.set()


async def test_the_same_call_asked_again_in_flight_is_one_call(routed: RoutedBroker) -> None:
    held = HeldAnswer("once")
    routed.stub.behaviours = [held]
    call = message_id()
    first = await routed.join(incarnation=1)
    asking = asyncio.create_task(first.ask(BROKER, CALL, id=call))
    await held.begun.wait()
    first.abort()
    second = await routed.join(incarnation=2)
    again = asyncio.create_task(second.ask(BROKER, CALL, id=call))
    await reply(second, CheckModel(model=MODEL), Ok)
    held.go.set()
    got = await again
    assert isinstance(got.body, ModelAnswer)
    assert got.body.response.text == "once"
    assert len(routed.stub.requests) == 1
    await asyncio.gather(asking, return_exceptions=True)


async def test_the_same_call_asked_again_after_its_answer_is_not_paid_twice(
    routed: RoutedBroker, ada: Endpoint
) -> None:
    call = message_id()
    first = await ada.ask(BROKER, CALL, id=call)
    second = await ada.ask(BROKER, CALL, id=call)
    assert first.body == second.body
    assert len(routed.stub.requests) == 1
    other = CallModel(request=ask(model=MODEL, system="You are someone else."))
    await ada.ask(BROKER, other, id=call)
    assert len(routed.stub.requests) == 2, "another question is another call"


async def test_call_of_a_caller_that_does_not_return_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "ORPHAN_SECONDS", 0.01)
    async with running_broker(tmp_path) as routed:
        ada = await routed.join()
        routed.stub.behaviours = [held := HeldAnswer()]
        asking = asyncio.create_task(ada.ask(BROKER, CALL))
        await held.begun.wait()
        ada.abort()
        await routed.stub.cancelled.wait()
        await asyncio.gather(asking, return_exceptions=True)


async def test_slow_call_delays_no_other_call(routed: RoutedBroker, ada: Endpoint) -> None:
    held = HeldAnswer("slow")
    routed.stub.behaviours = [held, answer("quick")]
    bob = await routed.join("shop-1/bob")
    slow = asyncio.create_task(ada.ask(BROKER, CALL))
    await held.begun.wait()
    own = ask(model=MODEL, entity="shop-1/bob")
    quick = await reply(bob, CallModel(request=own), ModelAnswer)
    assert quick.response.text == "quick"
    held.go.set()
    assert isinstance((await slow).body, ModelAnswer)


async def test_models_are_listed_and_checked(routed: RoutedBroker, ada: Endpoint) -> None:
    got = await reply(await routed.join("human"), ListModels(), ModelCatalog)
    rows = {row["name"]: row for row in got.providers}
    assert rows["anthropic"]["usable"]
    assert not rows["openai"]["usable"]
    assert str(got.default).startswith("anthropic/")
    assert rows["script"]["usable"]
    reasons = {}
    for model in ("openai/gpt-5", "nobody/x", "script/none"):
        refused = await reply(ada, CheckModel(model=model), RefusedReply)
        reasons[model] = refused.reason
    assert "OPENAI_API_KEY is not set" in reasons["openai/gpt-5"]
    assert "known: anthropic" in reasons["nobody/x"]
    assert "script/none" in reasons["script/none"]
    for model in ("anthropic/anything", "ollama/x"):
        await reply(ada, CheckModel(model=model), Ok)


async def test_out_of_budget_names_the_amounts(
    routed: RoutedBroker, ada: Endpoint, tmp_path: Path
) -> None:
    begin_run(tmp_path, budget_usd=0.0001)
    got = await reply(ada, CallModel(request=ask(model=MODEL, budget_usd=1_000_000)), ModelFailed)
    assert got.kind == "out_of_budget"
    assert "$0.0001" in got.message
    assert routed.stub.requests == []


async def test_message_of_another_type_is_ignored(ada: Endpoint) -> None:
    await reply(ada, ModelDelta(call=b"x", text="?"), RefusedReply)
    await reply(ada, CheckModel(model=MODEL), Ok)


async def test_closing_drops_calls_and_closes_connections(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as routed:
        ada = await routed.join()
        await ada.ask(BROKER, CALL)
        routed.stub.behaviours = [held := HeldAnswer()]
        asking = asyncio.create_task(ada.ask(BROKER, CALL))
        await held.begun.wait()
        ada.abort()
        await asyncio.gather(asking, return_exceptions=True)
    assert routed.stub.is_closed
    assert routed.stub.cancelled.is_set()


async def test_only_the_human_sets_budgets_and_dollars_need_a_price(
    routed: RoutedBroker, ada: Endpoint
) -> None:
    human = await routed.join(HUMAN)
    usd = Budget(scope="agent", key="shop-1", usd=2)
    for order in (SetBudgetMessage(budget=usd), ResetBudget(scope="agent", key="shop-1")):
        refused = await reply(ada, order, RefusedReply)
        assert "not authorized" in refused.reason
    unpriced = SetBudgetMessage(budget=usd, models=(MODEL, "anthropic/unpriced"))
    refused = await reply(human, unpriced, RefusedReply)
    assert "the price of anthropic/unpriced is not known" in refused.reason
    check = CheckModel(model="anthropic/unpriced")
    await reply(human, check, Ok)
    bound = check.model_copy(update={"has_usd_budget": True})
    assert await reply(human, bound, RefusedReply) == RefusedReply(
        reason=refused.reason, kind="InvalidInput"
    )
    priced = SetBudgetMessage(budget=usd, models=(MODEL, "nobody/x", "ollama/x"))
    got = await reply(human, priced, BudgetTable)
    assert [(one.usd, one.is_own) for one in got.budgets] == [(2, True)]
    told = await human.ask(BROKER, AskBudgets(keys=(("agent", "shop-1"), ("run", "r"))))
    assert told.body == got
    back = await reply(human, ResetBudget(scope="agent", key="shop-1"), BudgetTable)
    assert [one.usd for one in back.budgets] == [None]
