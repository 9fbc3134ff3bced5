"""Stubs of the broker's tests for services and for the clock."""

import asyncio
from collections.abc import Awaitable, Callable

from agiraph.core.turns import ModelRequest, ModelResponse, Usage
from agiraph.llm.base import OnAnswer, OnText, Provider, unmetered
from agiraph.llm.provider_pool import ProviderPool
from agiraph.models.prices import Price
from agiraph.models.registry import ModelName, load_presets
from agiraph.settings.config import Config, load_config

PRICE = Price(input=1, output=10)
MODEL = "anthropic/stub"
Behaviour = Callable[[ModelRequest, OnText], Awaitable[ModelResponse]]


def quick_config(**broker: float) -> Config:
    """Return the defaults with a broker that does not wait long."""
    config = load_config()
    quick = {"first_delay_seconds": 0.001, "max_delay_seconds": 0.01, "breaker_seconds": 0.01}
    values = quick | broker
    return config.model_copy(update={"broker": config.broker.model_copy(update=values)})


def answer(text: str = "fine", **usage: int) -> ModelResponse:
    """Return an answer with some usage."""
    counts = {"input_tokens": 100, "output_tokens": 10} | usage
    return ModelResponse(text=text, model=MODEL, usage=Usage(**counts))


class StubProvider:
    """A provider that behaves as the test says, call after call; the last behaviour stays."""

    def __init__(self, *behaviours: Behaviour | ModelResponse | Exception) -> None:
        """Behave like these, in turn."""
        self.behaviours = list(behaviours)
        self.requests: list[ModelRequest] = []
        self.cancelled = asyncio.Event()
        self.is_closed = False

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Do the next thing."""
        self.requests.append(request)
        one = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        if isinstance(one, Exception):
            raise one
        if isinstance(one, ModelResponse):
            on_text(one.text or "")
            return one
        try:
            return await one(request, on_text)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def close(self) -> None:
        """Note it."""
        self.is_closed = True


class StubServices(ProviderPool):
    """Services with the same stub as every provider."""

    def __init__(self, config: Config, stub: StubProvider, environ: dict[str, str] | None = None):
        """Serve `stub` under every name."""
        super().__init__(config, load_presets(), {}, environ or {"ANTHROPIC_API_KEY": "k"})
        self.stub = stub

    async def _service(self, name: ModelName) -> Provider:
        """Return the stub."""
        self._open[name.provider, "stub"] = self.stub
        return self.stub

    async def warm_up(self) -> None:
        """Import nothing."""
