"""The channel `webhook`: a signed POST to a URL of the person's own. No redirect is followed."""

import asyncio
import importlib
import json
import time
from typing import Any

from actors.gateway.notifications.channel import DeliveryFailed, Notification
from agiraph.core.channel_settings import ChannelConfig
from agiraph.notifications.notice import Notice, wants
from agiraph.notifications.shapes import SHAPES
from agiraph.notifications.signing import webhook_headers

LONGEST_WAIT = 3600.0


class WebhookChannel:
    """Posts to one URL. The URL is the person's configuration, so it may be on this machine."""

    def __init__(self, settings: ChannelConfig, timeout_seconds: float) -> None:
        """Post as `settings`, whose variables are filled in, say."""
        self._settings = settings
        self._timeout = timeout_seconds
        self._client: Any = None

    def matches(self, notice: Notice) -> bool:
        """Whether this notice goes this way."""
        return wants(self._settings, notice)

    async def deliver(self, parcel: Notification) -> None:
        """Post; every answer but 2xx is a failure."""
        # The client's library is heavy, and most gateways never post anything.
        httpx = await asyncio.to_thread(importlib.import_module, "httpx")
        if self._client is None:
            self._client = await asyncio.to_thread(self._make_client, httpx)
        shape = SHAPES[self._settings.shape]
        body = json.dumps(shape(parcel.notice, parcel.id, parcel.link)).encode()
        headers = {"content-type": "application/json", "user-agent": "Agiraph"}
        headers |= webhook_headers(self._settings.secret, parcel.id, int(time.time()), body)
        try:
            async with self._client.stream(
                "POST", self._settings.url, content=body, headers=headers
            ) as response:
                status, later = response.status_code, response.headers.get("retry-after", "")
        except httpx.TimeoutException:
            raise DeliveryFailed(f"no answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DeliveryFailed(type(error).__name__) from None  # its text may hold the URL
        if not 200 <= status < 300:
            wait = min(float(later), LONGEST_WAIT) if later.isdecimal() else 0.0
            raise DeliveryFailed(f"the receiver answered {status}", wait)

    async def close(self) -> None:
        """Close the connections that are kept."""
        if self._client is not None:
            await self._client.aclose()

    def _make_client(self, httpx: Any) -> Any:
        return httpx.AsyncClient(
            timeout=self._timeout, follow_redirects=False, limits=httpx.Limits(max_connections=2)
        )
