"""Who may do what at the HTTP API: tokens, sessions of browsers, scopes, rates, and the audit.

    names.py      the names under which the gateway may be called (Host), and whose pages (Origin)
    headers.py    what a call brings along: bearer token, cookie, where a browser sends it from
    callers.py    who calls, by which key, and what that key may do
    book.py       all keys as one value, and every change of it (pure)
    keys.py       the book on disk: one writer, hashes only; secrets are made here and shown once
    home_token.py the home's own token, which the commands read
    private.py    writing a file that is for this user alone
    scopes.py     which scope each route needs: one table
    document.py   what the OpenAPI document says of all this
    rates.py      how many calls a second (pure)
    audit.py      every call in a file of bounded size
    ledger.py     what a line of it says, and what never
    page.py       the page on which a one-time link becomes a session

The gate (`actors/gateway/http/access_middleware.py`) asks them in this order, before anything of a
stranger's request is read. A secret is 256 random bits, so its plain SHA-256 is kept and found
without any secret being compared: no slow hash is needed against guesses at that length.
"""
