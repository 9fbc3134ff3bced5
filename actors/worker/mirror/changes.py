"""Changes: the changes in some folders since the last check, as steps in a safe order; pure.

A renamed file is sent as a rename, so that a large file is not sent twice and a folder changes its
name in one step. A journal comes last, so that the files it refers to exist by then. Removals come
before it, but after all new files: whatever step is interrupted, no content is lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agiraph.messages.files import PART_BYTES
from agiraph.storage.files import FolderEntry
from agiraph.storage.walk import Kind

MADE_AT_ONCE = 256
"""The most changes in one request."""
JOURNAL = "conversation.jsonl"
APPENDED = (f"/{JOURNAL}", "/log.jsonl")
"""Files that only grow, except a last line that was torn."""
OF_MODELS = ("/scratch/", "/published/", "/attempts/")
"""Folders in which such a name has no meaning."""

Content = tuple[Kind, int, int, int]


class Stamp(NamedTuple):
    """Properties of an entry by which its changes are found."""

    kind: Kind
    size: int
    mode: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, entry: FolderEntry) -> "Stamp":
        return cls(entry.kind, entry.size, entry.mode, entry.changed_ns, entry.inode)

    @property
    def content(self) -> Content:
        """The properties that stay the same when the entry is renamed."""
        size = self.size if self.kind == "file" else 0
        return (self.kind, size, self.changed_ns, self.inode)

    def new_bytes(self, begin: int) -> int:
        """Return how many bytes of the file follow `begin`; 0 if the entry is no file."""
        return self.size - begin if self.kind == "file" else 0


Stamps = Mapping[str, Stamp]


@dataclass(frozen=True, slots=True)
class Changes:
    """`moves` first, then `written` (folders before their contents), `removed`, `journals`.

    The values are the offset from which a file is new.
    """

    moves: tuple[tuple[str, str], ...] = ()
    written: Mapping[str, int] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    journals: Mapping[str, int] = field(default_factory=dict)

    def groups(self, now: Stamps) -> Iterator[list[str]]:
        """Yield all changed paths except moves, in order, in groups that fit into a request.

        A path with more new bytes than fit into a request is a group of its own.
        """
        begins = {**self.written, **self.journals}
        group: list[str] = []
        size = 0
        for path in (*self.written, *self.removed, *self.journals):
            new = now[path].new_bytes(begins[path]) if path in now else 0
            if group and (size + new > PART_BYTES or len(group) == MADE_AT_ONCE):
                yield group
                group, size = [], 0
            group.append(path)
            size += new
        if group:
            yield group


def changes(before: Stamps, now: Stamps) -> Changes:
    """Return the changes that lead from the state `before` to `now`."""
    known, moves = _moved(before, now)
    looked = {path: _new_from(path, known.get(path), now[path]) for path in sorted(now)}
    new = {path: at for path, at in looked.items() if at is not None}
    gone = known.keys() - now.keys()
    removed = sorted(one for one in gone if gone.isdisjoint(_folders_of(one)))
    written = {path: at for path, at in new.items() if not path.endswith(f"/{JOURNAL}")}
    journals = {path: at for path, at in new.items() if path not in written}
    return Changes(tuple(moves), written, tuple(removed), journals)


def _moved(before: Stamps, now: Stamps) -> tuple[dict[str, Stamp], list[tuple[str, str]]]:
    """Return the entries after all renames, and these renames in order."""
    known, moves = dict(before), []
    names = _by_content(known)
    for path in sorted(now.keys() - before.keys()):
        if path in known:
            continue  # moved with its folder
        source = _source(path, names.get(now[path].content, {}), now)
        if source is None:
            continue
        moves.append((source, path))
        if known[source].kind == "folder":
            known = {_renamed(one, source, path): stamp for one, stamp in known.items()}
            names = _by_content(known)
        else:  # there may be thousands
            stamp = known[path] = known.pop(source)
            del names[stamp.content][source]
            names[stamp.content][path] = None
    return known, moves


def _by_content(known: Stamps) -> dict[Content, dict[str, None]]:
    """Return the paths of each content, in order."""
    names: dict[Content, dict[str, None]] = {}
    for name, stamp in known.items():
        names.setdefault(stamp.content, {})[name] = None
    return names


def _source(path: str, names: Iterable[str], now: Stamps) -> str | None:
    """Return the first of `names` that no longer exists: the earlier path of the new `path`."""
    inode = now[path].inode
    for name in names:
        is_gone = name not in now or now[name].inode != inode
        if is_gone and not path.startswith(f"{name}/"):
            return name
    return None


def _folders_of(path: str) -> Iterator[str]:
    """Yield the folders that contain a path, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _renamed(path: str, source: str, target: str) -> str:
    if path == source or path.startswith(f"{source}/"):
        return target + path[len(source) :]
    return path


def _new_from(path: str, before: Stamp | None, now: Stamp) -> int | None:
    """Return the byte from which on a file must be sent, None if it has not changed."""
    if before is None or before.kind != now.kind:
        return 0
    if now.kind == "folder":
        return None if before.mode == now.mode else 0
    if before == now:
        return None
    is_longer = before.inode == now.inode and before.size < now.size
    is_journal = path.endswith(APPENDED) and not any(part in path for part in OF_MODELS)
    return before.size if is_journal and is_longer and before.mode == now.mode else 0
