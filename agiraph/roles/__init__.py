"""The Agentic Team: named roles that pass one message at a time; only their lead may finish.

Pure. Its roles are `agiraph.core.roles`; `decisions` parses the decision of a role, `engine`
determines the next turn and the result of each turn.
"""
