"""ProviderPool: the providers of models, connected when first needed."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject, ModelRequest
from agiraph.llm.base import Provider, ProviderError, TokenCounter
from agiraph.llm.connect import adapted, connect, first_of_each
from agiraph.llm.embedded.playbook import load_playbook
from agiraph.llm.embedded.random_model import random_model
from agiraph.llm.providers.service import HttpService, ServiceProvider
from agiraph.llm.recording.replay import load
from agiraph.llm.wire.format import ANSWER_TOKENS
from agiraph.models.local_servers import find_servers, with_answers, with_files
from agiraph.models.local_weights import file_of
from agiraph.models.prices import Price, catalog
from agiraph.models.registry import (
    OFFLINE,
    ModelName,
    ProviderPreset,
    is_out_of_reach,
    load_presets,
    parse_model,
    pick_default,
    why_unusable,
)
from agiraph.settings.config import Config, configs_folder
from agiraph.storage.files import status_of


class ProviderPool:
    """The providers by name, configured by `presets`; keys and URLs come from `environ`.

    `table` is the home's own file of presets, if any: `refresh` reads it again.
    """

    def __init__(
        self,
        config: Config,
        presets: Mapping[str, ProviderPreset],
        prices: Mapping[str, Price],
        environ: Mapping[str, str],
        table: Path | None = None,
    ) -> None:
        self._config = config
        self._table = table
        self._read_as = _state_of(table)
        self.presets = presets
        self._prices = prices
        self._environ = environ
        self._open: dict[tuple[str, str], Provider] = {}
        self._opening: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    def refresh(self) -> None:
        """Read the table again if it has changed; changed services are reconnected.

        Raises InvalidInput for an unreadable table: then the known presets stay.
        """
        state = _state_of(self._table)
        if self._table is None or state == self._read_as:
            return
        presets = load_presets(self._table)
        differ = [name for name in presets if presets[name] != self.presets.get(name)]
        gone = self.presets.keys() - presets.keys()
        for key in [key for key in self._open if key[0] in gone.union(differ)]:
            del self._open[key]  # running calls keep it until they end
        self.presets, self._read_as = presets, state

    def name(self, model: str) -> ModelName:
        """Return the parsed name of a model. Raises InvalidInput."""
        return parse_model(model, self.presets)

    def window(self, model: ModelName) -> int:
        """Return the size of a model's context window in tokens."""
        return self.presets[model.provider].window(model.name)

    def known_window(self, model: ModelName) -> int | None:
        """Return how many tokens a model's context window has, None if that is not known."""
        return self.presets[model.provider].known_window(model.name)

    def longest_answer(self, model: str) -> int:
        """Return the default limit of a model's answer in tokens."""
        name = self.name(model)
        return self.presets[name.provider].of(name.name).max_output or ANSWER_TOKENS

    def secrets(self) -> tuple[str, ...]:
        """Return all keys: they must never be written anywhere."""
        keys = (preset.key(self._environ) for preset in self.presets.values())
        return tuple(sorted({key for key in keys if key}, key=len, reverse=True))

    async def provider(self, name: ModelName) -> Provider:
        """Return the provider of a model.

        Raises ProviderError if it cannot be called. Tools, or the schema of the answer, are
        rendered as text for a model without support.
        """
        return adapted(await self._service(name), name, self.presets[name.provider])

    async def _service(self, name: ModelName) -> Provider:
        """Return the connected service for a model; connect it at the first call.

        A provider has one connection for each wire format. Raises ProviderError.
        """
        if self._is_out_of_reach(name.provider):
            # The kind that continues a call with the next model of its chain at once.
            raise ProviderError("unknown_model", f"{name.provider} is not called: {OFFLINE}")
        key = (name.provider, self.presets[name.provider].of(name.name).api)
        async with self._opening[key]:
            if key not in self._open:
                # In a thread: importing a whole SDK takes long, and heartbeats must continue.
                self._open[key] = await asyncio.to_thread(
                    connect,
                    name.provider,
                    self.presets,
                    self._environ,
                    timeout_seconds=self._config.broker.timeout_seconds,
                    model=name.name,
                )
            return self._open[key]

    async def count(self, request: ModelRequest) -> int | None:
        """Return the number of tokens of a request, None without a tokenizer for its model."""
        provider = await self._service(self.name(request.model))
        return await provider.count(request) if isinstance(provider, TokenCounter) else None

    async def native_service(self, name: ModelName, api: str) -> HttpService | None:
        """Return the service of a model if it speaks `api`, to forward requests to it, else None.

        Raises ProviderError if it has no URL, or no key and needs one.
        """
        if name.in_text or self.presets[name.provider].of(name.name).api != api:
            return None
        provider = await self._service(name)
        return provider.service if isinstance(provider, ServiceProvider) else None

    def _is_out_of_reach(self, provider: str) -> bool:
        offline = self._config.models.offline
        return is_out_of_reach(self.presets[provider], self._environ, offline)

    async def warm_up(self) -> None:
        """Connect a provider of each required SDK, so that the first call need not wait.

        SDKs of services without a key are imported when they are needed.
        """
        for name in first_of_each(self.presets, self._environ):
            with suppress(ProviderError):
                await self._service(ModelName(name, self.presets[name].default_model or ""))

    def catalog(self) -> tuple[JsonObject, ...]:
        """Return a row per provider, with its known models."""
        offline = self._config.models.offline
        return catalog(self.presets, self._environ, self._prices, offline=offline)

    async def answering(self, rows: tuple[JsonObject, ...], home: Path) -> tuple[JsonObject, ...]:
        """Return rows of `catalog` with the models of local servers and playable files."""
        found = await asyncio.to_thread(find_servers, self.presets, self._environ)
        return with_files(with_answers(rows, found), home)

    def default(self) -> tuple[str | None, str]:
        """Return the model used when none is named, None if there is none, and the reason."""
        return pick_default(self._config, self.presets, self._environ)

    def check(self, model: str, needs_tools: str = "") -> ModelName:
        """Return the parsed name of `model` if it could be called now.

        Raises InvalidInput. `needs_tools` names the work that requires tools ('': none); a model
        without tools is refused.
        """
        name = self.name(model)
        preset = self.presets[name.provider]
        if self._is_out_of_reach(name.provider):
            raise InvalidInput(f"model {name} cannot be called: {OFFLINE}")
        if preset.api == "local":
            file_of(name.name, preset.model)
        if (missing := why_unusable(preset, self._environ)) is not None:
            raise InvalidInput(f"model {name} cannot be called: {missing}")
        if needs_tools and preset.of(name.name).tool_mode == "none":
            raise InvalidInput(
                f"model {name} has no tools: it writes one text, and cannot {needs_tools} "
                "(possible: another model, a goal that contains all that it needs)"
            )
        try:
            if preset.api == "replay":
                load(name.name)
            if preset.api == "script" and random_model(name.name) is None:
                load_playbook(configs_folder() / "playbooks", name.name)
        except ProviderError as error:
            raise InvalidInput(str(error)) from None
        return name

    def advised(self, provider: str, error: ProviderError) -> ProviderError:
        """Return `error`; for a refused key, its text names the key's variable."""
        key = self.presets[provider].key_name(self._environ)
        if error.kind != "bad_key" or not key:
            return error
        return ProviderError("bad_key", f"{error} (the key is that of {key})")

    async def close(self) -> None:
        """Close all connections."""
        for provider in self._open.values():
            await provider.close()


def _state_of(table: Path | None) -> tuple[int, int, int] | None:
    """Return change time, inode and size of a file, None if it is missing."""
    found = status_of(table) if table is not None else None
    return (found.st_mtime_ns, found.st_ino, found.st_size) if found is not None else None
