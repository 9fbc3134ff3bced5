"""Merging, decided purely: how a node's commit gets onto the result, and what git reported.

the commit is in the result's history      nothing is to be done (it was merged before)
the result is in the commit's history      the result moves forward to it
else                                       a commit with both as parents, if git can merge
"""

from dataclasses import dataclass
from enum import Enum

from agiraph.core.errors import Refused

FILES_NAMED = 20


class MergeStep(Enum):
    """How a commit is to be merged."""

    NOTHING = "nothing"
    FORWARD = "forward"
    MERGE = "merge"


def way_to(result: str, commit: str, bases: tuple[str, ...]) -> MergeStep:
    """Return how `commit` is merged into `result`, whose merge bases are `bases`."""
    if commit in bases:
        return MergeStep.NOTHING
    return MergeStep.FORWARD if result in bases else MergeStep.MERGE


@dataclass(frozen=True, slots=True)
class TrialMerge:
    """The output of `git merge-tree --write-tree -z --name-only --no-messages`.

    `tree` is the merged tree; the files in `conflicts` hold both sides between markers.
    """

    tree: str
    conflicts: tuple[str, ...]


def read_trial(out: bytes) -> TrialMerge:
    """Parse the output; ValueError if it is empty."""
    fields = [part.decode("utf-8", "surrogateescape") for part in out.split(b"\0")]
    if not fields[0].strip():
        raise ValueError("git merge-tree wrote no tree")
    return TrialMerge(fields[0].strip(), tuple(dict.fromkeys(f for f in fields[1:] if f)))


class MergeConflict(Refused):
    """A node's changes conflict with what others have merged; nothing is merged.

    `files` are those that both have changed.
    """

    def __init__(self, branch: str, files: tuple[str, ...]) -> None:
        super().__init__(conflict_text(branch, files))
        self.files = files


def conflict_text(branch: str, files: tuple[str, ...]) -> str:
    """Return the message of a conflict."""
    more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
    named = ", ".join(files[:FILES_NAMED]) + more
    return f"branch '{branch}' conflicts with what was merged before it, in: {named}"


def has_markers(text: bytes) -> bool:
    """Whether a file still holds both sides of a conflict."""
    lines = text.splitlines()
    begins = any(line.startswith(b"<<<<<<< ") for line in lines)
    return begins and any(line.startswith(b">>>>>>> ") for line in lines)
