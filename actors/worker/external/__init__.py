"""An outside agent as a worker: its process, what goes in and out, and how often it is started.

`process` is the operating-system side, `sitting` one start of it from launch to end, `bridge` what
crosses between it and the team, `permissions` what it asks leave for, `outsider` the work on a
node: starts, failures, result. What the agent says is read by `agiraph.external`.
"""
