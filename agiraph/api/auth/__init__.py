"""Access to the HTTP API: tokens, browser logins, scopes, rate limits, and the audit log.

    request_headers.py  the token, cookie, Host and Origin of a call
    credentials.py      all keys as one value, with its changes and the lookup of a caller (pure)
    credential_store.py the keys on disk: one writer, hashes only; secrets are made here, shown once
    scopes.py           the scope that each route declares
    rate_limits.py      the number of calls per second (pure)
    audit.py            a log of all calls, in files of bounded size
    page.py             the page on which a one-time link becomes a browser login

A secret is 256 random bits, so its plain SHA-256 is stored and found without any secret being
compared: no slow hash is needed against guesses at that length.
"""
