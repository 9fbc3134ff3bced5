"""The table of channels: one line a kind. A kind's module is imported when it first delivers."""

import importlib
from collections.abc import Callable, Mapping

from actors.human.channels.channel import Channel
from agiraph.channels.settings import ChannelConfig, ChannelKind, filled_in

CHANNELS: Mapping[ChannelKind, str] = {
    "webhook": "actors.human.channels.webhook:Webhook",
    "email": "actors.human.channels.email:Email",
    "desktop": "actors.human.channels.desktop:Desktop",
}


def open_channel(
    settings: ChannelConfig, timeout_seconds: float, environ: Mapping[str, str]
) -> Channel:
    """Return the channel of these settings; raise MissingVariable."""
    module, _, name = CHANNELS[settings.kind].partition(":")
    make: Callable[[ChannelConfig, float], Channel] = getattr(importlib.import_module(module), name)
    return make(filled_in(settings, environ), timeout_seconds)
