"""The folders of agents; other entries beside them are skipped, and logged once."""

from pathlib import Path
from typing import Any

from agiraph.storage.files import FolderEntry, entries


class AgentFolders:
    """The folders in one folder, which may be missing; listed at each call."""

    def __init__(self, folder: Path, log: Any) -> None:
        self._folder = folder
        self._log = log
        self._logged: set[str] = set()

    def names(self) -> list[str]:
        """Return the names of the folders, sorted, without hidden ones; [] if there is none."""
        try:
            found = entries(self._folder)
        except FileNotFoundError:
            return []
        shown = [one for one in found if not one.name.startswith(".")]
        for odd in (one for one in shown if one.kind != "folder"):
            self._log_once(odd)
        return [one.name for one in shown if one.kind == "folder"]

    def _log_once(self, odd: FolderEntry) -> None:
        if odd.name not in self._logged:
            self._logged.add(odd.name)
            self._log.warning("no folder of an agent, passed over", name=odd.name, kind=odd.kind)
