"""The HTTP API as its users see it: its records, the typed clients, and the server of tools (MCP)
on top of them."""
