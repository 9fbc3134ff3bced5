"""LlmProxy: keeps the open doors and the calls that go through them; listens once one
was opened."""

import asyncio
import importlib
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from actors.broker.agent_budgets import AgentBudgets
from actors.broker.calls import ModelCalls
from actors.broker.llm_proxy.auth import ProxyAuth, ProxyHandler
from actors.broker.llm_proxy.call import OnFailure, ProxyCall, Report
from actors.broker.llm_proxy.grant_table import ProxyGrantTable, digest_of
from actors.broker.llm_proxy.request import ProxyRequest
from actors.broker.llm_proxy.upstream import UpstreamServices
from actors.broker.provider_pool import ProviderPool
from agiraph.core.clock import Clock
from agiraph.core.config import Config
from agiraph.core.errors import Refused
from agiraph.core.ids import agent_of
from agiraph.core.money import Shortage, nearly_spent
from agiraph.core.turns import JsonObject, ModelRequest, Usage
from agiraph.llm.prices import guess_input_tokens
from agiraph.llm.proxy.format import ProxyFormat, TokenCounter, asked_model
from agiraph.llm.proxy.grants import ProxyGrant, model_for
from agiraph.logs.log import Logger
from agiraph.messages import OpenProxy, ProxyOpened

if TYPE_CHECKING:
    from actors.broker.llm_proxy.server import ProxyServer

OnLow = Callable[[str, Shortage], None]
SERVER = "actors.broker.llm_proxy.server"


class LlmProxy(ProxyHandler):
    """The broker's door."""

    def __init__(
        self,
        config: Config,
        services: ProviderPool,
        calls: ModelCalls,
        accounts: AgentBudgets,
        table: ProxyGrantTable,
        report: Report,
        on_failure: OnFailure,
        on_low: OnLow,
        clock: Clock,
        log: Logger,
    ) -> None:
        """Let in whom `table` knows; make their calls with `calls`, on the terms of `accounts`."""
        self._config = config.door
        self._services = services
        self._calls = calls
        self._accounts = accounts
        self._table = table
        self._report = report
        self._on_failure = on_failure
        self._on_low = on_low
        self._clock = clock
        self._log = log
        if table.problem:
            log.error("all doors are closed: their table cannot be read", reason=table.problem)
        self._upstream = UpstreamServices(services, config.broker.timeout_seconds, log)
        self._server: ProxyServer | None = None
        self._starting = asyncio.Lock()
        self._under_way: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._told_low: set[str] = set()

    async def listen_again(self) -> None:
        """Listen if doors are open since an earlier life of this process; Refused."""
        if not self._table.is_empty:
            await self.listen()

    # --- opening and closing ---------------------------------------------------------------------

    async def open(
        self, entity: str, incarnation: int, message: bytes, asked: OpenProxy
    ) -> ProxyOpened:
        """Open a door for an entity.

        Refused if its model cannot be called, its run is not its agent's, or nothing listens.
        """
        if not self._accounts.has_run(agent_of(entity) or "", asked.run_id):
            raise Refused(f"run '{asked.run_id}' is none of {entity}'s agent")
        if asked.bounds.usd is not None:
            self._refuse_without_price(asked.model)
        grant = ProxyGrant(
            entity=entity,
            incarnation=incarnation,
            opened_by=message.hex(),
            run_id=asked.run_id,
            node_id=asked.node_id,
            model=str(self._services.check(asked.model)),
            models=tuple(str(self._services.check(model)) for model in asked.models),
            trigger=asked.trigger,
            attempt=asked.attempt,
            bounds=asked.bounds,
            opened_at=self._clock.now(),
        )
        server = await self.listen()
        token, replaced = self._table.open(grant)
        self._cut_off(replaced)
        return ProxyOpened(url=f"http://127.0.0.1:{server.port}", token=token, model=grant.model)

    def _refuse_without_price(self, model: str) -> None:
        if self._calls.price(self._services.check(model)) is None:
            raise Refused(
                f"the price of {model} is not known, so the node's bound in dollars cannot be "
                "kept: add the price to prices.yaml in the home, or set no such bound"
            )

    def close(self, entity: str, token: str = "") -> None:
        """Close an entity's door and end what is under way through it."""
        self._cut_off(self._table.close(entity, token=token))

    async def settle(self, entity: str, token: str) -> tuple[Usage, int]:
        """Close an entity's door; return what its calls have taken, and how many were paid for.

        Asked again it says the same, also in a later life of this process.
        """
        digest = digest_of(token)
        ending = list(self._under_way.get(digest, ()))
        self.close(entity, token)
        if ending:
            await asyncio.wait(ending)  # what they have taken so far is written down as they end
        return self._calls.through_door(entity, digest)

    def gone(self, entity: str, incarnation: int) -> None:
        """Close the door that this process or an earlier one of its address had opened."""
        self._cut_off(self._table.close(entity, up_to=incarnation))

    def _cut_off(self, digests: list[str]) -> None:
        for digest in digests:
            self._told_low.discard(digest)
            for task in self._under_way.pop(digest, ()):
                task.cancel()

    async def listen(self) -> "ProxyServer":
        """Listen, where it was before if that can be; Refused."""
        async with self._starting:
            if self._server is None:
                # In a thread: it takes a tenth of a second, and heartbeats must go on.
                module = await asyncio.to_thread(importlib.import_module, SERVER)
                gate = ProxyAuth(
                    self,
                    body_bytes=self._config.body_bytes,
                    stall_seconds=self._config.stall_seconds,
                )
                listener = module.bind(self._table.port)
                server: ProxyServer = module.ProxyServer(gate, listener, self._config.connections)
                await server.start()
                self._table.listens(server.port)
                self._server = server
                self._log.note("the door listens", port=server.port)
            return self._server

    async def stop(self) -> None:
        """Stop listening; the doors stay open for the next incarnation."""
        if self._server is not None:
            await self._server.stop()
        await self._upstream.close()

    # --- behind the gate -------------------------------------------------------------------------

    def hosts(self) -> frozenset[str]:
        """Return what the door is called by those who may come in."""
        port = self._server.port if self._server is not None else 0
        return frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    def grant(self, token: str) -> ProxyGrant | None:
        """Return what a token opens."""
        return self._table.grant(token)

    async def count(
        self, counting: TokenCounter, visit: ProxyRequest, grant: ProxyGrant, body: JsonObject
    ) -> int:
        """Return how many tokens of input a request has: what the service says, or a guess."""
        request = self._request(visit.wire, grant, body)
        name = self._services.name(request.model)
        counted = await self._upstream.counted(counting, name, body, visit)
        return guess_input_tokens(request) if counted is None else counted

    async def call(self, visit: ProxyRequest, grant: ProxyGrant, body: JsonObject) -> None:
        """Answer a model call; InvalidInput if it is none or its model was not granted."""
        wire = visit.wire
        digest = digest_of(visit.token)
        if len(self._under_way[digest]) >= self._config.calls_at_once:
            said = (
                f"{grant.entity} has {self._config.calls_at_once} calls open (door.calls_at_once)"
            )
            await visit.reply.failure(wire.failure("rate_limited", said, retry_after=1))
            return
        request = self._accounts.billed(self._request(wire, grant, body))
        own = {"door": digest, "budgets": (*request.budgets, grant.budget)}
        request = request.model_copy(update=own)
        exchange = ProxyCall(
            calls=self._calls,
            upstream=self._upstream,
            request=request,
            body=body,
            visit=visit,
            report=self._report,
            on_failure=self._on_failure,
            log=self._log,
        )
        running = asyncio.create_task(exchange.run())
        hung_up = asyncio.create_task(visit.until_gone())
        self._under_way[digest].add(running)
        try:
            await asyncio.wait([running, hung_up], return_when=asyncio.FIRST_COMPLETED)
            was_cut = self._table.grant(visit.token) is None
            if running.done() and not running.cancelled():
                running.result()
            elif was_cut and not visit.reply.has_begun:
                await visit.reply.failure(wire.denied(401, "this door was closed"))
        finally:
            self._under_way[digest].discard(running)
            if not self._under_way[digest]:
                del self._under_way[digest]
            for task in (running, hung_up):
                task.cancel()
            await asyncio.gather(running, hung_up, return_exceptions=True)
            self._tell_if_low(digest, grant)

    def _tell_if_low(self, digest: str, grant: ProxyGrant) -> None:
        """Tell the worker, once, that its agent is near a bound of its node."""
        shortage = nearly_spent(self._calls.limits.state(grant.budget))
        if shortage is not None and digest not in self._told_low:
            self._told_low.add(digest)
            self._on_low(grant.entity, shortage)

    def _request(self, wire: ProxyFormat, grant: ProxyGrant, body: JsonObject) -> ModelRequest:
        model = model_for(asked_model(body), grant, self._services.presets)
        return wire.read(body, grant, model)
