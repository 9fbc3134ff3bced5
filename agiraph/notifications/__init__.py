"""Notifications: messages to a person who is away from the terminal; pure.

    delivery_queue.py  the notices, their pending deliveries, and the person's absence
    notice.py          one notice, its channels, and its text
    webhooks.py        the bodies and signatures of webhooks, and the tokens of answer links

The settings of channels are in `agiraph/settings/channels.py`; `agiraph/inbox/channels` delivers.
"""
