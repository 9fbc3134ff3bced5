"""ModelCalls: one model call: chooses the model, applies the budgets, continues with a fallback.

If a model cannot answer, for a reason that may not affect another model, the next model of its
fallback chain is called (`agiraph.llm.fallback`), within the budgets and at its own price.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from actors.broker.call_recorder import CallRecorder
from actors.broker.call_retries import CallRetries, OnFailure
from actors.broker.provider_queue import ProviderQueue
from actors.broker.reservations import BudgetReservations
from agiraph.core.clock import Clock
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import AssistantTurn, ModelRequest, ModelResponse, Turn
from agiraph.llm.base import OnText, Provider, ProviderError
from agiraph.llm.fallback import ROLES, FallbackStarted, chain_of, is_handed_on
from agiraph.llm.provider_pool import ProviderPool
from agiraph.llm.providers.forwarding import ForwardingProvider
from agiraph.llm.token_counts import REAL_CHARACTERS_PER_TOKEN, guess_input_tokens, input_size
from agiraph.models.limits import SMALL_WINDOW
from agiraph.models.prices import FREE, Price, price_of
from agiraph.models.registry import ModelName
from agiraph.settings.config import Config
from agiraph.spending.ledger import UsageLedger

BY = "by"
STORED_TURNS = 4096
Via = Callable[[ModelName], Awaitable[Provider | None]]
"""Returns a forwarding provider for an external agent's request, None for the usual provider."""


class ModelCalls:
    """Makes calls through `services` and records their usage in `ledger`.

    Raises InvalidInput if `models.fallbacks` names a model that cannot be called.
    """

    def __init__(
        self,
        config: Config,
        services: ProviderPool,
        prices: Mapping[str, Price],
        ledger: UsageLedger,
        clock: Clock,
        recorder: CallRecorder | None = None,
    ) -> None:
        self._services = services
        self._prices = prices
        self._clock = clock
        self.ledger = ledger
        self.limits = ledger.limits(config.budgets, clock)
        self.budgets = BudgetReservations(self.limits.for_request)
        self.queues = defaultdict[str, ProviderQueue](lambda: ProviderQueue(config.broker, clock))
        self.attempts = CallRetries(config.broker, ledger, clock)
        self._fallbacks = _checked(config.models.fallbacks, services)
        self._context_tokens = config.models.context_tokens
        self._compact_at = config.models.compact_at
        self._private_data = ProviderPrivateData()
        self._recorder = recorder
        self._too_long: dict[tuple[str, str], int] = {}

    async def answer(
        self,
        request: ModelRequest,
        on_text: OnText,
        on_failure: OnFailure,
        *,
        via: Via | None = None,
    ) -> ModelResponse:
        """Return the answer to `request`.

        Raises ProviderError if no model of its chain can give one. `via` may return another
        provider of a model than the usual one.
        """
        asked = self._clock.now()
        try:
            response = await self._answer(request, on_text, on_failure, via)
        except ProviderError as error:
            if self._recorder is not None:
                self._recorder.failed(request, asked, error)
            raise
        if self._recorder is not None:
            self._recorder.answered(request, asked, response)
        return response

    async def _answer(
        self, request: ModelRequest, on_text: OnText, on_failure: OnFailure, via: Via | None
    ) -> ModelResponse:
        asked = self.named(request.model)
        name, *following = self._chain(asked, request)
        first: ProviderError | None = None
        while True:
            try:
                response = await self._answer_of(
                    name, request, on_text, on_failure, via, may_leave=bool(following)
                )
                await self.ledger.written()
                return self._finished(response, name, asked, first)
            except ProviderError as error:
                if error.kind == "context_too_long":
                    self._too_long[request.entity, str(name)] = guess_input_tokens(request)
                if first is not None and error.kind in ("out_of_budget", "bad_request"):
                    raise error  # not a failure of the service; it may concern the human
                advised = self._services.advised(name.provider, error)
                first = advised if first is None else _and_then(first, name, advised)
                window = self._services.window
                following = [
                    one for one in following if is_handed_on(error.kind, window(name), window(one))
                ]
                if not following:
                    raise first from None
                on_failure(FallbackStarted(str(name), str(following[0]), error.kind, str(error)))
                name, *following = following

    def named(self, model: str) -> ModelName:
        """Return the parsed name of `model`. Raises ProviderError if it is unknown."""
        try:
            return self._services.name(model)
        except InvalidInput as error:
            raise ProviderError("unknown_model", str(error)) from None

    def require_room(self, model: str, characters: int) -> None:
        """Raise InvalidInput for a goal that alone is longer than the context window of a model.

        The largest window of the model and its fallbacks counts: a call that is too long for the
        model continues with a fallback.
        """
        name = self._services.name(model)
        chain = (name, *map(self._services.name, chain_of(self._fallbacks, str(name), "")))
        window = self._context_tokens or max(map(self._services.window, chain))
        tokens = characters // REAL_CHARACTERS_PER_TOKEN
        # In a small window a goal that is compacted at once would lose its meaning.
        room = int(window * self._compact_at) if window <= SMALL_WINDOW else window
        if tokens > room:
            raise InvalidInput(
                f"the goal is too long for {name}: about {tokens:,} tokens, its window has "
                f"{window:,} (possible: a shorter goal with the text in the input folder, a model "
                "with a larger window, models.context_tokens if the window is larger than that)"
            )

    def price(self, name: ModelName) -> Price | None:
        """Return the price of a model, None if it is not known."""
        known = price_of(name.plain, self._prices)
        is_free = self._services.presets[name.provider].local
        return FREE if known is None and is_free else known

    def _chain(self, asked: ModelName, request: ModelRequest) -> list[ModelName]:
        """Return the models to call, in order, without the models whose windows are too small."""
        following = chain_of(self._fallbacks, str(asked), request.entity)
        chain = [asked, *(self.named(model) for model in following)]
        if not self._too_long or not following:
            return chain
        size, key = guess_input_tokens(request), request.entity
        too_small = [
            name for name in chain if size >= self._too_long.get((key, str(name)), size + 1)
        ]
        refused = max((self._services.window(name) for name in too_small), default=0)
        return [name for name in chain if self._services.window(name) > refused] or chain

    async def _answer_of(
        self,
        name: ModelName,
        request: ModelRequest,
        on_text: OnText,
        on_failure: OnFailure,
        via: Via | None,
        *,
        may_leave: bool,
    ) -> ModelResponse:
        """Return the answer of one model of the chain, within the budgets."""
        preset = self._services.presets[name.provider]
        longest = preset.answer_tokens(name.name, request.max_tokens)
        own = request.model_copy(update={"model": str(name), "max_tokens": longest})
        own = self._private_data.only(own, name)
        price = self.price(name)
        provider = None if via is None else await via(name)
        if provider is None:
            provider = await self._services.provider(name)
        size = provider.size if isinstance(provider, ForwardingProvider) else input_size(own)
        response = await self.attempts.until_answered(
            provider,
            self.queues[name.provider],
            own,
            size,
            price,
            lambda: self.budgets.reserved(own, size, price),
            on_text,
            on_failure,
            may_leave=may_leave,
        )
        return _marked(response, name)

    def _finished(
        self,
        response: ModelResponse,
        name: ModelName,
        asked: ModelName,
        first: ProviderError | None,
    ) -> ModelResponse:
        window = response.window or self._services.window(name)
        found = {"window": window, "model": response.model or str(name)}
        if name != asked:
            why = "it is too small for this conversation" if first is None else str(first)
            found |= {"model": str(name), "instead_of": str(asked), "why": why}
        return response.model_copy(update=found)


def _and_then(first: ProviderError, name: ModelName, error: ProviderError) -> ProviderError:
    """Return the first failure, with the failure of a fallback added to its text."""
    text = f"{first}; {name}: {error}"
    return ProviderError(first.kind, text, retry_after=first.retry_after)


def _checked(
    fallbacks: Mapping[str, Sequence[str]], services: ProviderPool
) -> dict[str, tuple[str, ...]]:
    """Return the fallback chains by models' full names.

    Raises InvalidInput, which names the invalid entry.
    """
    chains: dict[str, tuple[str, ...]] = {}
    for key, models in fallbacks.items():
        try:
            name = key if key in ROLES else str(services.name(key))
            chains[name] = tuple(str(services.name(model)) for model in models)
        except InvalidInput as error:
            raise InvalidInput(
                f"models.fallbacks.{key}: {error} (a key is a model, or {' or '.join(ROLES)})"
            ) from None
    return chains


def _marked(response: ModelResponse, name: ModelName) -> ModelResponse:
    """Return an answer whose private data names the service that created it."""
    if response.provider_data is None:
        return response
    data = {**response.provider_data, BY: name.provider}
    return response.model_copy(update={"provider_data": data})


class ProviderPrivateData:
    """Removes from a request the private data of services other than the called one.

    Thinking blocks and similar data are signed by the service that created them, and other services
    refuse them.
    """

    def __init__(self) -> None:
        # The same turn gives the same object again: the body cache compares turns by identity.
        self._bare: OrderedDict[int, tuple[Turn, AssistantTurn]] = OrderedDict()

    def only(self, request: ModelRequest, name: ModelName) -> ModelRequest:
        """Return the request with only the private data that the service of `name` created."""
        if not any(_is_foreign(turn, name.provider) for turn in request.turns):
            return request
        turns = tuple(
            self._without(turn) if _is_foreign(turn, name.provider) else turn
            for turn in request.turns
        )
        return request.model_copy(update={"turns": turns})

    def _without(self, turn: Turn) -> Turn:
        known = self._bare.get(id(turn))
        if known is not None and known[0] is turn:
            self._bare.move_to_end(id(turn))
            return known[1]
        assert isinstance(turn, AssistantTurn)
        bare = turn.model_copy(update={"provider_data": None})
        self._bare[id(turn)] = turn, bare
        if len(self._bare) > STORED_TURNS:
            self._bare.popitem(last=False)
        return bare


def _is_foreign(turn: Turn, provider: str) -> bool:
    if not isinstance(turn, AssistantTurn) or turn.provider_data is None:
        return False
    by = turn.provider_data.get(BY)
    return by is not None and by != provider
