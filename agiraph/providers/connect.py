"""Connecting: from a provider's name to a Provider that can be called, or why it cannot."""

from collections.abc import Mapping

from agiraph.config import configs_folder
from agiraph.errors import unknown
from agiraph.providers.base import Provider, ProviderError
from agiraph.providers.registry import Preset


def connect(
    name: str,
    presets: Mapping[str, Preset],
    environ: Mapping[str, str],
    *,
    timeout_seconds: float,
) -> Provider:
    """Return the provider called `name`, its key and place read from `environ`.

    Raises InvalidInput for an unknown name, ProviderError (bad_key) for a missing key. May import
    an SDK, which takes a second: call it in a thread.
    """
    if name not in presets:
        raise unknown("provider", name, list(presets))
    preset = presets[name]
    if preset.api == "script":
        from agiraph.providers.script import ScriptProvider

        return ScriptProvider(configs_folder() / "playbooks")
    url, key = place_of(name, preset, environ)
    if preset.api == "anthropic":
        from agiraph.providers.anthropic import AnthropicProvider

        return AnthropicProvider(
            name,
            base_url=url,
            key=key or "none",
            timeout_seconds=timeout_seconds,
        )
    from agiraph.providers.openai import OpenAIProvider

    return OpenAIProvider(
        name,
        base_url=url,
        key=key,
        timeout_seconds=timeout_seconds,
        max_tokens_field=preset.max_tokens_field,
    )


def place_of(name: str, preset: Preset, environ: Mapping[str, str]) -> tuple[str, str | None]:
    """Return a service's URL and key; ProviderError if it has no URL, or no key and needs one."""
    key, url = preset.key(environ), preset.url(environ)
    if url is None:
        raise ProviderError("bad_request", f"provider {name} has no base_url")
    if key is None and not preset.local:
        raise ProviderError("bad_key", f"no key for {name}: set {preset.key_env or 'its key_env'}")
    return url, key


def first_of_each(presets: Mapping[str, Preset], environ: Mapping[str, str]) -> list[str]:
    """Return, for each SDK that a service with a key needs, the first such service."""
    first: dict[str, str] = {}
    for name, preset in presets.items():
        if preset.api != "script" and preset.key(environ) is not None:
            first.setdefault(preset.api, name)
    return [first[api] for api in sorted(first)]
