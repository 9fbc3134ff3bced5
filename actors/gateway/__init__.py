"""The human gateway: the process through which a person is an entity among the others.

On the bus it is the address `human`: messages and questions for the person arrive there, are
stored, and answers leave from there. To programs it is the HTTP API (FastAPI on uvicorn, in the
same loop), which the command line, web pages and other programs use.

    main.py            the process: opens the stores, runs bus and HTTP side by side
    gateway.py         all parts of it in one record, which each endpoint is given; requests on
                       the bus, and how their failures become HTTP statuses
    bus_handlers.py    the bus loop: one handler per type of message
    context_requests.py  messages for the context database, done beside it
    context/           the context database: its thread, scans of folders
    event_reporter.py  events of the gateway, to the recorder
    live/              followers: of events, of changes in the home, of text as it streams
    state/             the database: messages, dead letters, idempotency keys
    questions/         questions and standing approvals, and how answers reach their askers
    notifications/     webhooks, mails and desktop notifications
    api/               the endpoints, one module a resource;  http/  the application round them

`agiraph.api` is the part of the HTTP API that needs no bus: credentials, middleware, downloads.
Reading about agents never disturbs them: `agiraph.readmodel` reads their files.
"""
