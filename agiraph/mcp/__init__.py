"""Tools of other programs, by the Model Context Protocol. Pure: no SDK, no process, no socket.

`settings` says which servers there are, `secrets` fills in their variables, `launching` how their
process is started, `names` and `schemas` how a tool of theirs is shown to a model, `catalog` what a
server was found to offer, `grants` who may use it, `showing` what a model reads of a result. The
process that speaks with a server is `actors/tools/mcp`.
"""
