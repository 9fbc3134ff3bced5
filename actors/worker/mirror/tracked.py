"""TrackedFiles: the current files that a worker on another machine writes itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from actors.worker.mirror.changes import Stamp
from agiraph.messages.files import PART_BYTES
from agiraph.storage.files import FolderEntry, entries_below, is_part, open_folder, status_of
from agiraph.storage.home import NodeHome, WorkerHome
from agiraph.storage.snapshot import beside
from agiraph.storage.walk import closing, kind_of

MOST_IN_SCRATCH = 2000
"""With more files, scratch/ is sent only when the process ends in order."""
LARGEST_IN_SCRATCH = PART_BYTES
"""A larger file in scratch/ is also sent only then."""
MOST = 100_000


class TrackedFiles:
    """A worker's own folder, and its files in the folder of its current node.

    `base` is the agent's home; all paths are relative to `base`. Without a node, only the own
    folder is tracked.
    """

    def __init__(self, base: Path, own: WorkerHome) -> None:
        self._base = base
        self._own = own
        self._left_out = {beside(own.conversation), own.outside, own.process_guard}
        self.node: NodeHome | None = None

    def is_ours(self, path: str) -> bool:
        """Whether this worker writes a path, and the path is tracked."""
        place = self._base / path
        if place == self._own.path or not self._left_out.isdisjoint((place, *place.parents)):
            return False
        return any(place == top or top in place.parents for top in self._tops())

    def of_node(self, path: str) -> bool:
        """Whether a path is in the folder of the node."""
        return self.node is not None and self.node.path in (self._base / path).parents

    def in_scratch(self, path: str) -> bool:
        """Whether a path is the node's scratch/, or in it."""
        place = self._base / path
        return self.node is not None and self.node.scratch in (place, *place.parents)

    def is_unsynced(self, path: str, *, is_new: bool) -> bool:
        """Whether a file need not be synced to the home's disk before dependent messages.

        A worker at home does not sync these files either: it can continue without them.
        """
        place, own = self._base / path, self._own
        if place in (own.notebook, own.roster) or (self.node and place == self.node.log):
            return True
        return is_new and place in (own.identity, own.memory, own.history)

    def now(self, sent: Mapping[str, Stamp], *, is_last: bool) -> dict[str, Stamp]:
        """Return the stamp of each path; the `sent` one for files that must not be sent yet.

        With `is_last` all files are included, because the next process may run elsewhere.
        """
        found: dict[str, Stamp] = {}
        for top in self._tops():
            here = dict(self._below(top))
            is_scratch = self.node is not None and top == self.node.scratch
            if is_scratch and not is_last:
                here = self._small(here, sent)
            found |= here
        return found

    def _tops(self) -> list[Path]:
        node = self.node
        if node is None:
            return [self._own.path]
        of_node = (node.evidence, node.scratch, node.published, node.attempts, node.log)
        return [*of_node, self._own.path]

    def _small(self, here: dict[str, Stamp], sent: Mapping[str, Stamp]) -> dict[str, Stamp]:
        if len(here) > MOST_IN_SCRATCH:
            return {path: stamp for path, stamp in sent.items() if self.in_scratch(path)}
        small = {path: one for path, one in here.items() if one.size <= LARGEST_IN_SCRATCH}
        return small | {path: sent[path] for path in here.keys() - small.keys() if path in sent}

    def _below(self, top: Path) -> Iterator[tuple[str, Stamp]]:
        status = status_of(top)
        if status is None:
            return
        if top != self._own.path:
            yield self._stamped(top, FolderEntry.of(top.name, status))
        if kind_of(status) != "folder":
            return
        with closing(open_folder(top)) as fd:
            below = entries_below(fd, MOST)
        for relative, entry in below:
            place = top / relative
            is_left = entry.kind == "other" or is_part(entry.name)
            if not is_left and self._left_out.isdisjoint((place, *place.parents)):
                yield self._stamped(place, entry)

    def _stamped(self, place: Path, entry: FolderEntry) -> tuple[str, Stamp]:
        return place.relative_to(self._base).as_posix(), Stamp.of(entry)
