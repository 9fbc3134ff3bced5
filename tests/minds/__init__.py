"""An examination for minds: a person or an agent answers each model request of a run by hand.

    python -m tests.minds --help

`goals` has the goals with their input folders, `by_hand` the model service whose answers are files,
`report` the table of turns, tokens and lost turns. docs/prompts.md explains how to play.
"""
