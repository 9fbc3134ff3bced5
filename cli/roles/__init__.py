"""The commands of the Agentic Team: `agiraph roles` and `agiraph agentic-shell`."""
