"""The Agentic Team: named roles that pass one message at a time, led by one that alone may finish.

Pure. Its roles are `agiraph.core.team`; `decisions` reads what a role has
decided, `engine` says whose turn is next and what became of each turn.
"""
