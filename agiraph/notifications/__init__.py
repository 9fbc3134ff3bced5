"""Notifications: messages to a person who is away from the terminal; pure.

    delivery_queue.py  what was noticed, what has yet to be delivered where, and who is away
    notice.py          one thing to notify of, which channels want it, and its text
    webhooks.py        the bodies and signatures of webhooks, and the tokens of answer links

The settings of channels are in `agiraph/settings/channels.py`; `agiraph/inbox/channels` delivers.
"""
