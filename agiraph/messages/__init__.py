"""All message bodies of the bus, one frozen record each, named by its TYPE.

Types are grouped by prefix, one module each. DURABLE ones are stored by the router before it
acknowledges them and are delivered to the next incarnation if this one dies; passing ones may be
dropped under load. `authorization` lists them all with who may send each; a test compares that
list with `docs/protocol.md`. The `link.` types are defined by the transport.
"""
