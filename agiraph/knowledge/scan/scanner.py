"""Scanner: a project's files, compared with the files of the last scan.

First every file is listed, which costs a `stat` each; then the new files, and the files with
another size or change time, are read. Links are not followed, and only the beginning of a file is
read. A scan that reached a limit reports that, and reports no file as deleted.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record
from agiraph.knowledge.records import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    KnowledgeEdge,
    KnowledgeNode,
    KnownProject,
    ScanBatch,
    ScanOutcome,
    node_id,
    project_id,
    project_node_id,
    shortened,
)
from agiraph.knowledge.scan.ignores import IGNORE_FILE, IgnoreFile, ignore_file, is_ignored
from agiraph.knowledge.scan.languages import (
    CODE,
    described,
    first_paragraph,
    is_binary,
    language_of,
)
from agiraph.knowledge.scan.stack import (
    SYSTEMS,
    FoundPattern,
    Manifests,
    manifests_of,
    patterns_of,
    stack_of,
)
from agiraph.storage.files import FolderEntry, entries, read_part, status_of

AT_ONCE: Final = 400
HEAD: Final = 16 * 1024
MANIFEST: Final = 512 * 1024
MOST_OUTER: Final = 20
READMES: Final = frozenset({"readme.md", "readme.rst", "readme.txt", "readme"})


class ScanLimits(Record):
    """The limits of a scan. A file of more than `largest` bytes is left out."""

    files: int = 100_000
    largest: int = 1024 * 1024
    depth: int = 40
    in_a_folder: int = 20_000
    seconds: float = 120.0


NOTHING: Final = KnownProject()
USUAL: Final = ScanLimits()


@dataclass(slots=True)
class ProjectFiles:
    """The files of a project with their entries, by path.

    `unread` are folders without a listing.
    """

    files: dict[str, FolderEntry] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    skipped: int = 0
    is_complete: bool = True


def scan(
    folder: Path,
    known: KnownProject = NOTHING,
    limits: ScanLimits = USUAL,
    now: float | None = None,
) -> Iterator[ScanBatch]:
    """Yield the changes of a project since `known`. Raises InvalidInput if it is not a folder."""
    scanner = _Scanner(folder, known, limits, time.time() if now is None else now)
    yield scanner.project()
    yield from scanner.changed_files()
    yield from scanner.gone_files()
    yield ScanBatch(done=scanner.outcome())


class _Scanner:
    """One scan of one project."""

    def __init__(self, folder: Path, known: KnownProject, limits: ScanLimits, now: float) -> None:
        self.root = folder.resolve()
        self.project_id = project_id(self.root)
        self.known = {file.path: (file.size, file.mtime_ns) for file in known.files}
        self.known_patterns = known.patterns
        self.limits = limits
        self.now = now
        self.began = time.monotonic()
        self.new = self.changed = self.gone = 0
        try:
            self.listing = self._listed()
        except OSError as error:
            reason = f"{self.root}: cannot be scanned ({error.strerror})"
            raise InvalidInput(reason) from None
        self.is_complete = self.listing.is_complete

    def outcome(self) -> ScanOutcome:
        """Return counts, duration and completeness of the scan."""
        return ScanOutcome(
            project_id=self.project_id,
            files=len(self.listing.files),
            new=self.new,
            changed=self.changed,
            gone=self.gone,
            skipped=self.listing.skipped,
            seconds=round(time.monotonic() - self.began, 2),
            is_complete=self.is_complete,
        )

    # --- listing ---

    def _listed(self) -> ProjectFiles:
        """Return the files of the project that are not ignored, listed folder by folder."""
        listing = ProjectFiles()
        waiting: list[tuple[str, int, tuple[IgnoreFile, ...]]] = [("", 0, self._outer_ignores())]
        while waiting:
            folder, depth, ignores = waiting.pop()
            if self._is_over(listing) or depth > self.limits.depth:
                listing.is_complete = False
                continue
            try:
                found = entries(self.root / folder, self.limits.in_a_folder + 1)
            except OSError:
                if not folder:
                    raise
                listing.unread.append(f"{folder}/")
                continue
            listing.is_complete &= len(found) <= self.limits.in_a_folder
            ignores = self._with_own(folder, found, ignores)
            for entry in reversed(found):  # the last entry on the stack is the next to be read
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.kind == "folder" and self._is_looked_at(path, entry, ignores):
                    waiting.append((path, depth + 1, ignores))
                elif entry.kind == "file" and self._is_looked_at(path, entry, ignores):
                    self._take(listing, path, entry)
        listing.files = dict(sorted(listing.files.items()))
        return listing

    def _is_looked_at(self, path: str, entry: FolderEntry, ignores: tuple[IgnoreFile, ...]) -> bool:
        """Whether a file or folder is scanned: it is not ignored, and its name is valid UTF-8."""
        is_folder = entry.kind == "folder"
        is_name = entry.name.isascii() or not any("\ud800" <= one <= "\udfff" for one in entry.name)
        return is_name and not is_ignored(path, entry.name, ignores, is_folder=is_folder)

    def _take(self, listing: ProjectFiles, path: str, entry: FolderEntry) -> None:
        if entry.size > self.limits.largest or not _is_text(path):
            listing.skipped += 1
        elif len(listing.files) >= self.limits.files:
            listing.is_complete = False
        else:
            listing.files[path] = entry

    def _is_over(self, listing: ProjectFiles) -> bool:
        is_full = len(listing.files) >= self.limits.files
        return is_full or time.monotonic() - self.began > self.limits.seconds

    def _with_own(
        self, folder: str, found: Sequence[FolderEntry], above: tuple[IgnoreFile, ...]
    ) -> tuple[IgnoreFile, ...]:
        """Return the ignore files for a folder: its own .gitignore, then those `above` it."""
        if not any(entry.name == IGNORE_FILE and entry.kind == "file" for entry in found):
            return above
        path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
        return (ignore_file(folder, self._text(path, MANIFEST)), *above)

    def _outer_ignores(self) -> tuple[IgnoreFile, ...]:
        """Return the ignore files above the project, up to the top of its repository.

        () if the project is in no repository.
        """
        found: list[IgnoreFile] = []
        outer = ""
        here = self.root
        for _ in range(MOST_OUTER):
            if status_of(here / ".git") is not None:
                return tuple(found)
            outer, here = f"{here.name}/{outer}", here.parent
            if here == here.parent:
                break
            text = _read(here / IGNORE_FILE, MANIFEST)
            if text:
                found.append(ignore_file("", text, outer))
        return ()  # not in a repository

    # --- project and patterns ---

    def project(self) -> ScanBatch:
        """Return the nodes of the project and its patterns, and their edges."""
        paths = list(self.listing.files)
        manifests = manifests_of(paths, lambda path: self._text(path, MANIFEST))
        languages = Counter(language_of(path.rpartition("/")[2]) for path in paths)
        project = self._project_node(manifests, languages)
        patterns = patterns_of(paths, manifests)
        nodes = [self._pattern_node(pattern) for pattern in patterns]
        about = [KnowledgeEdge(source=node.id, target=project.id, kind="about") for node in nodes]
        gone = set(self.known_patterns) - {node.id for node in nodes}
        return ScanBatch(
            nodes=(project, *nodes),
            edges=tuple(about),
            gone=tuple(sorted(gone)) if self.is_complete else (),
        )

    def _project_node(self, manifests: Manifests, languages: Counter[str]) -> KnowledgeNode:
        stack = stack_of(languages, manifests)
        readme = next((path for path in self.listing.files if path.lower() in READMES), None)
        about = first_paragraph(self._text(readme, HEAD)) if readme else ""
        spoken = [(name, count) for name, count in languages.most_common() if name in CODE][:8]
        counts = ", ".join(f"{name} ({count} files)" for name, count in spoken)
        lines = [about, f"Stack: {', '.join(stack)}" if stack else "", counts and f"Code: {counts}"]
        return self._node(
            project_node_id(self.project_id), "project", self.root.name or str(self.root),
            "\n\n".join(filter(None, lines)), 0.7, tags=stack[:12],
            path=str(self.root), stack=list(stack), languages=dict(spoken),
            files=len(self.listing.files),
        )  # fmt: skip

    def _pattern_node(self, pattern: FoundPattern) -> KnowledgeNode:
        return self._node(
            node_id("pattern", self.project_id, pattern.key), "pattern", pattern.title,
            pattern.text, 0.6, tags=("scan",), is_scanned=True, files=list(pattern.files),
        )  # fmt: skip

    # --- files ---

    def changed_files(self) -> Iterator[ScanBatch]:
        """Yield the files that are new or changed, in batches."""
        nodes: list[KnowledgeNode] = []
        for path, entry in self.listing.files.items():
            before = self.known.get(path)
            if before == (entry.size, entry.changed_ns):
                continue
            if time.monotonic() - self.began > self.limits.seconds:
                self.is_complete = False
                break
            node = self._file_node(path, entry)
            if node is None:
                self.listing.skipped += 1
                continue
            self.new += before is None
            self.changed += before is not None
            nodes.append(node)
            if len(nodes) == AT_ONCE:
                yield self._batch(nodes)
                nodes = []
        if nodes:
            yield self._batch(nodes)

    def gone_files(self) -> Iterator[ScanBatch]:
        """Yield the ids of the deleted files, if the whole project was read."""
        if not self.is_complete:
            return
        unread = tuple(self.listing.unread)
        gone = [
            self._file_id(path)
            for path in self.known
            if path not in self.listing.files and not (unread and path.startswith(unread))
        ]
        self.gone = len(gone)
        for start in range(0, len(gone), AT_ONCE):
            yield ScanBatch(gone=tuple(gone[start : start + AT_ONCE]))

    def _batch(self, nodes: Sequence[KnowledgeNode]) -> ScanBatch:
        project = project_node_id(self.project_id)
        edges = [KnowledgeEdge(source=node.id, target=project, kind="part_of") for node in nodes]
        return ScanBatch(nodes=tuple(nodes), edges=tuple(edges))

    def _file_node(self, path: str, entry: FolderEntry) -> KnowledgeNode | None:
        """Return the node of a file, None if it is binary or cannot be read."""
        try:
            head, _ = read_part(self.root / path, 0, HEAD, anyones=True)
        except OSError:
            return None
        if is_binary(head):
            return None
        name = path.rpartition("/")[2]
        language = language_of(name)
        text = described(language, head.decode("utf-8", "replace"))
        tags = [language] if language else []
        return self._node(
            self._file_id(path), "file", path, text, _importance(path), tags=tags,
            path=path, size=entry.size, mtime_ns=entry.changed_ns, language=language,
        )  # fmt: skip

    def _file_id(self, path: str) -> str:
        return node_id("file", self.project_id, path)

    def _node(
        self, id: str, kind: str, title: str, text: str, importance: float,
        *, tags: Sequence[str] = (), **data: object,
    ) -> KnowledgeNode:  # fmt: skip
        return KnowledgeNode.model_validate(
            {
                "id": id,
                "kind": kind,
                "title": shortened(title, LONGEST_TITLE),
                "text": shortened(text, LONGEST_TEXT),
                "project_id": self.project_id,
                "tags": tuple(tags),
                "importance": importance,
                "created": self.now,
                "updated": self.now,
                "data": data,
            }
        )

    def _text(self, path: str, most: int) -> str:
        return _read(self.root / path, most)


def _read(path: Path, most: int) -> str:
    try:
        return read_part(path, 0, most, anyones=True)[0].decode("utf-8", "replace")
    except OSError:
        return ""


ENDINGS: Final = """
    png jpg jpeg gif webp ico bmp tiff svgz pdf zip gz xz bz2 zst tar tgz jar war class so dylib
    dll exe o a obj pyc pyo wasm woff woff2 ttf otf eot mp3 mp4 mov avi mkv wav ogg flac db sqlite
    sqlite3 bin dat pkl npy npz parquet onnx gguf safetensors pt pth h5 doc docx xls xlsx ppt pptx
    map lock"""
BINARY: Final = frozenset(ENDINGS.split())


def _is_text(path: str) -> bool:
    """Whether a file with this name may contain useful text."""
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2] if "." in name else ""
    return (ending not in BINARY or name in SYSTEMS) and not name.endswith((".min.js", ".min.css"))


def _importance(path: str) -> float:
    """Return how important a file is: a README and manifests more, tests less than others."""
    name = path.rpartition("/")[2]
    if name.lower() in READMES or name in SYSTEMS:
        return 0.4 if "/" in path else 0.5
    parts = path.split("/")
    return 0.15 if parts[0] in ("tests", "test", "spec") or name.startswith("test_") else 0.25
