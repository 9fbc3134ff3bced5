"""The commands of the Agentic Team: `agiraph team` and `agiraph agentic-shell`."""
