"""Tools: the actions of models, each defined once.

`base` defines a tool, one file per family has its tools, `table` lists them all, `toolbox` is the
set of one entity and the only way to run a tool. `ports` are the services that a tool may use of
the entity that runs it. To add a tool: write a function with `@tool` in its family's file, name it
in `table`, write its runbook in configs/prompts/tools/.
"""
