"""The HTTP API as its users see it: its records, the typed clients, and the MCP server (MCP)
on top of them."""
