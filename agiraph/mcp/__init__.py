"""Tools of other programs, by the Model Context Protocol. Pure: no SDK, no process, no socket.

`agiraph.settings.mcp_servers` says which servers there are, `secrets` fills in their variables,
`catalog` is how a model sees their tools, `grants` who may use them, `rendering` what
a model reads of a result. The process that is connected to a server is `actors/tools/mcp`.
"""
