"""Broker: handles messages; a model call runs in a task of its own (`CallsInFlight`).

A call that is sent again, while it runs or shortly after its end, is treated as the same call, so
that no step is paid for twice.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ValidationError

from actors.broker.call_quarantine import CallQuarantine
from actors.broker.call_retries import AttemptFailure, RetryPlanned, WaitEnded
from actors.broker.calls import ModelCalls
from actors.broker.provider_queue import SHOWN_SECONDS
from actors.broker.streaming import DeltaBuffer, StreamedTexts, StreamSubscribers, TextDelta
from actors.runtime.calls_in_flight import CallInFlight, CallsInFlight
from actors.runtime.runtime import Runtime
from agiraph.core.concurrency import BackgroundTasks, first_to_end
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import NodeId, RunId, agent_of, split_model
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject, ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.llm.fallback import FallbackStarted
from agiraph.llm.packing import Unpacker
from agiraph.llm.provider_pool import ProviderPool
from agiraph.messages.body import MessageBody
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.llm_proxy import CloseProxy, OpenProxy, ProxyCostsSettled, SettleProxyCosts
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    BudgetTable,
    CallModel,
    CancelCall,
    CheckModel,
    CountTokens,
    ListModels,
    ModelAnswer,
    ModelCatalog,
    ModelDelta,
    ModelFailed,
    RaiseBudget,
    ResetBudget,
    SetBudgetMessage,
    StreamDelta,
    SubscribeToStream,
    TokensCounted,
)
from agiraph.models.prices import no_dollars, require_cheap
from agiraph.spending.agent_budgets import AgentBudgets
from agiraph.spending.usage_reader import UsageReader
from agiraph.storage.files import is_file
from transport.endpoint import Received

if TYPE_CHECKING:
    from actors.broker.llm_proxy.proxy import LlmProxy

BudgetRequest = RaiseBudget | SetBudgetMessage | ResetBudget | AskBudgets
ORPHAN_SECONDS = 10.0
"""How long a call continues without its sender; a restarted sender sends the same call again."""


class Broker:
    """Handles the broker's messages; ModelCalls makes the calls."""

    def __init__(self, runtime: Runtime, services: ProviderPool, calls: ModelCalls) -> None:
        self._runtime = runtime
        self._services = services
        self._calls = calls
        self._accounts = AgentBudgets(runtime.home)
        self._usage = UsageReader(calls.ledger, calls.limits, self._accounts)
        self._unpacker = Unpacker()
        self._subscribers, self._streamed = StreamSubscribers(), StreamedTexts()
        self._tasks = BackgroundTasks()
        self._in_flight = CallsInFlight(runtime, self._tasks, orphan_seconds=ORPHAN_SECONDS)
        self._quarantine = CallQuarantine.of(runtime)
        self._proxy: LlmProxy | None = None

    async def serve(self) -> None:
        """Handle messages until the process is stopped."""
        self._runtime.endpoint.on_down = self._peer_down
        await self._runtime.ready()
        self._tasks.start(self._services.warm_up())
        if is_file(self._runtime.home.system.doors):
            self._tasks.start(self._listen_again())
        await first_to_end(self._receive(), self._tasks.until_broken())

    async def _receive(self) -> None:
        while True:
            received = await self._runtime.receive()
            self._handle(received)
            self._runtime.done(received)

    async def close(self) -> None:
        """Cancel the calls in flight (their senders send them again) and close all connections."""
        await self._tasks.stop()
        if self._proxy is not None:
            await self._proxy.stop()
        await self._services.close()
        self._quarantine.close()

    def _handle(self, received: Received) -> None:
        match received.body:
            case CallModel():
                self._call(received, received.body)
            case CancelCall(call=call):
                self._in_flight.cancel(received.header.sender, call)
            case SubscribeToStream() as asked:
                self._subscribe(received.header.sender, asked)
            case StreamDelta() as delta:
                self._show(delta)
            case ListModels(asks_servers=asks_servers):
                self._tasks.start(self._list_models(received, asks_servers=asks_servers))
            case CheckModel() as asked:
                self._tasks.start(self._in_flight.reply(received, self._check(asked)))
            case CountTokens(request=request):
                self._tasks.start(self._count(received, request))
            case AskUsage() as asked:
                self._tasks.start(self._in_flight.reply(received, self._usage.usage(asked)))
            case OpenProxy():
                self._tasks.start(self._open_proxy(received, received.body))
            case CloseProxy(token=token):
                if is_file(self._runtime.home.system.doors):
                    self._llm_proxy().close(received.header.sender, token)
            case SettleProxyCosts(token=token):
                self._tasks.start(self._settle_proxy(received, token))
            case RaiseBudget() | SetBudgetMessage() | ResetBudget() | AskBudgets() as order:
                self._tasks.start(self._handle_budget_request(received, order))
            case other:
                self._runtime.log.warning("not for the broker", type=type(other).__name__)

    async def _handle_budget_request(self, received: Received, request: BudgetRequest) -> None:
        """Answer a request about budgets; a change is on disk before the answer is sent."""
        answer = self._changed_budgets(request)
        await self._calls.ledger.flushed()
        await self._in_flight.reply(received, answer)

    def _changed_budgets(self, request: BudgetRequest) -> Ok | RefusedReply | BudgetTable:
        limits = self._calls.limits
        match request:
            case AskBudgets():
                return self._usage.budgets(request)
            case SetBudgetMessage(budget=budget):
                model = self._without_price(request.models) if budget.usd is not None else None
                if model is not None:
                    return RefusedReply(reason=no_dollars(model))
                return BudgetTable(budgets=(limits.set(budget, request.keep),))
            case ResetBudget(scope=scope, key=key, period=period):
                return BudgetTable(budgets=(limits.unset(scope, key, period),))
            case RaiseBudget(budget=state):
                limits.raise_by(state, request.usd, request.tokens, request.cause)
                return Ok()

    def _without_price(self, models: Sequence[str]) -> str | None:
        """Return the first model without a known price, or None."""
        for model in models:
            with suppress(InvalidInput):  # an invalid model is reported by its call
                name = self._services.name(model)
                if self._calls.price(name) is None:
                    return str(name)
        return None

    async def _list_models(self, received: Received, *, asks_servers: bool) -> None:
        with suppress(InvalidInput):  # CheckModel reports an invalid table
            self._services.refresh()
        default, why = self._services.default()
        rows = self._services.catalog()
        if asks_servers:
            rows = await self._services.answering(rows, self._runtime.home.path)
        catalog = ModelCatalog(providers=rows, default=default, why=why)
        await self._in_flight.reply(received, catalog)

    async def _count(self, received: Received, request: ModelRequest) -> None:
        """Reply with the number of tokens of a request, None if they cannot be counted."""
        try:
            tokens = await self._services.count(request)
        except (InvalidInput, ProviderError) as error:
            self._runtime.log.warning("tokens are not counted", reason=str(error))
            tokens = None
        await self._in_flight.reply(received, TokensCounted(tokens=tokens))

    def _check(self, asked: CheckModel) -> Ok | RefusedReply:
        try:
            self._services.refresh()
            self._services.check(asked.model, asked.needs_tools)
            self._calls.require_room(asked.model, asked.characters)
            if asked.has_usd_budget and (unpriced := self._without_price([asked.model])):
                raise InvalidInput(no_dollars(unpriced))
            if asked.most_usd is not None:
                price = self._calls.price(self._services.name(asked.model))
                require_cheap(asked.model, price, asked.most_usd)
        except InvalidInput as error:
            return RefusedReply(reason=str(error), kind=type(error).__name__)
        return Ok()

    # --- the LLM proxy ---------------------------------------------------------------------------

    def _llm_proxy(self) -> "LlmProxy":
        if self._proxy is None:
            # Imported here, so that a home without external agents does not load it.
            from actors.broker.llm_proxy.proxy import LlmProxy

            self._proxy = LlmProxy(
                self._runtime,
                self._services,
                self._calls,
                self._quarantine,
                self._accounts,
                self._report,
            )
        return self._proxy

    async def _listen_again(self) -> None:
        """Start the LLM proxy for grants opened before a restart: their agents call again."""
        try:
            await self._llm_proxy().listen_again()
        except Refused as error:
            self._runtime.log.error("the LLM proxy cannot listen again", reason=str(error))

    async def _open_proxy(self, received: Received, asked: OpenProxy) -> None:
        header = received.header
        try:
            opened: MessageBody = await self._llm_proxy().open(
                header.sender, header.incarnation, header.id, asked
            )
        except Refused as error:
            opened = RefusedReply(reason=str(error), kind=type(error).__name__)
        await self._in_flight.reply(received, opened)

    async def _settle_proxy(self, received: Received, token: str) -> None:
        usage, calls = await self._llm_proxy().settle(received.header.sender, token)
        await self._in_flight.reply(received, ProxyCostsSettled(usage=usage, calls=calls))

    # --- calls -----------------------------------------------------------------------------------

    def _call(self, received: Received, call: CallModel) -> None:
        try:
            turns = self._unpacker.unpack(call.turns)
            tools = self._unpacker.unpack_tools(call.tools) or call.request.tools
        except ValidationError as error:
            failed = ModelFailed(kind="bad_request", message=f"a turn or tool is none: {error}")
            self._tasks.start(self._in_flight.reply(received, failed))
            return
        whole = {"turns": (*call.request.turns, *turns), "tools": tools}
        request = call.request.model_copy(update=whole)
        id = received.header.id
        self._in_flight.call(
            received, lambda one: self._run(id, one, request), lambda: _digest(call)
        )

    async def _run(
        self, id: bytes, call: CallInFlight, request: ModelRequest
    ) -> ModelAnswer | ModelFailed:
        shown = StreamDelta(entity=request.entity, call=id)
        deltas = DeltaBuffer(lambda delta: self._send_delta(call, delta, shown))
        end = "it was cancelled"
        try:
            answer = await self._answer(request, deltas, shown, call.sender)
            end = answer.message if isinstance(answer, ModelFailed) else ""
        finally:
            if rest := deltas.end():
                self._show(shown.model_copy(update={"text": rest}))
            self._show(shown.model_copy(update={"is_end": True, "reason": end}))
        call.is_stored = isinstance(answer, ModelAnswer)
        return answer

    async def _answer(
        self, request: ModelRequest, deltas: DeltaBuffer, shown: StreamDelta, sender: str
    ) -> ModelAnswer | ModelFailed:
        def on_failure(failure: AttemptFailure | WaitEnded) -> None:
            waits = waiting_text(failure, self._runtime.clock.now())
            self._runtime.post(sender, ModelDelta(call=shown.call, text="", waits=waits))
            if isinstance(failure, WaitEnded):
                return
            deltas.restart()
            void = {"restarted": True, "reason": _told(failure)}
            self._show(shown.model_copy(update=void))
            self._report_failure(request, failure)

        try:
            request = self._accounts.billed(request)
            async with self._quarantine.making(shown.call.hex()):
                response = await self._calls.answer(request, deltas.add, on_failure)
        except ProviderError as error:
            failed = {"model": request.model, "kind": error.kind, "message": str(error)}
            self._report(request, "model.failed", failed)
            return ModelFailed(
                kind=error.kind,
                message=str(error),
                retryable=error.is_retryable,
                shortage=error.shortage,
            )
        except Refused as error:
            return ModelFailed(kind="bad_request", message=str(error))
        except Exception as error:
            # An unforeseen failure of one call must not end the other calls.
            self._runtime.log.exception("a model call crashed", model=request.model)
            return ModelFailed(kind="internal", message=f"{type(error).__name__}: {error}")
        return ModelAnswer(response=response)

    # --- while a call runs -----------------------------------------------------------------------

    def _send_delta(self, call: CallInFlight, delta: TextDelta, shown: StreamDelta) -> None:
        about = {"text": delta.text, "restarted": delta.restarted}
        self._runtime.post(call.sender, ModelDelta.model_validate({"call": shown.call, **about}))
        if delta.text:
            self._show(shown.model_copy(update=about))

    def _subscribe(self, sender: str, asked: SubscribeToStream) -> None:
        now = self._runtime.clock.monotonic()
        if self._subscribers.subscribe(asked.agent, sender, now) or asked.from_start:
            for so_far in self._streamed.of(asked.agent):
                self._runtime.post(sender, so_far)

    def _show(self, delta: StreamDelta) -> None:
        """Send a piece of text to all subscribers of the entity's agent."""
        placed = self._streamed.place(delta)
        now = self._runtime.clock.monotonic()
        for listener in self._subscribers.addresses(agent_of(delta.entity), now):
            self._runtime.post(listener, placed)

    def _report_failure(self, request: ModelRequest, failure: AttemptFailure) -> None:
        data = failure.event_data()
        self._runtime.log.warning("an attempt failed", entity=request.entity, data=data)
        self._report(request, failure.EVENT, data)

    def _report(self, request: ModelRequest, kind: str, data: JsonObject) -> None:
        """Report an event to the agent whose entity made the call."""
        agent = agent_of(request.entity)
        if agent is None:
            return
        self._runtime.report(
            Event(
                type=kind,
                agent_id=agent,
                ts=self._runtime.clock.now(),
                entity=request.entity,
                run_id=RunId(request.run_id) if request.run_id else None,
                node_id=NodeId(request.node_id) if request.node_id else None,
                data=data,
            )
        )

    def _peer_down(self, address: str, incarnation: int) -> None:
        """Close the grant and calls of a process that is down; its external agent has ended."""
        if self._proxy is not None:
            self._proxy.close(address, up_to=incarnation)
        self._streamed.forget(address)
        self._in_flight.peer_down(address, incarnation)


def _told(failure: AttemptFailure) -> str:
    """Return a sentence that names the failure of a call and the next attempt."""
    if isinstance(failure, FallbackStarted):
        return f"{failure.model} failed ({failure.message}): {failure.to} is called"
    when = f"in {failure.wait_seconds:.0f} s" if failure.wait_seconds >= 1 else "now"
    if not failure.attempt:
        return f"the service of {failure.model} pauses ({failure.message}): it is called {when}"
    return f"{failure.model} failed ({failure.message}): it is called again {when}"


def waiting_text(notice: AttemptFailure | WaitEnded, now: float) -> str:
    """Return the service, the time and the cause of a call's wait; "" if it does not wait."""
    if not isinstance(notice, RetryPlanned) or notice.wait_seconds < SHOWN_SECONDS:
        return ""
    until = time.strftime("%H:%M:%S", time.localtime(now + notice.wait_seconds))
    return f"waits for {split_model(notice.model)[0]} until {until}: {notice.message}"


def _digest(call: CallModel) -> bytes:
    """Return a digest of a request, so that its long transcript need not be stored.

    Hashing the packed turns costs nothing: the lookup of them has already computed their hash. The
    turns contain the digests of the pictures.
    """
    packed = hash((call.turns, call.tools)).to_bytes(8, signed=True)
    seed = call.request.model_dump_json(exclude={"pictures"}).encode() + packed
    return hashlib.blake2b(seed, digest_size=16).digest()
