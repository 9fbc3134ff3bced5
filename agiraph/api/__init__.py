"""The serving side of the HTTP API: endpoints, credentials and scopes, middleware, live feeds.

    gateway.py     the stores, readers, feeds and the bus, in one object that each endpoint receives
    app.py         the ASGI application: the endpoints of `routes/` behind the middleware
    routes/        the endpoints, one module a resource
    live/          followers: of events, of changes in the home, of text as it streams
    auth/          credentials, scopes, the audit log
    offline/       the same endpoints for a home on which no supervisor runs: they only read
    settings/      editing of settings files

The process that serves it is the human gateway (`actors/gateway`).
"""
