"""Tracing: spans of what a team did, made from its event log alone; pure.

    spans.py         a span, its ids and the names of its attributes (OpenTelemetry's, for GenAI)
    span_builder.py  the state machine: events in, finished spans out
    timeline.py      a run as time lines: its spans as bars, and when its entities waited

Entities know nothing of it and import nothing for it. Every id follows from what a span is about (a
run, a node, a step in a conversation), so a span that is made twice has the same id.
"""
