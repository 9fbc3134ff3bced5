"""Channels: the ways by which what an entity tells the person goes out to him, away from here.

    settings.py   what `channels:` in agiraph.yaml says of each
    variables.py  the variables that they name in place of secrets
    notice.py     what the person is told, and which notices a channel wants
    book.py       what was told, what is still to go out, and to whom while he is away (pure)
    wording.py    a notice in plain words: title, body
    shapes.py     the bodies that webhooks take: ours, Slack's, Discord's
    signing.py    signatures of webhooks, and the tokens of answer links

Nothing here opens a connection; the gateway's `actors/gateway/notifications/` does.
"""
