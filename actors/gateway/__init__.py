"""The human gateway: the process in which a person is an entity among the others.

It has two faces. On the bus it is the address `human`: texts to the person and questions arrive
there, are journaled, and answers leave from there. Towards people it is the HTTP API (FastAPI on
uvicorn, in the same loop): what the command line, the web and other programs talk to.

    main.py            the process: opens the journals, runs bus and HTTP side by side
    gateway.py         all parts of it in one record; what each endpoint is handed
    line.py            what it asks of the bus, and how the bus's failures become HTTP statuses
    desk.py            the bus loop: one handler per kind of message
    database.py        messages, questions and dead letters as rows;  thread.py  the messages
    questions.py       the questions and answers;  postman.py  carries answers out
    speaking.py        texts, nudges and answers of the person;  telling.py  events to the recorder
    agents.py          which agents there are, read from their files;  boards.py  their boards
    starting.py        creating an agent;  acting.py  stop, pause, resume, archive
    entities.py        the rows of `ps`;  statuses.py  what each entity said last
    census.py          what other processes tell of all entities, asked once for all who wait
    together.py        asking once for all who wait;  latest.py  what is made once for all
    followers.py       following events.jsonl live
    audience.py        those who follow at the log's end, shown each event together
    channels/          webhooks, mails, desktop: what is told outside;  answer_page.py  answers
    files.py           the confined file browser
    access/            tokens, sessions, scopes, rates, the audit: who may do what
    gate.py            asks them before every call;  exchange.py  bounds what then goes through
    lane.py            the short way to an endpoint;  needs.py  its plan, from the signature
    routes/, app.py    the endpoints, and FastAPI's way to them
    server.py          uvicorn inside our loop;  patience.py  its deadlines on slow clients
    http_connection.py one connection: parsed in C, its heads bounded

Reading about agents never disturbs them: it reads their files.
"""
