"""Tracing: spans of what a team did, made from the log of its events alone.

    spans.py    a span, its ids and the names of its attributes (OpenTelemetry's, for GenAI)
    weaving.py  the state machine: events in, finished spans out (pure)

Entities know nothing of it and import nothing for it. Every id follows from what a span is about
(a run, a node, a step's place in a conversation): whoever makes it again makes the same span.
"""
