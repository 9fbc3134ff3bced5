"""Notices and channels for tests."""

from typing import Any

from agiraph.notifications.notice import Notice
from agiraph.settings.channels import ChannelConfig


def notice(id: str = "n1", **facts: Any) -> Notice:
    """Return a notice of a question, changed by `facts`."""
    known = {
        "id": id,
        "kind": "questions",
        "agent": "shop-1",
        "agent_name": "shop",
        "sender": "Ada",
        "text": "Which database?",
        "ts": 1000.0,
    }
    return Notice.model_validate(known | facts)


def webhook(**facts: Any) -> ChannelConfig:
    """Return a webhook's settings."""
    return ChannelConfig.model_validate({"kind": "webhook", "url": "http://x/"} | facts)
