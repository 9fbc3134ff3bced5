"""The scheduler's process: the only writer of every agent's `triggers.json`.

scheduler         the loop: waits for the next due time or for events, and delivers what fired
trigger_store     the triggers of each agent on disk, and the event logs beside them
trigger_requests  requests: create, list, pause, resume, cancel, fire
delivery          a firing goes to its agent's coordinator, or runs a callback

What fires when is decided in `agiraph/triggers`, without a clock or a file.
"""
