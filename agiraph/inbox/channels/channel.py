"""Channels: the table of their kinds, the input of a delivery, and its failure.

A kind is a module with a coroutine `deliver(settings, notification, timeout_seconds)`, which raises
DeliveryFailed and never blocks the event loop. It is imported at its first delivery.
"""

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agiraph.notifications.notice import Notice
from agiraph.settings.channels import ChannelConfig, ChannelKind


@dataclass(frozen=True, slots=True)
class Notification:
    """One notice for one channel; its `id` is the same at each attempt to deliver it.

    `link` leads to the page that answers its question, `page` to its agent in the web UI.
    """

    id: str
    notice: Notice
    link: str | None
    page: str


class DeliveryFailed(Exception):
    """The receiver did not accept a notification; a later attempt may succeed.

    `retry_after` are the seconds that the receiver asks to wait, if any. The reason is shown to
    people: it must not contain a secret of the channel.
    """

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


Deliver = Callable[[ChannelConfig, Notification, float], Awaitable[None]]

CHANNELS: Mapping[ChannelKind, str] = {
    "webhook": "agiraph.inbox.channels.webhook",
    "email": "agiraph.inbox.channels.email",
    "desktop": "agiraph.inbox.channels.desktop",
}


def deliver_by(kind: ChannelKind) -> Deliver:
    """Return the function `deliver` of the module for channels of this kind; imports it."""
    deliver: Deliver = importlib.import_module(CHANNELS[kind]).deliver
    return deliver
