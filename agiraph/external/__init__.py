"""External agents: command-line agents from other vendors as workers of a team; pure.

`preset` is the table of known agents (`configs/agents.yaml`). `preflight` checks an agent before it
is started. `launching` creates its command line and environment. `driver` is the interface of its
protocol (`acp`, `claude`, `one_shot`), and `agent_events` are the events that a driver reads from
its output. `exchange_files` are the files through which it and its team write to each other. No
process is started here except `preflight`'s trial: the worker starts agents
(`actors/worker/external`).
"""
