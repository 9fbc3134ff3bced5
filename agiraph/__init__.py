"""Agiraph: a goal becomes a team of AI agents, each an operating-system process of its own."""

__version__ = "0.1.0"
