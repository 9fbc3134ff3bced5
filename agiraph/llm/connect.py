"""Connecting: from a provider's name to a Provider, or to the reason why it is unusable."""

from collections.abc import Mapping

from agiraph.core.errors import unknown
from agiraph.llm.base import Provider, ProviderError
from agiraph.llm.providers.sdk import sdk_service
from agiraph.llm.providers.service import HttpService, ServiceProvider, http_client
from agiraph.llm.structured import PromptedSchemaProvider
from agiraph.llm.text_tools.text_tools import TextToolsProvider
from agiraph.llm.wire.anthropic import AnthropicFormat
from agiraph.llm.wire.chat import ChatFormat
from agiraph.llm.wire.format import WireFormat
from agiraph.llm.wire.google import GoogleFormat
from agiraph.llm.wire.responses import ResponsesFormat
from agiraph.models.registry import ModelName, ProviderPreset, why_unusable
from agiraph.settings.config import configs_folder

HTTP_CLIENT = "httpx2"
# The module that is imported to call a service.
MODULES: Mapping[str, str] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "responses": "openai",
    "google": HTTP_CLIENT,
}
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

    Its wire format for `model` may differ from that for the service's other models. Raises
    InvalidInput for an unknown name, ProviderError (bad_key, bad_request) for missing settings. May
    import an SDK, and its HTTP library: call it in a thread.
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

        return LocalProvider(name, preset, environ, timeout_seconds)
    if preset.api == "replay":
        from agiraph.llm.recording.replay import ReplayProvider

        return ReplayProvider()
    url, key = place_of(name, preset, environ)
    return ServiceProvider(_service(name, FORMATS[api], url, key, preset, timeout_seconds), preset)


def adapted(provider: Provider, name: ModelName, preset: ProviderPreset) -> Provider:
    """Return a provider that describes tools, or a schema, as text to a model without support."""
    traits = preset.of(name.name)
    if traits.structured == "text":
        provider = PromptedSchemaProvider(provider)
    return TextToolsProvider(provider) if name.in_text or traits.tool_mode == "text" else provider


def _service(
    name: str,
    wire: WireFormat,
    url: str,
    key: str | None,
    preset: ProviderPreset,
    timeout_seconds: float,
) -> HttpService:
    """Return a connected service: through the SDK of its format's maker, or over plain HTTP."""
    if MODULES[wire.api] != HTTP_CLIENT:
        return sdk_service(name, wire, url, key, preset.headers, timeout_seconds)
    client, headers = http_client(url, timeout_seconds), preset.headers
    return HttpService(name=name, wire=wire, url=url, key=key or "", client=client, headers=headers)


def place_of(
    name: str, preset: ProviderPreset, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return a service's URL and key.

    Raises ProviderError if it has no URL, or no key and needs one.
    """
    key, url = preset.key(environ), preset.url(environ)
    missing = why_unusable(preset, environ)
    if url is None:
        raise ProviderError("bad_request", f"{name} cannot be called: {missing or 'no base_url'}")
    if missing is not None:
        names = " or ".join(preset.key_names) or "its key_env"
        raise ProviderError("bad_key", f"no key for {name}: set {names}")
    return url, key


def first_of_each(presets: Mapping[str, ProviderPreset], environ: Mapping[str, str]) -> list[str]:
    """Return one service with a key for each SDK or client module that services need.

    The broker connects these at its start, so that their modules are imported before the first
    call.
    """
    first: dict[str, str] = {}
    for name, preset in presets.items():
        module = module_of(preset)
        if module is not None and preset.key(environ) is not None:
            first.setdefault(module, name)
    return [first[module] for module in sorted(first)]


def module_of(preset: ProviderPreset) -> str | None:
    """Return the module that a call of a service's default model imports, None if none."""
    return MODULES.get(preset.of(preset.default_model or "").api)
