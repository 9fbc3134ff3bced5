"""Notifications to the person outside the web UI and console, by webhook, mail or desktop.

    dispatcher.py        reads new notices, records their channels, and delivers them
    sources.py           the messages and events that become notices
    delivery_journal.py  the delivery queue (`agiraph/notifications/delivery_queue.py`) on disk
    answer_links.py      the links by which a question is answered, and the key that signs them
    channel.py           the kinds of channels; webhook.py, email.py, desktop.py deliver

The console and web pages do not use this: one is on the bus, the others follow the events.
"""
