"""Services: the providers, connected when first needed."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from agiraph.config import Config, configs_folder
from agiraph.errors import InvalidInput
from agiraph.providers.base import Provider, ProviderError
from agiraph.providers.connect import connect, first_of_each, place_of
from agiraph.providers.playbook import load_playbook
from agiraph.providers.registry import ModelName, Preset, parse_model, pick_default, usable

JsonObject = dict[str, Any]


class Services:
    """The providers, by name."""

    def __init__(
        self, config: Config, presets: Mapping[str, Preset], environ: Mapping[str, str]
    ) -> None:
        """Know `presets`; keys and places come from `environ`."""
        self._config = config
        self._presets = presets
        self._environ = environ
        self._open: dict[str, Provider] = {}
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def name(self, model: str) -> ModelName:
        """Return what `model` names; InvalidInput."""
        return parse_model(model, self._presets)

    @property
    def presets(self) -> Mapping[str, Preset]:
        """The table of services."""
        return self._presets

    def place(self, provider: str) -> tuple[str, str | None]:
        """Return a service's URL and key; ProviderError if it has no place or needs a key."""
        return place_of(provider, self._presets[provider], self._environ)

    def window(self, model: ModelName) -> int:
        """Return how many tokens a model can take."""
        return self._presets[model.provider].window(model.name)

    def is_free(self, provider: str) -> bool:
        """Whether calls of this provider cost nothing."""
        return self._presets[provider].local

    async def provider(self, name: str) -> Provider:
        """Return a provider, connected; ProviderError if its key is missing."""
        async with self._opening[name]:
            if name not in self._open:
                # In a thread: an SDK takes a second to import, and heartbeats must go on.
                self._open[name] = await asyncio.to_thread(
                    connect,
                    name,
                    self._presets,
                    self._environ,
                    timeout_seconds=self._config.broker.timeout_seconds,
                )
            return self._open[name]

    async def warm_up(self) -> None:
        """Connect a provider of each SDK that will be needed: the first call need not wait for it.

        A process that was started for one run has begun with the SDK of its model already
        (`warming`); the others wait until somebody asks for them.
        """
        names = first_of_each(self._presets, self._environ)
        begun = [name for name in names if self._presets[name].api in sys.modules]
        for name in begun or names:
            with suppress(ProviderError):
                await self.provider(name)

    def catalog(self) -> tuple[JsonObject, ...]:
        """Return a row per provider, as `registry.usable` makes them."""
        return usable(self._presets, self._environ)

    def default(self) -> tuple[str, str]:
        """Return the model taken when none is named, and why."""
        return pick_default(self._config, self._presets, self._environ)

    def check(self, model: str) -> ModelName:
        """Return what `model` names if it could be called now; InvalidInput with the reason."""
        name = self.name(model)
        preset = self._presets[name.provider]
        if not preset.is_usable(self._environ):
            raise InvalidInput(f"model {name} cannot be called: {preset.key_env} is not set")
        if preset.api == "script":
            try:
                load_playbook(configs_folder() / "playbooks", name.name)
            except ProviderError as error:
                raise InvalidInput(str(error)) from None
        return name

    def advised(self, provider: str, error: ProviderError) -> ProviderError:
        """Return `error`, saying which key was refused if that is what it is about."""
        key = self._presets[provider].key_env
        if error.kind != "bad_key" or not key:
            return error
        return ProviderError("bad_key", f"{error} (the key is that of {key})")

    async def close(self) -> None:
        """Let all connections go."""
        for provider in self._open.values():
            await provider.close()
