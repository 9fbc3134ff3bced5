"""Agiraph as an MCP server for any client of the Model Context Protocol: `agiraph mcp`.

`toolset` has the tools, `results` their results, `waiting` the waits for a team, `clients` the HTTP
clients by token, `http` the server that listens instead of being started by its client. It is a
client of the HTTP API and has no authority of its own. Only `toolset` and `http` import the MCP
SDK.
"""
