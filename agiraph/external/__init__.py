"""Outside agents: command-line agents of other makers as workers of a team; pure.

`preset` is the table of those that are known (`configs/agents.yaml`), `launching` what one is
started with, `happenings` what can be seen of it, `driver` how it is spoken with, `exchange` the
files through which it and its team speak. No process is started here: the worker does that
(`actors/worker/external`).
"""
