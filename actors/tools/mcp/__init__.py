"""Hosts of other programs' tools: one process a server of `mcp.servers`, shared by all entities.

`main` is the process's entry, `host` takes calls from the bus, `results` keeps what they returned,
`keeping` has the connection when it is needed and knows what the server offers, `link` is one
connection, `transports` the ways to a server, `speech` what is said over a connection. Only the
last three know the SDK of the Model Context Protocol, and import it with the first connection.
"""
