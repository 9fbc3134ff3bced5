"""Tools of other programs, by the Model Context Protocol. Pure: no SDK, no process, no socket.

`agiraph.settings.mcp_servers` has the settings of servers, `secrets` fills in their variables,
`catalog` has their tools as shown to models, `grants` the permissions to use them, `rendering` the
results as text for models. The process that is connected to a server is `actors/tools/mcp`.
"""
