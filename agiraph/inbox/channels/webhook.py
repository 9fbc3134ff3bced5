"""The channel `webhook`: a signed POST to a URL of the person's own. Redirects are not followed."""

import asyncio
import importlib
import json
import time
from urllib.parse import urlsplit

from agiraph.inbox.channels.channel import DeliveryFailed, Notification
from agiraph.notifications.webhooks import SHAPES, webhook_headers
from agiraph.settings.channels import ChannelConfig

LONGEST_RETRY_AFTER = 3600.0


async def deliver(
    settings: ChannelConfig, notification: Notification, timeout_seconds: float
) -> None:
    """POST to the URL of the settings; every status except 2xx is a failure.

    The URL is the person's configuration, so it may be on this machine.
    """
    # The library takes long to import, and its client long to make; most gateways never need it.
    httpx = await asyncio.to_thread(importlib.import_module, "httpx")
    shape = SHAPES[settings.shape]
    post = shape(notification.notice, notification.id, notification.link, notification.page)
    body = json.dumps(post).encode()
    headers = {"content-type": "application/json", "user-agent": "Agiraph"}
    headers |= webhook_headers(settings.secret, notification.id, int(time.time()), body)
    client = await asyncio.to_thread(httpx.AsyncClient, timeout=timeout_seconds)
    try:
        async with (
            asyncio.timeout(timeout_seconds),  # the client's own timeout is for each received piece
            client,
            client.stream("POST", settings.url, content=body, headers=headers) as response,
        ):
            status, later = response.status_code, response.headers.get("retry-after", "")
            target = response.headers.get("location", "") if response.is_redirect else ""
    except (TimeoutError, httpx.TimeoutException):
        raise DeliveryFailed(f"no answer within {timeout_seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DeliveryFailed(type(error).__name__) from None  # its text may contain the URL
    if not 200 <= status < 300:
        wait = min(float(later), LONGEST_RETRY_AFTER) if later.isdecimal() else 0.0
        where = f", a redirect to {_host_of(target)}" if target else ""
        raise DeliveryFailed(f"the receiver answered {status}{where}", wait)


def _host_of(location: str) -> str:
    """Return the host of a redirect's target; its path may repeat a secret of the URL."""
    try:
        return urlsplit(location).hostname or "another path of it"
    except ValueError:
        return "no URL"
