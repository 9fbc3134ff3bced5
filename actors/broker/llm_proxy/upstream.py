"""UpstreamServices: the services to which an agent's own requests can be handed on as they are."""

import asyncio
import json
from collections import defaultdict
from typing import TYPE_CHECKING

from actors.broker.llm_proxy.request import ProxyRequest
from actors.broker.provider_pool import ProviderPool
from agiraph.core.turns import JsonObject
from agiraph.llm.providers.forwarding import ForwardingService
from agiraph.llm.proxy.format import TokenCounter
from agiraph.llm.registry import ModelName
from agiraph.logs.log import Logger

if TYPE_CHECKING:
    from httpx2 import Response

COUNT_SECONDS = 10.0


class UpstreamServices:
    """The services by name and format, connected when first needed."""

    def __init__(self, services: ProviderPool, timeout_seconds: float, log: Logger) -> None:
        """Connect to the places, and with the keys, that `services` knows."""
        self._services = services
        self._log = log
        self._timeout_seconds = timeout_seconds
        self._open: dict[tuple[str, str], ForwardingService] = {}
        self._opening: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def speaking(self, name: ModelName, api: str) -> ForwardingService | None:
        """Return the service of a model if it speaks `api`, else None; ProviderError: no key."""
        if name.in_text or self._services.presets[name.provider].of(name.name).api != api:
            return None
        place = name.provider, api
        async with self._opening[place]:
            if place not in self._open:
                url, key = self._services.place(name.provider)
                self._open[place] = await asyncio.to_thread(
                    ForwardingService,
                    name.provider,
                    api=api,
                    base_url=url,
                    key=key,
                    timeout_seconds=self._timeout_seconds,
                )
            return self._open[place]

    async def counted(
        self, counting: TokenCounter, name: ModelName, body: JsonObject, visit: ProxyRequest
    ) -> int | None:
        """Return what the model's service counts of a request; None if it does not."""
        counted: list[int] = []

        async def take(response: "Response") -> None:
            counted.append(counting.counted(json.loads(await response.aread())))

        try:
            service = await self.speaking(name, counting.api)
            if service is not None:
                async with asyncio.timeout(COUNT_SECONDS):
                    path, sent = counting.path(name.name), counting.asked(body, name.name)
                    await service.send(path, sent, visit.headers, take)
        except Exception as error:  # a count is a help: without it there is a guess
            self._log.debug("tokens are guessed", reason=str(error))
        return counted[0] if counted else None

    async def close(self) -> None:
        """Let all connections go."""
        for service in self._open.values():
            await service.close()
