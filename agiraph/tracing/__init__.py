"""Tracing: spans of a team's work, made from its event log alone; pure.

    spans.py         a span, its ids and the names of its attributes (OpenTelemetry's, for GenAI)
    span_builder.py  the state machine: events in, finished spans out
    timeline.py      a run as time lines: its spans as bars, and the waits of its entities

Entities are independent of it. Every id is derived from the subject of the span (a run, a node, a
step in a conversation), so a span that is made twice has the same id.
"""
