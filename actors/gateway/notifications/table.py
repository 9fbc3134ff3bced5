"""The table of channels: one line a kind. A kind's module is imported when it first delivers."""

import importlib
from collections.abc import Callable, Mapping

from actors.gateway.notifications.channel import Channel
from agiraph.core.channel_settings import ChannelConfig, ChannelKind, filled_in

CHANNELS: Mapping[ChannelKind, str] = {
    "webhook": "actors.gateway.notifications.webhook:WebhookChannel",
    "email": "actors.gateway.notifications.email:EmailChannel",
    "desktop": "actors.gateway.notifications.desktop:DesktopChannel",
}


def open_channel(
    settings: ChannelConfig, timeout_seconds: float, environ: Mapping[str, str]
) -> Channel:
    """Return the channel of these settings; raise MissingVariable."""
    module, _, name = CHANNELS[settings.kind].partition(":")
    make: Callable[[ChannelConfig, float], Channel] = getattr(importlib.import_module(module), name)
    return make(filled_in(settings, environ), timeout_seconds)
