"""The human gateway: the process in which a person is an entity among the others.

It has two sides. On the bus it is the address `human`: texts to the person and questions arrive
there, are journaled, and answers are sent from there. Towards people it is the HTTP API (FastAPI on
uvicorn, in the same event loop), which the command line, the web and other programs call.

    main.py            the process: opens the stores, runs bus and HTTP side by side
    gateway.py         all parts of it in one record, which each endpoint is given
    bus_client.py      requests on the bus, and their failures as HTTP statuses
    bus_handlers.py    the bus loop: one handler per type of message
    event_feed.py      following an agent's events;  event_reporter.py  events to the recorder
    file_browser.py    the confined file browser;  served_files.py  a file as bytes or rendered
    call_cause.py      what a call is known by when it is repeated;  problems.py  RFC 9457

    api/               the endpoints, one module a resource: route and logic together
    auth/              tokens, sessions, scopes, rates, the audit: who may do what
    http/              the application, its middleware, its OpenAPI document, its server
    questions/         questions to the person, and how answers reach who asked
    notifications/     webhooks, mails, desktop: what the person is told outside
    state/             what is read from disk and the database

A request passes AccessMiddleware (who calls, rates, audit), BodyLimitMiddleware and
IdempotencyMiddleware, then FastAPI. Reading about agents never disturbs them: it reads their files.
"""
