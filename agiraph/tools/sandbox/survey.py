"""Survey: every autorun file in a person's folder, found by one bounded walk.

No link is followed, and each folder is opened relative to its parent: a command that runs meanwhile
cannot lead the walk out of the folder. A folder of 5,000 folders with 86,000 files takes 0.1 s.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agiraph.storage.files import open_folder
from agiraph.storage.walk import closing, folder_of
from agiraph.tools.sandbox.autorun import (
    DEPENDENCIES,
    GIT,
    VENV_FILE,
    is_git_folder,
    program_of,
)

ROOT: Final = "."
"""The path of the folder itself, which may be a repository without `.git`."""

MOST_FOLDERS: Final = 100_000
MOST_LEVELS: Final = 100
MOST_FOUND: Final = 5_000
MOST_INNER: Final = 1_000
MOST_INNER_LEVELS: Final = 5


@dataclass(frozen=True, slots=True)
class FoundAutorun:
    """A file or folder that makes `program` run commands; `path` is within the survey.

    A file that is replaced gets another `inode`.
    """

    path: str
    program: str
    inode: int
    is_link: bool = False
    changed: int = 0
    """When the inode of a file was changed last, in ns; 0 for a folder."""

    @property
    def mark(self) -> str:
        """A text that differs once the file is replaced or changed."""
        return f"{self.inode}.{self.changed}"


@dataclass(frozen=True, slots=True)
class InputSurvey:
    """The result of a walk. `gap` says why it is incomplete, '' if it is complete.

    `same` are the paths of the files with a requested inode.
    """

    found: tuple[FoundAutorun, ...]
    gap: str = ""
    same: tuple[str, ...] = ()


@dataclass(slots=True)
class _Walk:
    inodes: frozenset[int]
    found: list[FoundAutorun] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    folders: int = 0
    gap: str = ""


def survey(folder: Path, inodes: frozenset[int] = frozenset()) -> InputSurvey:
    """Search everything below a folder; return the autorun files, sorted by path.

    The content of an autorun folder is not searched. An empty folder is no autorun file: it may be
    a stand-in. `inodes` are inodes of files whose other names are wanted. Raises OSError if the
    folder itself cannot be opened.
    """
    walk = _Walk(inodes)
    with closing(open_folder(folder)) as fd:
        _look(walk, fd, "", 0, is_installed=False)
    found = sorted(walk.found, key=lambda one: one.path.split("/"))
    return InputSurvey(tuple(found), walk.gap, tuple(sorted(walk.same)))


def _look(walk: _Walk, fd: int, path: str, level: int, *, is_installed: bool) -> None:
    """Search an open folder; `is_installed`: it belongs to installed packages."""
    walk.folders += 1
    if walk.folders > MOST_FOLDERS:
        walk.gap = f"it has more than {MOST_FOLDERS:,} folders"
        return
    if level > MOST_LEVELS:
        walk.gap = f"it has folders more than {MOST_LEVELS} levels deep"
        return
    with os.scandir(fd) as listed:  # plain: the person's input folder
        entries = {entry.name: entry for entry in listed}
    if is_git_folder(entries):
        _add(walk, FoundAutorun(path or ROOT, GIT, os.fstat(fd).st_ino))
        if path:
            return
    is_installed = is_installed or VENV_FILE in entries
    above = path.rpartition("/")[2]
    for name, entry in entries.items():
        if walk.gap:
            return
        inner = f"{path}/{name}" if path else name
        is_folder = entry.is_dir(follow_symlinks=False)
        program = program_of(name, above)
        if program and (program == GIT or not is_installed):
            if not (is_folder and _is_empty(fd, name)):
                changed = 0 if is_folder else _changed(fd, name)
                found = FoundAutorun(inner, program, entry.inode(), entry.is_symlink(), changed)
                _add(walk, found)
        elif is_folder:
            installed = is_installed or name in DEPENDENCIES
            with _opened(walk, fd, name, inner) as below:
                if below is not None:
                    _look(walk, below, inner, level + 1, is_installed=installed)
        elif walk.inodes and entry.inode() in walk.inodes:
            walk.same.append(inner)


def changed_at(path: Path) -> int:
    """Return when a file, or a folder with its contents, was last changed (ns); 0 if missing.

    It is the inode's time of change (ctime), which no command can set back.
    """
    try:
        with folder_of(path) as above:
            return _changed_at(above, path.name, MOST_INNER_LEVELS)
    except OSError:
        return 0


def _changed_at(above: int, name: str, levels: int) -> int:
    status = os.stat(name, dir_fd=above, follow_symlinks=False)
    newest = status.st_ctime_ns
    if stat.S_ISDIR(status.st_mode) and levels > 0:
        with closing(_open(above, name)) as fd:
            for inner in os.listdir(fd)[:MOST_INNER]:  # plain: the person's input folder
                newest = max(newest, _changed_at(fd, inner, levels - 1))
    return newest


def _add(walk: _Walk, found: FoundAutorun) -> None:
    if len(walk.found) >= MOST_FOUND:
        walk.gap = f"it has more than {MOST_FOUND:,} files because of which programs run commands"
    elif any("\ud800" <= one <= "\udfff" for one in found.path):
        walk.gap = f"the name {found.path!r} is not UTF-8"
    else:
        walk.found.append(found)


def _changed(above: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=above, follow_symlinks=False).st_ctime_ns
    except OSError:  # it was removed meanwhile
        return 0


def _is_empty(above: int, name: str) -> bool:
    try:
        with closing(_open(above, name)) as fd:
            return not os.listdir(fd)  # plain: the person's input folder
    except OSError:
        return False


@contextmanager
def _opened(walk: _Walk, above: int, name: str, path: str) -> Iterator[int | None]:
    """Yield the descriptor of a folder; None if it is missing, or belongs to another user."""
    try:
        fd = _open(above, name)
    except PermissionError:
        if os.stat(name, dir_fd=above, follow_symlinks=False).st_uid == os.geteuid():
            walk.gap = f"{path} cannot be read"  # but a command could change its mode
        yield None
    except OSError:
        yield None
    else:
        with closing(fd):
            yield fd


def _open(above: int, name: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=above)  # plain: the person's input folder
