"""Publishing: move a node's scratch/ to published/, so that a crash at any moment loses nothing.

Each file is renamed, which is one step for the file system, and then made read-only; a second
call finishes what a first one began. Links and special files are left behind: a link would make
`published/` lead to files that its readers may not see. A file with a second name (a hard link)
is copied, else its other name could still change what was published.
"""

import os
import shutil
import stat
from pathlib import Path

from agiraph.errors import InvalidInput
from agiraph.storage.home import NodeHome

READ_ONLY = 0o444


def publish_files(node: NodeHome, but: str = "") -> tuple[str, ...]:
    """Promote everything in scratch/; return the sorted relative paths of all published files.

    What is called `but` in scratch/ (its git worktree, if it has one) is left where it is. Safe to
    call again after a crash or a success. Raises InvalidInput if there is nothing to publish,
    OSError if the file system refuses.
    """
    _require_real_folder(node.scratch)
    _require_real_folder(node.published)
    files = _regular_files(node.scratch, but)
    if not files and not _regular_files(node.published):
        raise InvalidInput("nothing to publish: scratch/ is empty")
    for file in files:
        _promote(node.scratch / file, node.published, file)
    for folder in {(node.published / file).parent for file in files}:
        _sync(folder)
    published = _regular_files(node.published)
    for file in published:
        _make_read_only(node.published / file)
    return tuple(sorted(file.as_posix() for file in published))


def files_left(node: NodeHome, but: str = "") -> tuple[str, ...]:
    """Return the sorted relative paths of what stands in scratch/; () if it cannot be looked at.

    What is called `but` there is not named.
    """
    if node.scratch.is_symlink() or not node.scratch.is_dir():
        return ()
    try:
        return tuple(sorted(file.as_posix() for file in _regular_files(node.scratch, but)))
    except OSError:
        return ()


def _require_real_folder(folder: Path) -> None:
    if folder.is_symlink():
        raise InvalidInput(f"{folder.name}/ is a link; it must be the node's own folder")
    folder.mkdir(parents=True, exist_ok=True)


def _regular_files(folder: Path, but: str = "") -> list[Path]:
    """Return the regular files below a folder, relative to it; links are never followed."""
    found: list[Path] = []
    for base, folders, names in os.walk(folder, followlinks=False, onerror=_raise):
        if but and Path(base) == folder:
            folders[:] = [name for name in folders if name != but]
        for name in names:
            if stat.S_ISREG((Path(base) / name).lstat().st_mode):
                found.append((Path(base) / name).relative_to(folder))
    return found


def _raise(error: OSError) -> None:
    raise error


def _promote(source: Path, published: Path, file: Path) -> None:
    target = published / file
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(published.resolve()):
        raise InvalidInput(f"published/{file.parent.as_posix()} is a link that leads elsewhere")
    if source.lstat().st_nlink > 1:
        _copy(source, target)
        source.unlink()
    else:
        _sync(source)
        os.replace(source, target)


def _copy(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    shutil.copyfile(source, part, follow_symlinks=False)
    _sync(part)
    os.replace(part, target)


def _make_read_only(file: Path) -> None:
    if stat.S_IMODE(file.lstat().st_mode) & 0o222:
        executable = stat.S_IMODE(file.lstat().st_mode) & 0o111
        os.chmod(file, READ_ONLY | executable)


def _sync(path: Path) -> None:
    """Wait until a file's content (or a folder's names) is on disk, if it can be opened."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return  # a file its worker made unreadable is published as it is
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
