"""Tools: what a model may do, each defined once.

`base` says what a tool is, one file per family defines them, `table` lists them all, `toolbox` is
the set that one entity holds and the only way to run one. `ports` is what a tool may ask of the
entity that runs it. To add a tool: write a function with `@tool` in its family's file, name it in
`table`, write its runbook in configs/prompts/tools/.
"""
