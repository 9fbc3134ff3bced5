"""ProxyCall: one model call of an outside agent, from its request's body to its answer's last byte.

It goes the way of every call. Where the service speaks the agent's format the body is handed on;
else the canonical request is made of it, and the answer told as it comes in. A call that breaks off
after the agent has some of its answer is not tried again here: what was sent cannot be taken back,
and the agent sees that it is not whole.
"""

import asyncio
from collections.abc import Callable

from actors.broker.calls import FallbackStarted, ModelCalls, RetryPlanned
from actors.broker.llm_proxy.request import ProxyAnswerBroken, ProxyRequest
from actors.broker.llm_proxy.upstream import UpstreamServices
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.llm.base import Provider, ProviderError
from agiraph.llm.providers.forwarding import AnswerSinkClosed, ForwardingProvider
from agiraph.llm.proxy.format import AnswerWriter, ProxyFailure
from agiraph.llm.registry import ModelName
from agiraph.logs.log import Logger

Report = Callable[[ModelRequest, str, JsonObject], None]
OnFailure = Callable[[str, ProviderError], None]
STREAM_HEAD = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class ProxyCall:
    """One call; `run` it once."""

    def __init__(
        self,
        *,
        calls: ModelCalls,
        upstream: UpstreamServices,
        request: ModelRequest,
        body: JsonObject,
        visit: ProxyRequest,
        report: Report,
        on_failure: OnFailure,
        log: Logger,
    ) -> None:
        """Answer `request`, which was made of `body`, to `visit`; tell `on_failure` of its end."""
        self._calls = calls
        self._upstream = upstream
        self._wire = visit.wire
        self._request = request
        self._body = body
        self._headers = visit.headers
        self._query = f"?{visit.query_handed_on}" if visit.query_handed_on else ""
        self._reply = visit.reply
        self._report = report
        self._on_failure = on_failure
        self._log = log
        self._is_handed_on = False
        self._telling: AnswerWriter | None = None
        self._told: asyncio.Queue[bytes | None] = asyncio.Queue()

    @property
    def _is_streamed(self) -> bool:
        return self._body.get("stream") is True

    async def run(self) -> None:
        """Answer; raises ProxyAnswerBroken if the answer could not be brought to its end."""
        telling = asyncio.create_task(self._tell())
        try:
            try:
                response = await self._answered()
            except AnswerSinkClosed:
                raise
            except Exception as error:
                await self._drained(telling)
                await self._failed(error)
                return
            if self._is_handed_on:
                await self._reply.end()
                return
            if not self._is_streamed:
                await self._reply.whole(200, self._wire.whole(self._body, response))
                return
            self._told.put_nowait(self._teller().end(response))
            await self._drained(telling)
            await self._reply.end()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _answered(self) -> ModelResponse:
        return await self._calls.answer(
            self._request, self._heard, self._retried, self._followed, via=self._via
        )

    # --- ways ------------------------------------------------------------------------------------

    async def _via(self, name: ModelName) -> Provider | None:
        """Return the service itself if it speaks the agent's format, None to ask it in ours.

        Refused if only the service could answer, and this one speaks another format.
        """
        self._is_handed_on = False
        service = await self._upstream.speaking(name, self._wire.api)
        if service is None:
            if problem := self._wire.untranslatable(self._body):
                raise InvalidInput(problem)
            return None
        self._is_handed_on = True
        asked = self._request.max_tokens
        return ForwardingProvider(
            service,
            path=self._wire.path(self._body, name.name) + self._query,
            headers=self._headers,
            body=lambda request: self._wire.handed_on(
                self._body, name.name, request.max_tokens if request.max_tokens != asked else None
            ),
            hearing=lambda: self._wire.hearing(self._body),
            whole_events=self._wire.whole_events,
            shown=lambda event: self._wire.is_shown(self._body, event.data),
            sink=self._reply,
        )

    def _heard(self, text: str) -> None:
        if not self._is_handed_on and self._is_streamed:
            self._told.put_nowait(self._teller().text(text))

    def _teller(self) -> AnswerWriter:
        if self._telling is None:
            self._telling = self._wire.telling(self._body, self._request.model)
        return self._telling

    def _retried(self, retry: RetryPlanned) -> None:
        self._report(
            self._request,
            "model.retry",
            {
                "model": self._request.model,
                "attempt": retry.attempt,
                "kind": retry.kind,
                "message": retry.message,
                "wait_seconds": round(retry.wait_seconds, 3),
            },
        )
        self._begins_anew(retry.message)

    def _followed(self, handed: FallbackStarted) -> None:
        told = {"model": handed.model, "to": handed.to, "kind": handed.kind}
        self._report(self._request, "model.fallback", told | {"message": handed.message})
        self._begins_anew(handed.message)

    def _begins_anew(self, why: str) -> None:
        """Go on with another attempt, if the agent has nothing of the last one yet."""
        if self._reply.has_begun or self._telling is not None:
            raise ProxyAnswerBroken(why)

    # --- telling ---------------------------------------------------------------------------------

    async def _tell(self) -> None:
        """Send what was heard, as fast as it is taken."""
        while (piece := await self._told.get()) is not None:
            if not self._reply.has_begun:
                await self._reply.begin(200, STREAM_HEAD)
            await self._reply.write(piece)

    async def _drained(self, telling: "asyncio.Task[None]") -> None:
        self._told.put_nowait(None)
        await telling

    async def _failed(self, error: Exception) -> None:
        failure = self._failure(error)
        if not self._reply.has_begun:
            await self._reply.failure(failure)
            return
        if not self._can_tell_breaks:
            raise ProxyAnswerBroken(str(error)) from error
        await self._reply.write(self._teller().failed(failure))
        await self._reply.end()

    @property
    def _can_tell_breaks(self) -> bool:
        """Whether an answer that has begun can end with an error."""
        if self._is_handed_on:
            return self._is_streamed and self._wire.tells_breaks
        return self._telling is not None

    def _failure(self, error: Exception) -> ProxyFailure:
        request = self._request
        match error:
            case ProviderError():
                failed = {"model": request.model, "kind": error.kind, "message": str(error)}
                self._report(request, "model.failed", failed)
                self._on_failure(request.entity, error)
                return self._wire.failure(error.kind, str(error), retry_after=error.retry_after)
            case Refused():
                return self._wire.failure("bad_request", str(error))
            case ProxyAnswerBroken():
                return self._wire.failure("overloaded", f"the answer broke off: {error}")
            case _:
                # One call that goes wrong in an unforeseen way must not end all the others.
                self._log.error("a call at the door crashed", model=request.model, exc_info=error)
                return self._wire.failure("internal", f"{type(error).__name__}: {error}")
