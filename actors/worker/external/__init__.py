"""An external agent as a worker.

`runner` executes a node with it, `launcher` prepares each start, `session` is one start from launch
to end, `process` its operating-system side, `team_bridge` passes messages between it and the team,
`permission_requests` handles its requests for permission. The drivers of `agiraph.external` parse
the agent's output.
"""
