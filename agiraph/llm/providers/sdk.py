"""The SDKs of Anthropic and OpenAI as transports of their own formats.

The SDK handles authentication, connections, time-outs and errors; bodies pass through its `post` as
bytes, because its typed `create` would check and encode a long transcript again on every call.
"""

import importlib
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agiraph.imports import placeholders
from agiraph.llm.network import CONNECT_SECONDS, client_options
from agiraph.llm.providers.service import HttpService, events_of
from agiraph.llm.wire.format import WireFormat
from agiraph.llm.wire.sse import SseEvent

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

OPENAI = "openai.com"
NO_KEY = "none"  # the SDKs require a key; local services ignore it

OTHER_CLOUDS: Final = ("aws", "bedrock", "foundry", "google_cloud", "vertex")
UNUSED: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": (
        "anthropic.types",
        *(f"anthropic.lib.{name}" for name in (*OTHER_CLOUDS, "middleware", "streaming", "tools")),
    ),
    "openai": ("openai.types",),
}
"""Modules that an SDK imports for its typed calls and for other clouds; bodies are bytes here. They
are up to 3,000 modules, nine tenths of the import time, and 40 MB."""

LOADING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkService(HttpService):
    """A service that is called by an SDK; forwarded requests use the same connections."""

    sdk: "AsyncAnthropic | AsyncOpenAI"
    stream_class: Any

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncIterator[AsyncIterator[SseEvent]]:
        """Post a request; yield the events of its answer. Raises the SDK's errors."""
        stream = await self.sdk.post(
            path, cast_to=object, content=body, stream=True, stream_cls=self.stream_class
        )
        async with stream:  # read by our own splitter, which has limits
            yield events_of(stream.response, self.wire, self.key)


def sdk_service(
    name: str,
    wire: WireFormat,
    url: str,
    key: str | None,
    headers: Mapping[str, str],
    timeout_seconds: float,
) -> SdkService:
    """Return a service of Anthropic's or OpenAI's format; imports the SDK."""
    is_anthropic = wire.api == "anthropic"
    maker: Any = load_sdk("anthropic" if is_anthropic else "openai")
    timeout = maker.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
    client = maker.DefaultAsyncHttpxClient(timeout=timeout, **client_options(url))
    options: dict[str, Any] = {
        "api_key": key or NO_KEY,
        "base_url": url,
        "max_retries": 0,  # the broker retries, for all callers of this provider together
        "timeout": timeout,
        "default_headers": headers,
        "http_client": client,
    }
    sdk = maker.AsyncAnthropic(**options) if is_anthropic else maker.AsyncOpenAI(**options)
    if not (is_anthropic or (urlsplit(url).hostname or "").endswith(OPENAI)):
        sdk.organization = None  # the SDK reads these from the environment, for any base_url
        sdk.project = None
    return SdkService(
        name=name, wire=wire, url=url, key=key or "", client=client, headers=headers,
        sdk=sdk, stream_class=maker.AsyncStream[object],
    )  # fmt: skip


def load_sdk(name: str) -> ModuleType:
    """Return an SDK, imported without its UNUSED modules, or as a whole if that import fails."""
    with LOADING:
        if name in sys.modules:
            return sys.modules[name]
        try:
            with placeholders(UNUSED.get(name, ()), partial(_placeholder, name)):
                return importlib.import_module(name)
        except Exception:  # a version that uses more
            for module in [*sys.modules]:
                if module.split(".")[0] == name:
                    del sys.modules[module]
            return importlib.import_module(name)


def _placeholder(sdk: str, name: str) -> type:
    """Return a class for a name of an unused module: the SDK's general error, or an empty class."""
    if name.endswith("Error"):
        return getattr(sys.modules.get(f"{sdk}._exceptions"), "APIStatusError", Exception)
    return type(name, (), {})
