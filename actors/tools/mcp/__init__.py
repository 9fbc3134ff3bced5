"""Tools of other programs: one process for each server of `mcp.servers`, for all entities.

`server_process` answers calls from the bus, `connection` connects to the server when it is needed
and stores its catalog, `session` is one connection, `transports` and `command_line` are the ways to
a server, `mcp_calls` makes the requests over a session. Only these import the SDK of the Model
Context Protocol, and only with the first connection.
"""
