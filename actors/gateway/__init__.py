"""The human gateway: the process through which a person is an entity among the others.

On the bus it is the address `human`: it receives and stores messages and questions for the person,
and sends the answers. For programs it is the HTTP API (FastAPI on uvicorn, in the same loop), which
the command line, web pages and other programs use.

    main.py              the process: opens the stores, runs bus and HTTP side by side
    bus.py               how the API and the inbox reach other processes; failures as HTTP statuses
    bus_handlers.py      the bus loop: one handler per type of message
    knowledge_requests.py  messages for the knowledge database, handled beside the others
    server.py            where and how the HTTP server listens

The endpoints are in `agiraph.api`, messages, questions and notifications in `agiraph.inbox`.
"""
