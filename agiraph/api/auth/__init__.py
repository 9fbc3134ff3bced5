"""Who may do what at the HTTP API: tokens, sessions of browsers, scopes, rates, and the audit.

    request_headers.py  the token, cookie, Host and Origin of a call
    credentials.py      all keys as one value, and every change of it (pure); who calls
    credential_store.py the keys on disk: one writer, hashes only; secrets are made here, shown once
    scopes.py           the scope that each route declares
    rate_limits.py      how many calls a second (pure)
    audit.py            every call in a file of bounded size
    page.py             the page on which a one-time link becomes a session

A secret is 256 random bits, so its plain SHA-256 is stored and found without any secret being
compared: no slow hash is needed against guesses at that length.
"""
