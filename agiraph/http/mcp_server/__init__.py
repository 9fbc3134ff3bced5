"""Agiraph as a server of tools for any client of the Model Context Protocol: `agiraph mcp`.

`toolset` says which tools there are and what they do, `shapes` what they return, `waiting` how one
waits for a team, `clients` with whose authority the HTTP API is called, `http` how the server is
reached without being started. It is a client of the HTTP API, as every other face, and has no
authority of its own. Only `toolset` and `http` import the MCP SDK.
"""
