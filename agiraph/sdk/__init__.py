"""Agiraph from Python: `from agiraph import Runtime, Task`.

A program is a client of the HTTP API: `supervision` finds the supervisor of a home or starts one,
`team_run` carries a `Task` out on it and follows its events, `runtime` is what programs call;
`agentic_team` is a client of our MCP server in the program's own process. The names that they
import stand in `agiraph/__init__.py`, which imports a module here when it is used.
"""
