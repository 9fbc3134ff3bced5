"""The folders of agents; what else stands among them is passed over, and that is logged once."""

from pathlib import Path
from typing import Any

from agiraph.storage.files import FolderEntry, entries


class AgentFolders:
    """The folders in one folder, read anew each time."""

    def __init__(self, folder: Path, log: Any) -> None:
        """Read `folder`, which need not exist."""
        self._folder = folder
        self._log = log
        self._told: set[str] = set()

    def names(self) -> list[str]:
        """Return the names of the folders, sorted, without hidden ones; [] if there is none."""
        try:
            found = entries(self._folder)
        except FileNotFoundError:
            return []
        shown = [one for one in found if not one.name.startswith(".")]
        for odd in (one for one in shown if one.kind != "folder"):
            self._tell(odd)
        return [one.name for one in shown if one.kind == "folder"]

    def _tell(self, odd: FolderEntry) -> None:
        if odd.name not in self._told:
            self._told.add(odd.name)
            self._log.warning("no folder of an agent, passed over", name=odd.name, kind=odd.kind)
