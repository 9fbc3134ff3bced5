"""Vault: writing the notes; of an earlier export only the changed notes are written.

The vault is a person's own folder. A manifest lists our files by path and digest. A file that is
not in it, or differs from its digest, is the person's: it is neither overwritten nor removed. A
note keeps its name as long as its title stays, independent of other notes' titles.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import abbreviated
from agiraph.core.record import Record
from agiraph.knowledge.obsidian.index import SETTINGS, IndexEntry, index_text, settings_files
from agiraph.knowledge.obsidian.names import folded, free_name, is_name_for, note_name
from agiraph.knowledge.obsidian.notes import FOLDERS, NoteLink, note_text
from agiraph.knowledge.records import KnowledgeEdge, KnowledgeKind, KnowledgeNode
from agiraph.storage.files import (
    FolderEntry,
    entries,
    make_folder,
    read_bytes,
    remove_file,
    replace_bytes,
)
from agiraph.storage.home import expanded

MANIFEST: Final = ".agiraph-knowledge.json"
INDEX: Final = "_Index"
ENDING: Final = ".md"
MOST_MANIFEST: Final = 512 * 1024 * 1024
MOST_NOTES: Final = 2_000_000


class VaultFile(Record):
    """A file as we wrote it: its path in the vault, and the values that detect a change of it."""

    path: str
    digest: str
    size: int = -1
    mtime_ns: int = -1


class VaultManifest(Record):
    """Our files in a vault: notes by the id of their node, other files by path."""

    version: int = 1
    notes: dict[str, VaultFile] = Field(default_factory=dict)
    others: dict[str, VaultFile] = Field(default_factory=dict)


class VaultExport(Record):
    """The result of an export. `edges_linked` connect two notes, `folders` contain notes.

    `notes_kept` are our notes that the person has changed: they are not overwritten.
    """

    notes_written: int = 0
    edges_linked: int = 0
    folders: tuple[str, ...] = ()
    notes_unchanged: int = 0
    notes_removed: int = 0
    notes_kept: int = 0


def export_vault(
    vault: Path,
    nodes: Iterable[KnowledgeNode],
    edges: Iterable[KnowledgeEdge],
    kinds: Sequence[KnowledgeKind] = (),
) -> VaultExport:
    """Write a note for each node of some kinds (none: all), linked by the edges.

    `nodes` are all existing nodes: notes of other nodes, of these kinds, are removed. Raises
    InvalidInput if the vault cannot be read or written.
    """
    root = expanded(vault).resolve()
    with _explained(root):
        make_folder(root)
        return _Vault(root, {node.id: node for node in nodes}, set(kinds or FOLDERS)).export(edges)


@contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or root
        raise InvalidInput(f"{place}: cannot be written ({error.strerror})") from None


class _Vault:
    """One export of knowledge nodes into one vault."""

    def __init__(
        self, root: Path, nodes: dict[str, KnowledgeNode], kinds: set[KnowledgeKind]
    ) -> None:
        self.root = root
        self.nodes = nodes
        self.kinds = kinds
        self.before = self._manifest()
        self.manifest_paths = {file.path for file in self.before.notes.values()}
        self.notes = dict(self.before.notes)
        self.others = dict(self.before.others)
        self.folders = {"", SETTINGS, *FOLDERS.values()}
        self.there = self._listed()
        self.chosen = sorted(
            (node for node in nodes.values() if node.kind in kinds),
            key=lambda node: (node.created, node.id),
        )
        self.paths = self._paths()
        self.counts: Counter[str] = Counter()
        self.has_changed = False

    def export(self, edges: Iterable[KnowledgeEdge]) -> VaultExport:
        """Write changed notes, remove those of deleted nodes; return the counts.

        The manifest is written even after an error.
        """
        links, linked = self._links(edges)
        try:
            for node in self.chosen:
                self._put_note(node, links.get(node.id, []))
            self._remove_notes()
            self._put_index(links)
            self._put_settings()
        finally:
            self._keep_manifest()
        used = {path.partition("/")[0] for path in self.paths.values()}
        return VaultExport(
            notes_written=self.counts["written"],
            edges_linked=linked,
            folders=tuple(folder for folder in FOLDERS.values() if folder in used),
            notes_unchanged=self.counts["unchanged"],
            notes_removed=self.counts["removed"],
            notes_kept=self.counts["kept"],
        )

    # --- existing files ---

    def _manifest(self) -> VaultManifest:
        place = self.root / MANIFEST
        try:
            return VaultManifest.model_validate_json(read_bytes(place, MOST_MANIFEST, anyones=True))
        except FileNotFoundError:
            return VaultManifest()
        except ValidationError:
            raise InvalidInput(
                f"{place}: is not as Agiraph wrote it, so it is not known which notes are ours"
                " (possible: another folder, or remove it; notes that are there then stay)"
            ) from None

    def _listed(self) -> dict[str, FolderEntry]:
        """Return the entries of the folders that we write to, by path in the vault."""
        found: dict[str, FolderEntry] = {}
        for folder in self.folders:
            try:
                listed = entries(self.root / folder if folder else self.root, MOST_NOTES)
            except FileNotFoundError:
                continue
            for entry in listed:
                found[f"{folder}/{entry.name}" if folder else entry.name] = entry
        return found

    def _whose(self, path: str, written: VaultFile | None, digest: str) -> str:
        """Return the owner of a file: "nobody", "ours" or "person".

        A file is ours if it has the content of the last export (`written`) or of this export
        (`digest`); a missing file has no owner.
        """
        entry = self.there.get(path)
        if entry is None:
            return "nobody"
        if entry.kind != "file":
            return "person"
        if written and (entry.size, entry.changed_ns) == (written.size, written.mtime_ns):
            return "ours"
        found = _digest(read_bytes(self.root / path, max(entry.size, 1), anyones=True))
        return "ours" if found in (digest, written.digest if written else "") else "person"

    # --- names and links ---

    def _paths(self) -> dict[str, str]:
        """Return the path of the note of each node: the old path as long as it fits the title."""
        paths: dict[str, str] = {}
        taken: dict[str, set[str]] = {folder: set() for folder in FOLDERS.values()}
        for path in (*self.there, *self.manifest_paths):
            folder, _, name = path.rpartition("/")
            taken.setdefault(folder, set()).add(folded(name.removesuffix(ENDING)))
        for id, file in self.before.notes.items():
            node = self.nodes.get(id)
            if node is not None and _fits(file.path, node):
                paths[id] = file.path
        for node in self.chosen:
            if node.id not in paths:
                folder = FOLDERS[node.kind]
                name = self._name(node, taken[folder])
                taken[folder].add(folded(name))
                paths[node.id] = f"{folder}/{name}{ENDING}"
        return paths

    def _name(self, node: KnowledgeNode, taken: set[str]) -> str:
        name = note_name(node.title)
        path = f"{FOLDERS[node.kind]}/{name}{ENDING}"
        is_left = path in self.there and self._is_of(path, node)
        return name if is_left else free_name(name, taken, abbreviated(node.id))

    def _is_of(self, path: str, node: KnowledgeNode) -> bool:
        """Whether an unlisted file is a note of `node` from an interrupted export."""
        if path in self.manifest_paths:
            return False
        try:
            data = read_bytes(self.root / path, max(self.there[path].size, 1), anyones=True)
        except OSError:
            return False
        return data.startswith(f'---\nid: "{node.id}"\n'.encode())

    def _links(self, edges: Iterable[KnowledgeEdge]) -> tuple[dict[str, list[NoteLink]], int]:
        """Return the links of each note, and the number of their edges."""
        links: dict[str, list[NoteLink]] = {}
        linked = 0
        seen: set[tuple[str, str, str]] = set()
        for edge in edges:
            ends = (edge.source, edge.kind, edge.target)
            if ends in seen or not (edge.source in self.paths and edge.target in self.paths):
                continue
            seen.add(ends)
            linked += 1
            for here, there, is_outgoing in (
                (edge.source, edge.target, True),
                (edge.target, edge.source, False),
            ):
                path = self.paths[there].removesuffix(ENDING)
                link = NoteLink(edge.kind, is_outgoing, path, self.nodes[there].title, edge.weight)
                links.setdefault(here, []).append(link)
        return links, linked

    # --- writing ---

    def _put_note(self, node: KnowledgeNode, links: Sequence[NoteLink]) -> None:
        path, written = self.paths[node.id], self.before.notes.get(node.id)
        if written and written.path != path:
            self._remove(written)
            written = None
        how, file = self._put(path, note_text(node, links), written)
        self.counts[how] += 1
        if file is None:
            self.notes.pop(node.id, None)
        else:
            self.notes[node.id] = file

    def _put(self, path: str, text: str, written: VaultFile | None) -> tuple[str, VaultFile | None]:
        """Write a file unless it is the person's; return the action, and the file's new record."""
        data = text.encode()
        digest = _digest(data)
        whose = self._whose(path, written, digest)
        if whose == "person":
            return "kept", written
        if whose == "ours" and (written is None or written.digest == digest):
            return "unchanged", written or VaultFile(path=path, digest=digest)
        replace_bytes(self.root / path, data, is_synced=False)
        self.has_changed = True
        return "written", VaultFile(path=path, digest=digest)

    def _remove(self, file: VaultFile) -> None:
        """Remove a note of ours, unless the person has changed it."""
        whose = self._whose(file.path, file, "")
        if whose == "ours":
            remove_file(self.root / file.path)
            self.has_changed = True
            self.counts["removed"] += 1
        elif whose == "person":
            self.counts["kept"] += 1

    def _remove_notes(self) -> None:
        """Remove the notes of nodes that no longer exist, of the exported kinds."""
        folders = {FOLDERS[kind] for kind in self.kinds}
        for id, file in self.before.notes.items():
            if id not in self.nodes and file.path.partition("/")[0] in folders:
                self._remove(file)
                self.notes.pop(id, None)

    def _put_index(self, links: dict[str, list[NoteLink]]) -> None:
        listed: dict[KnowledgeKind, list[IndexEntry]] = {}
        counts: Counter[KnowledgeKind] = Counter()
        for id, path in self.paths.items():
            node = self.nodes[id]
            entry = IndexEntry(path.removesuffix(ENDING), node.title, node.importance)
            listed.setdefault(node.kind, []).append(entry)
            counts[node.kind] += sum(link.is_outgoing for link in links.get(id, []))
        for name in (INDEX, f"{INDEX} (Agiraph)"):
            path = f"{name}{ENDING}"
            how, file = self._put(path, index_text(listed, counts), self.before.others.get(path))
            if file is not None:
                self.others[path] = file
            if how != "kept":
                return

    def _put_settings(self) -> None:
        """Write Obsidian's settings that do not exist: Obsidian changes them itself later."""
        for path, text in settings_files().items():
            if path not in self.there:
                replace_bytes(self.root / path, text.encode(), is_synced=False)

    def _keep_manifest(self) -> None:
        """Store the manifest, with the times by which the next export recognizes our files."""
        if self.has_changed:
            self.there = self._listed()
        manifest = VaultManifest(
            notes={id: self._timed(file) for id, file in sorted(self.notes.items())},
            others={path: self._timed(file) for path, file in sorted(self.others.items())},
        )
        if manifest != self.before:
            replace_bytes(self.root / MANIFEST, f"{manifest.model_dump_json()}\n".encode())

    def _timed(self, file: VaultFile) -> VaultFile:
        """Return the record of a file with its present size and change time.

        A file that has changed since it was written keeps the old values.
        """
        entry = self.there.get(file.path)
        if entry is None or file.size != -1:
            return file
        return VaultFile(
            path=file.path, digest=file.digest, size=entry.size, mtime_ns=entry.changed_ns
        )


def _fits(path: str, node: KnowledgeNode) -> bool:
    """Whether a note's path is a path that its node would get, with or without its mark."""
    folder, _, name = path.rpartition("/")
    is_same_folder = folder == FOLDERS[node.kind]
    return is_same_folder and is_name_for(
        name.removesuffix(ENDING), note_name(node.title), abbreviated(node.id)
    )


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
