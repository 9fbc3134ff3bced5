"""The tracer: sends spans of what happened to a collector, by OpenTelemetry's protocol (OTLP).

    main.py    the process: there only when `telemetry.otlp_endpoint` is set
    tracer.py  reads each agent's events from a cursor, has them woven, keeps what is under way
    export.py  spans in OpenTelemetry's own classes, over HTTP; the only file that imports them

It is a reader of files: no entity knows of it, and its death or a collector's disturbs nobody. What
could not be sent waits in the logs of events, which are there anyway.
"""
