"""Connecting: from a provider's name to a Provider that can be called, or why it cannot."""

import os
from collections.abc import Mapping

from agiraph.core.config import configs_folder
from agiraph.core.errors import unknown
from agiraph.llm.base import Provider, ProviderError
from agiraph.llm.registry import UNKNOWN_WINDOW, ProviderPreset, why_unusable
from agiraph.llm.wire.anthropic import AnthropicFormat
from agiraph.llm.wire.chat import ChatFormat
from agiraph.llm.wire.format import WireFormat
from agiraph.llm.wire.google import GoogleFormat
from agiraph.llm.wire.responses import ResponsesFormat

FORMATS: Mapping[str, WireFormat] = {
    wire.api: wire for wire in (AnthropicFormat(), ChatFormat(), ResponsesFormat(), GoogleFormat())
}


def connect(
    name: str,
    presets: Mapping[str, ProviderPreset],
    environ: Mapping[str, str],
    *,
    timeout_seconds: float,
    model: str = "",
) -> Provider:
    """Return the provider called `name`, its key and URL read from `environ`.

    Its wire format may be another for `model` than for the service's other models. Raises
    InvalidInput for an unknown name, ProviderError (bad_key, bad_request) for what is missing.
    Imports an HTTP client, which takes 0.1 s the first time: call it in a thread.
    """
    if name not in presets:
        raise unknown("provider", name, list(presets))
    preset = presets[name]
    api = preset.of(model).api
    if api == "script":
        from agiraph.llm.embedded.script import ScriptProvider

        return ScriptProvider(configs_folder() / "playbooks")
    if api == "local":
        from agiraph.llm.providers.local.provider import LocalProvider

        return LocalProvider(
            name,
            own=preset.model,
            context=preset.context or UNKNOWN_WINDOW,
            threads=preset.threads or max(1, (os.cpu_count() or 2) // 2),
            idle_seconds=preset.idle_seconds,
            timeout_seconds=timeout_seconds,
            environ=environ,
        )
    if preset.api == "replay":
        from agiraph.llm.recording.replay import ReplayProvider

        return ReplayProvider()
    url, key = place_of(name, preset, environ)
    from agiraph.llm.providers.service import HttpService, ServiceProvider, http_client

    client = http_client(url, timeout_seconds)
    service = HttpService(name, FORMATS[api], url, key or "", client, preset.headers)
    return ServiceProvider(service, preset)


def place_of(
    name: str, preset: ProviderPreset, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return a service's URL and key; ProviderError if it has no URL, or no key and needs one."""
    key, url = preset.key(environ), preset.url(environ)
    missing = why_unusable(preset, environ)
    if url is None:
        raise ProviderError("bad_request", f"{name} cannot be called: {missing or 'no base_url'}")
    if missing is not None:
        names = " or ".join(preset.key_names) or "its key_env"
        raise ProviderError("bad_key", f"no key for {name}: set {names}")
    return url, key
