"""The scheduler's process: the only writer of every agent's `triggers.json`.

scheduler         the loop: waits for the next due time or for events, and delivers firings
trigger_store     the triggers of each agent on disk, and the event logs beside them
trigger_requests  requests: create, list, pause, resume, cancel, fire delivery          sends a
firing to its agent's coordinator, or runs a callback

`agiraph/triggers` decides when a trigger fires, without a clock or a file.
"""
