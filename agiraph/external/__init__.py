"""External agents: command-line agents of other makers as workers of a team; pure.

`preset` is the table of known agents (`configs/agents.yaml`), `preflight` what is checked before
one is started, `launching` its command line and environment, `driver` how it is spoken to (`acp`,
`claude`, `one_shot`), `agent_events` what a driver reads out of its output, `exchange_files` the
files through which it and its team write to each other. No process is started here except
`preflight`'s trial: the worker starts agents (`actors/worker/external`).
"""
