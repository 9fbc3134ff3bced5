"""Broker: takes messages, runs one task a model call, and answers whoever asked last.

A call is known by the id of its message. Asked again while it is in flight (its asker or the router
was restarted), it goes on, and the answer goes to the newest asker; asked again just after it was
answered, it gets the same answer: nobody pays twice for one step. A call whose asker is gone, and
does not come back within ORPHAN_SECONDS, is dropped.
"""

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from actors.broker.agent_budgets import AgentBudgets
from actors.broker.budget_requests import Order, minded
from actors.broker.calls import FallbackStarted, ModelCalls, RetryPlanned
from actors.broker.deltas import DeltaBuffer, TextDelta
from actors.broker.ledger import UsageLedger
from actors.broker.provider_pool import ProviderPool
from actors.broker.stream_subscribers import StreamSubscribers
from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.runtime.runtime import Runtime
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import NodeId, RunId, agent_of
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject, ModelRequest, Usage
from agiraph.llm.base import ProviderError
from agiraph.llm.packing import Unpacker
from agiraph.messages import (
    AskBudgets,
    AskUsage,
    Body,
    CallModel,
    CancelCall,
    CheckModel,
    CloseProxy,
    ListModels,
    ModelAnswer,
    ModelCatalog,
    ModelDelta,
    ModelFailed,
    Ok,
    OpenProxy,
    ProxyCostsSettled,
    RaiseBudget,
    RefusedReply,
    ResetBudget,
    SetBudgetMessage,
    SettleProxyCosts,
    StreamDelta,
    SubscribeToStream,
    UsageTable,
)
from agiraph.storage.files import is_file
from transport.endpoint import Received
from transport.errors import TransportError

if TYPE_CHECKING:
    from actors.broker.llm_proxy.proxy import LlmProxy

Key = tuple[str, bytes]
"""A call: who asks, and the id of its message. Nobody else is answered, or can cancel it."""

ORPHAN_SECONDS = 10.0
REMEMBERED_ANSWERS = 64


@dataclass(slots=True)
class ModelCallInFlight:
    """One call: its newest question, its task, and the timer that runs while nobody asks for it."""

    asked: Received
    digest: bytes
    task: "asyncio.Task[None]" = field(init=False)
    orphaned: asyncio.TimerHandle | None = None

    def can_answer(self, digest: bytes) -> bool:
        """Whether this is the same question, and its task is on its way to an answer."""
        return self.digest == digest and not (self.task.done() or self.task.cancelling())


class Broker:
    """The shell round ModelCalls."""

    def __init__(
        self, runtime: Runtime, services: ProviderPool, calls: ModelCalls, ledger: UsageLedger
    ) -> None:
        """Serve over `runtime`."""
        self._runtime = runtime
        self._services = services
        self._calls = calls
        self._ledger = ledger
        self._accounts = AgentBudgets(runtime.home)
        self._in_flight: dict[Key, ModelCallInFlight] = {}
        self._answers: OrderedDict[Key, tuple[bytes, ModelAnswer]] = OrderedDict()
        self._unpacker = Unpacker()
        self._listeners = StreamSubscribers()
        self._side = BackgroundTasks()
        self._proxy: LlmProxy | None = None

    async def serve(self) -> None:
        """Take messages for ever."""
        self._runtime.endpoint.on_down = self._peer_down
        await self._runtime.ready()
        self._side.start(self._services.warm_up())
        if is_file(self._runtime.home.system.doors):
            self._side.start(self._listen_again())
        await first_to_end(self._receive(), self._side.until_broken())

    async def _receive(self) -> None:
        while True:
            received = await self._runtime.receive()
            self._take(received)
            self._runtime.done(received)

    async def close(self) -> None:
        """Drop the calls in flight (their askers will ask again) and let connections go."""
        await self._side.stop()
        if self._proxy is not None:
            await self._proxy.stop()
        await self._services.close()

    def _take(self, received: Received) -> None:
        match received.body:
            case CallModel():
                self._take_call(received, received.body)
            case CancelCall(call=call):
                self._cancel(received, call)
            case SubscribeToStream(agent=agent):
                now = self._runtime.clock.monotonic()
                self._listeners.listen(agent, received.header.sender, now)
            case StreamDelta() as heard:
                self._let_hear(heard)
            case ListModels():
                default, _ = self._services.default()
                catalog = ModelCatalog(providers=self._services.catalog(), default=default)
                self._side.start(self._reply(received, catalog))
            case CheckModel(model=model):
                self._side.start(self._reply(received, self._checked(model)))
            case AskUsage() as asked:
                self._side.start(self._reply(received, self._usage(asked)))
            case OpenProxy():
                self._side.start(self._open_proxy(received, received.body))
            case CloseProxy(token=token):
                if is_file(self._runtime.home.system.doors):
                    self._llm_proxy().close(received.header.sender, token)
            case SettleProxyCosts(token=token):
                self._side.start(self._settle_proxy(received, token))
            case RaiseBudget() | SetBudgetMessage() | ResetBudget() | AskBudgets() as order:
                self._side.start(self._mind_budgets(received, order))
            case other:
                self._runtime.log.warning("not for the broker", type=type(other).__name__)

    async def _mind_budgets(self, received: Received, order: Order) -> None:
        """Tell of budgets, or let one be another; it is on disk before the answer goes."""
        answer = minded(order, self._calls)
        await self._ledger.kept()
        await self._reply(received, answer)

    def _usage(self, asked: AskUsage) -> UsageTable:
        """Return what was spent; of an agent's run only what is its own."""
        run, agent = asked.run_id, asked.agent
        by_entity = self._ledger.by_entity(run, agent)
        rows = self._ledger.rows(asked.by, run, agent) if asked.by else ()
        budgets_run = "" if agent and not self._accounts.has_run(agent, run) else run
        budgets = tuple(self._calls.budgets_about(asked.budgets_of or agent, budgets_run))
        total = sum(by_entity.values(), Usage())
        return UsageTable(by_entity=by_entity, total=total, rows=rows, budgets=budgets)

    def _checked(self, model: str) -> Ok | RefusedReply:
        try:
            self._services.check(model)
        except InvalidInput as error:
            return RefusedReply(reason=str(error), kind=type(error).__name__)
        return Ok()

    # --- the LLM proxy ---------------------------------------------------------------------------

    def _llm_proxy(self) -> "LlmProxy":
        if self._proxy is None:
            # Here: a home without external agents does not import it.
            from actors.broker.llm_proxy.proxy import LlmProxy

            self._proxy = LlmProxy(
                self._runtime, self._services, self._calls, self._accounts, self._report
            )
        return self._proxy

    async def _listen_again(self) -> None:
        """Listen at once if grants are open since before a restart: their agents try again."""
        try:
            await self._llm_proxy().listen_again()
        except Refused as error:
            self._runtime.log.error("the LLM proxy cannot listen again", reason=str(error))

    async def _open_proxy(self, received: Received, asked: OpenProxy) -> None:
        header = received.header
        try:
            opened: Body = await self._llm_proxy().open(
                header.sender, header.incarnation, header.id, asked
            )
        except Refused as error:
            opened = RefusedReply(reason=str(error), kind=type(error).__name__)
        await self._reply(received, opened)

    async def _settle_proxy(self, received: Received, token: str) -> None:
        usage, calls = await self._llm_proxy().settle(received.header.sender, token)
        await self._reply(received, ProxyCostsSettled(usage=usage, calls=calls))

    # --- calls -----------------------------------------------------------------------------------

    def _take_call(self, received: Received, call: CallModel) -> None:
        try:
            turns = self._unpacker.unpack(call.turns)
        except ValidationError as error:
            failed = ModelFailed(kind="bad_request", message=f"a turn cannot be read: {error}")
            self._side.start(self._reply(received, failed))
            return
        request = call.request.model_copy(update={"turns": (*call.request.turns, *turns)})
        self._call(received, request, _digest(call))

    def _call(self, received: Received, request: ModelRequest, digest: bytes) -> None:
        key = (received.header.sender, received.header.id)
        remembered = self._answers.get(key)
        if remembered is not None and remembered[0] == digest:
            self._side.start(self._reply(received, remembered[1]))
            return
        running = self._in_flight.get(key)
        if running is not None and running.can_answer(digest):
            running.asked = received
            self._keep(running)
            return
        if running is not None:
            running.task.cancel()
        call = ModelCallInFlight(received, digest)
        self._in_flight[key] = call
        call.task = self._side.start(self._run(key, call, request))
        # A callback: a task that is cancelled before its first step never gets to a `finally`.
        call.task.add_done_callback(lambda task: self._forget(key, call))

    def _forget(self, key: Key, call: ModelCallInFlight) -> None:
        self._keep(call)
        if self._in_flight.get(key) is call:
            del self._in_flight[key]

    def _cancel(self, received: Received, id: bytes) -> None:
        call = self._in_flight.get((received.header.sender, id))
        if call is not None:
            call.task.cancel()

    async def _run(self, key: Key, call: ModelCallInFlight, request: ModelRequest) -> None:
        deltas = DeltaBuffer(lambda delta: self._post_delta(key[1], call, delta, request.entity))
        try:
            answer = await self._answer(request, deltas)
        finally:
            deltas.flush()
        if isinstance(answer, ModelAnswer):
            self._remember(key, call.digest, answer)
        await self._reply(call.asked, answer)

    async def _answer(
        self, request: ModelRequest, deltas: DeltaBuffer
    ) -> ModelAnswer | ModelFailed:
        try:
            request = self._accounts.billed(request)
            response = await self._calls.answer(
                request,
                deltas.add,
                lambda retry: self._note_retry(request, retry, deltas),
                lambda handed: self._note_handed_on(request, handed, deltas),
            )
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
            # One call that goes wrong in an unforeseen way must not end all the others.
            self._runtime.log.exception("a model call crashed", model=request.model)
            return ModelFailed(kind="internal", message=f"{type(error).__name__}: {error}")
        return ModelAnswer(response=response)

    def _remember(self, key: Key, digest: bytes, answer: ModelAnswer) -> None:
        self._answers[key] = (digest, answer)
        while len(self._answers) > REMEMBERED_ANSWERS:
            self._answers.popitem(last=False)

    def _post_delta(
        self, id: bytes, call: ModelCallInFlight, delta: TextDelta, entity: str
    ) -> None:
        body = ModelDelta(call=id, text=delta.text, restarted=delta.restarted)
        self._runtime.post(call.asked.header.sender, body)
        heard = StreamDelta(entity=entity, call=id, text=delta.text, restarted=delta.restarted)
        self._let_hear(heard)

    def _let_hear(self, heard: StreamDelta) -> None:
        """Pass on what an entity says to the consoles that listen."""
        now = self._runtime.clock.monotonic()
        for console in self._listeners.of(agent_of(heard.entity), now):
            self._runtime.post(console, heard)

    def _note_retry(self, request: ModelRequest, retry: RetryPlanned, deltas: DeltaBuffer) -> None:
        deltas.restart()
        self._runtime.log.warning(
            "model call failed, trying again",
            model=request.model,
            entity=request.entity,
            kind=retry.kind,
            attempt=retry.attempt,
            wait_seconds=round(retry.wait_seconds, 2),
        )
        self._report(request, "model.retry", retry.event_data(request.model))

    def _note_handed_on(
        self, request: ModelRequest, handed: FallbackStarted, deltas: DeltaBuffer
    ) -> None:
        deltas.restart()
        data = handed.event_data()
        self._runtime.log.warning("another model is called", entity=request.entity, **data)
        self._report(request, "model.fallback", data)

    def _report(self, request: ModelRequest, kind: str, data: JsonObject) -> None:
        """Report an event of the agent whose entity asks."""
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

    # --- askers come and go ----------------------------------------------------------------------

    def _peer_down(self, address: str, incarnation: int) -> None:
        """Give the calls of a peer that went away some time for its next incarnation to ask.

        Its outside agent went with it: its door is closed.
        """
        if self._proxy is not None:
            self._proxy.close(address, up_to=incarnation)
        for call in self._in_flight.values():
            header = call.asked.header
            if (header.sender, header.incarnation) == (address, incarnation):
                self._keep(call)
                loop = asyncio.get_running_loop()
                call.orphaned = loop.call_later(ORPHAN_SECONDS, call.task.cancel)

    def _keep(self, call: ModelCallInFlight) -> None:
        if call.orphaned is not None:
            call.orphaned.cancel()
            call.orphaned = None

    async def _reply(self, received: Received, body: Body) -> None:
        try:
            await self._runtime.reply(received, body)
        except TransportError as error:
            # The asker asks again when it is back, and finds the answer remembered.
            self._runtime.log.warning("an answer did not go out", reason=str(error))


def _digest(call: CallModel) -> bytes:
    """Return what tells one question from another, without keeping its long transcript.

    The turns' own hash is known already from looking them up, however long they are.
    """
    turns = hash(call.turns).to_bytes(8, signed=True)
    seed = call.request.model_dump_json().encode() + turns
    return hashlib.blake2b(seed, digest_size=16).digest()
