"""The channels at work: what the person is told goes out by webhook, mail or desktop.

    courier.py   reads what is new, writes down what is for whom, and has it delivered
    sources.py   what of the thread and of the agents' events is worth a notice
    ledger.py    the journal under the book of deliveries
    (`agiraph/notifications/delivery_queue.py`)
    links.py     where an answer link leads, and the key that signs it
    table.py     one line a kind of channel
    webhook.py, email.py, desktop.py   one file each: `matches` and `deliver`

Two further ways stand beside these and need nothing here: the console is an actor on the bus, and
web pages follow the events of the HTTP API.
"""
