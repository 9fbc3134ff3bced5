"""All message bodies of the bus, one frozen record each, named by its TYPE.

Types are grouped by prefix, one module each. The router stores DURABLE messages before it
acknowledges them and delivers them to the next incarnation if this one dies; passing messages may
be dropped under load. `authorization` lists all types and their permitted senders; a test compares
that list with `docs/protocol.md`. The `link.` types are defined by the transport.
"""
