"""Agiraph from Python: `from agiraph import Runtime, Task`.

A program is a client of the HTTP API: `supervision` finds or starts the supervisor of a home,
`team_run` runs a `Task` on it and follows its events, `runtime` has the functions for programs;
`agentic_team` is a client of our MCP server in the program's own process. Programs import the names
from `agiraph/__init__.py`, which imports a module of this package at its first use.
"""
