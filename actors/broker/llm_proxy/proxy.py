"""LlmProxy: the grants of external agents and the calls made with them."""

import asyncio
import importlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from actors.broker.call_quarantine import CallQuarantine
from actors.broker.calls import ModelCalls
from actors.broker.llm_proxy.call import (
    ProxyAnswerBroken,
    ProxyCall,
    ProxyReply,
    ProxyRequest,
    Report,
    Send,
)
from actors.broker.llm_proxy.grant_table import ProxyGrant, ProxyGrantTable, digest_of, model_for
from actors.runtime.runtime import Runtime
from agiraph.core.errors import Refused
from agiraph.core.ids import agent_of
from agiraph.core.money import nearly_spent
from agiraph.core.turns import ModelRequest, Usage
from agiraph.foreign.http import read_json
from agiraph.llm.base import ProviderError
from agiraph.llm.provider_pool import ProviderPool
from agiraph.llm.providers.forwarding import format_headers
from agiraph.llm.request_body_cache import as_json
from agiraph.llm.token_counts import IMPOSSIBLE, guess_input_tokens, token_count
from agiraph.llm.wire.format import readable
from agiraph.messages.llm_proxy import OpenProxy, ProxyBudgetLow, ProxyCallFailed, ProxyOpened
from agiraph.spending.agent_budgets import AgentBudgets

if TYPE_CHECKING:
    from actors.runtime.http_server import HttpServer

APP = "actors.broker.llm_proxy.app"
HOST = "127.0.0.1"
COUNT_SECONDS = 10.0
JUDGED_AT_ONCE_BYTES = 16_384

T = TypeVar("T")


class LlmProxy:
    """The LLM proxy of the broker: opens grants, and makes the calls of external agents."""

    def __init__(
        self,
        runtime: Runtime,
        services: ProviderPool,
        calls: ModelCalls,
        quarantine: CallQuarantine,
        accounts: AgentBudgets,
        report: Report,
    ) -> None:
        self._config = runtime.config.door
        self._runtime = runtime
        self._services = services
        self._calls = calls
        self._quarantine = quarantine
        self._accounts = accounts
        self._table = ProxyGrantTable(runtime.home.system.doors)
        self._report = report
        self._log = runtime.log
        if self._table.problem:
            reason = self._table.problem
            self._log.error("all grants are void: their table cannot be read", reason=reason)
        self._server: HttpServer | None = None
        self._starting = asyncio.Lock()
        self._judging = ThreadPoolExecutor(1, "proxy-bodies")
        self._running: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._reported_low: set[str] = set()

    # --- opening and closing ---------------------------------------------------------------------

    async def open(
        self, entity: str, incarnation: int, message: bytes, asked: OpenProxy
    ) -> ProxyOpened:
        """Open a grant for an external agent; return its URL and token.

        Raises Refused if its model cannot be called, its run belongs to another agent, or the proxy
        cannot listen.
        """
        if not self._accounts.has_run(agent_of(entity) or "", asked.run_id):
            raise Refused(f"run '{asked.run_id}' is none of {entity}'s agent")
        if asked.bounds.usd is not None:
            self._refuse_without_price(asked.model)
        grant = ProxyGrant(
            **asked.model_dump(exclude={"model", "models"}),
            entity=entity,
            incarnation=incarnation,
            opened_by=message.hex(),
            model=str(self._services.check(asked.model)),
            models=tuple(str(self._services.check(model)) for model in asked.models),
            opened_at=self._runtime.clock.now(),
        )
        await self.listen()
        token, replaced = self._table.open(grant)
        self._cut_off(replaced)
        url = f"http://{HOST}:{self._table.port}"
        return ProxyOpened(url=url, token=token, model=grant.model)

    def _refuse_without_price(self, model: str) -> None:
        if self._calls.price(self._services.check(model)) is None:
            raise Refused(
                f"the price of {model} is not known, so the node's bound in dollars cannot be "
                "kept: add the price to prices.yaml in the home, or set no such bound"
            )

    def close(self, entity: str, token: str = "", *, up_to: int | None = None) -> None:
        """Close an entity's grant and cancel the calls made with it.

        With `up_to`, only a grant that was opened by that incarnation or an earlier one.
        """
        self._cut_off(self._table.close(entity, token=token, up_to=up_to))

    async def settle(self, entity: str, token: str) -> tuple[Usage, int]:
        """Close an entity's grant; return the usage of its calls and the number of billed calls.

        Calling it again returns the same values, also after a restart of this process.
        """
        digest = digest_of(token)
        ending = list(self._running.get(digest, ()))
        self.close(entity, token)
        if ending:
            await asyncio.wait(ending)  # their usage so far is recorded when they end
        return self._calls.ledger.usage_of_grant(entity, digest)

    def _cut_off(self, digests: list[str]) -> None:
        for digest in digests:
            self._reported_low.discard(digest)
            for task in self._running.pop(digest, ()):
                task.cancel()

    async def listen_again(self) -> None:
        """Listen if grants are open since before a restart of this process. Raises Refused."""
        if not self._table.is_empty:
            await self.listen()

    async def listen(self) -> None:
        """Listen, on the same port as before if possible. Raises Refused."""
        async with self._starting:
            if self._server is None:
                # In a thread: the import takes a fifth of a second, and heartbeats must continue.
                app = await asyncio.to_thread(importlib.import_module, APP)
                self._server, port = app.start_server(self, self._config, self._table.port)
                self._table.set_port(port)
                self._log.note("the LLM proxy listens", port=port)

    async def stop(self) -> None:
        """Stop listening; the grants stay open for the next incarnation."""
        for digest in list(self._running):
            self._cut_off([digest])
        if self._server is not None:
            await self._server.stop()
        self._judging.shutdown(wait=False, cancel_futures=True)

    # --- requests --------------------------------------------------------------------------------

    def grant(self, token: str) -> ProxyGrant | None:
        """Return the grant of a token, None if the token has no open grant."""
        return self._table.grant(token)

    async def count(self, asked: ProxyRequest) -> int:
        """Return the number of input tokens of a request: the service's count, or an estimate.

        Raises InvalidInput for a request that would not be forwarded as a call either.
        """
        wire = asked.wire

        def checked() -> tuple[ProxyRequest, ModelRequest]:
            # A count is free and runs no tool, so the tools of the service are counted.
            return _checked(asked, wire.rules.all_service_tools(asked.body))

        asked, request = await self.aside(asked.size, checked)
        request = self._own(asked, request)
        name = self._services.name(request.model)
        try:
            service = await self._services.native_service(name, wire.api)
            if service is not None:
                body = as_json(wire.count_request(asked.body, name.name))
                headers = format_headers(asked.headers)
                path = wire.count_path(name.name)
                async with (
                    asyncio.timeout(COUNT_SECONDS),
                    service.post(path, body, headers) as response,
                ):
                    counted = token_count(read_json(await response.aread())[wire.count_field])
                    if 0 < counted < IMPOSSIBLE:
                        return counted
        except Exception as error:  # a count is optional: an estimate replaces it
            self._log.debug("tokens are estimated", reason=str(error))
        return guess_input_tokens(request)

    async def call(
        self, asked: ProxyRequest, send: Send, disconnected: Callable[[], Awaitable[None]]
    ) -> None:
        """Answer a model call until it ends, its agent disconnects, or its grant is closed.

        Raises InvalidInput if the request is not a valid call, or its model was not granted.
        """
        reply = ProxyReply(send)
        grant, digest = asked.grant, digest_of(asked.token)
        most = self._config.calls_at_once
        if len(self._running[digest]) >= most:
            text = f"{grant.entity} has {most} calls open (door.calls_at_once)"
            await reply.send_error(asked.wire.error("rate_limited", text, retry_after=1))
            return
        allowed = self._config.service_tools
        asked, request = await self.aside(asked.size, partial(_checked, asked, allowed))
        request = self._accounts.billed(self._own(asked, request))
        own = {"door": digest, "budgets": (*request.budgets, grant.budget)}
        call = ProxyCall(
            asked=asked,
            request=request.model_copy(update=own),
            reply=reply,
            calls=self._calls,
            quarantine=self._quarantine,
            services=self._services,
            report=self._report,
            on_failure=self._on_failure,
            log=self._log,
        )
        running = asyncio.create_task(call.run())
        leaving = asyncio.ensure_future(disconnected())
        self._running[digest].add(running)
        try:
            await asyncio.wait([running, leaving], return_when=asyncio.FIRST_COMPLETED)
            if running.done() and not running.cancelled():
                self._check_complete(running)
            elif self.grant(asked.token) is None and not reply.has_begun:
                await reply.send_error(asked.wire.refusal(401, "this grant was closed"))
        finally:
            self._running[digest].discard(running)
            if not self._running[digest]:
                del self._running[digest]
            for task in (running, leaving):
                task.cancel()
            await asyncio.gather(running, leaving, return_exceptions=True)
            self._report_if_low(digest, grant)

    def _on_failure(self, entity: str, error: ProviderError) -> None:
        failed = ProxyCallFailed(kind=error.kind, message=str(error), shortage=error.shortage)
        self._runtime.post(entity, failed)

    def _check_complete(self, call: "asyncio.Task[None]") -> None:
        """Raise the exception of a call; for an incomplete answer only the connection is closed."""
        try:
            call.result()
        except ProxyAnswerBroken as broken:
            self._log.debug("an answer is incomplete", reason=str(broken))

    def _report_if_low(self, digest: str, grant: ProxyGrant) -> None:
        """Notify the worker, once, that its agent is near a limit of its node."""
        shortage = nearly_spent(self._calls.limits.state(grant.budget))
        if shortage is not None and digest not in self._reported_low:
            self._reported_low.add(digest)
            self._runtime.post(grant.entity, ProxyBudgetLow(shortage=shortage))

    async def aside(self, size: int, judge: Callable[[], T]) -> T:
        """Return the result of a pure function that checks a body of `size` bytes.

        Large bodies are checked in a thread, one after the other, so that other calls continue.
        """
        if size <= JUDGED_AT_ONCE_BYTES:
            return judge()
        return await asyncio.get_running_loop().run_in_executor(self._judging, judge)

    def _own(self, asked: ProxyRequest, request: ModelRequest) -> ModelRequest:
        """Return the canonical request with the grant's model, run and budget.

        Raises InvalidInput.
        """
        grant = asked.grant
        own = grant.model_dump(include={"entity", "run_id", "node_id", "trigger", "attempt"})
        model = model_for(request.model, grant, self._services.presets)
        longest = asked.wire.rules.limit(asked.body) or self._services.longest_answer(model)
        return request.model_copy(update={**own, "model": model, "max_tokens": longest})


def _checked(
    asked: ProxyRequest, service_tools: Collection[str]
) -> tuple[ProxyRequest, ModelRequest]:
    """Return a request with its checked body, and the canonical request. Raises InvalidInput."""
    with readable():
        body = asked.wire.rules.checked(asked.body, service_tools)
        return replace(asked, body=body), asked.wire.parse_request(body)
