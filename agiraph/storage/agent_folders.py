"""AgentFolders: the names of the agents' folders; other entries beside them are logged once."""

from pathlib import Path
from typing import Any

from agiraph.storage.files import FolderEntry, entries


class AgentFolders:
    """The folders below `folder`, which may be missing; it is listed at each call.

    `log_once` is called for each entry that is not a folder.
    """

    def __init__(self, folder: Path, log: Any) -> None:
        self._folder = folder
        self._log = log
        self._logged: set[str] = set()

    def names(self) -> list[str]:
        """Return the sorted names of the folders, without hidden ones.

        [] if `folder` is missing.
        """
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
