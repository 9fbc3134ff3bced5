"""The shell that every process shares: start, bus, heartbeat, crash counts, quarantine, event
reports."""
