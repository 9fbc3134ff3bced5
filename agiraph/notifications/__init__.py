"""Notifications: how what an entity tells the person reaches him away from the terminal; pure.

    delivery_queue.py  what was noticed, what has yet to be delivered where, and who is away
    notice.py          one thing to notify of, which channels want it, and its text
    shapes.py          the bodies of webhooks: ours, Slack's, Discord's
    signing.py         signatures of webhooks, and the tokens of answer links

The settings of channels are in `agiraph/core/channel_settings.py`; `actors/gateway/notifications`
delivers.
"""
