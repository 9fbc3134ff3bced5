"""Notifications: what the person is notified of outside, by webhook, mail or desktop.

    dispatcher.py        reads what is new, records what goes to which channel, and delivers it
    sources.py           which messages and events become notices
    delivery_journal.py  the delivery queue (`agiraph/notifications/delivery_queue.py`) on disk
    answer_links.py      the links by which a question is answered, and the key that signs them
    channel.py           the kinds of channels; webhook.py, email.py, desktop.py deliver

The console and web pages need nothing here: one is on the bus, the others follow the events.
"""
