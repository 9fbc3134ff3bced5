"""An external agent as a worker: `runner` does a node with it, `launcher` prepares each start,
`session` is one start from launch to end, `process` its operating-system side, `team_bridge` what
is passed between it and the team, `permission_requests` what it asks permission for.

What the agent writes is read by the drivers of `agiraph.external`.
"""
