"""Insights: what a worker offers to its agent's memory, and how an accepted one is kept.

An insight is kept under a mark that follows from the message that brought it, so one that is
delivered again after a crash changes nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from agiraph.core.clock import iso
from agiraph.memory.memory_files import MemoryFiles

FILE = "knowledge/from-workers.md"
HEAD = "# What workers have offered\n"
LONGEST = 2000
TITLE_CHARACTERS = 70


@dataclass(frozen=True, slots=True)
class Insight:
    """A worker's insight: what it says, who offered it, on which node of which run, and when."""

    text: str
    worker: str
    node: str
    run: str
    offered_at: float
    mark: str

    @property
    def entry(self) -> str:
        """The section that stands in the agent's memory."""
        text = self.text.strip()[:LONGEST]
        title = " ".join(text.split())[:TITLE_CHARACTERS].lstrip("# ")
        source = f"(offered by {self.worker}, node '{self.node}', run {self.run}"
        return f"## {title}\n\n{text}\n\n{source}, {iso(self.offered_at)}, {self.mark})\n"


def keep(shelf: MemoryFiles, insight: Insight, root: Path) -> bool:
    """Add an insight to the agent's memory at `root`; return False if it stands there already.

    Raises InvalidInput when a bound of the memory is reached.
    """
    old = shelf.documents().get(FILE, HEAD)
    if insight.mark in old:
        return False
    text = f"{old.rstrip()}\n\n{insight.entry}"
    shelf.write(FILE, text, lambda path: root / path)
    return True
