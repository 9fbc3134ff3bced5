"""Tools for testing a team of agents: models that replace real ones."""

from agiraph.llm.embedded.random_model import RandomModel

__all__ = ["RandomModel"]
