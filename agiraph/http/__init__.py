"""The HTTP API for its users: its records, the typed clients, and the MCP server on top of them."""
