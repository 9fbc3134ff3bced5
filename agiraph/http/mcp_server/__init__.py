"""Agiraph as a MCP server for any client of the Model Context Protocol: `agiraph mcp`.

`toolset` has the tools, `results` what they return, `waiting` how one waits for a team, `clients`
with whose token the HTTP API is called, `http` the server that listens instead of being started by
its client. It is a client of the HTTP API and has no authority of its own. Only `toolset` and
`http` import the MCP SDK.
"""
