"""The code that every process shares: start, bus, heartbeat, crash counts, quarantine, event
reports.
"""
