"""The tracer: sends spans of events to a collector, by OpenTelemetry's protocol (OTLP).

    tracer.py  the process, which exists only when `telemetry.otlp_endpoint` is set: reads each
               agent's events from a cursor and converts them into spans
    export.py  spans in OpenTelemetry's own classes, over HTTP; the only file that imports them

It only reads files: no entity depends on it, and neither its failure nor the collector's affects an
entity. Unsent events are still in the event logs.
"""
