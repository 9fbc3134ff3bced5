"""Files: open, replace, create, list and remove files of a home, all through this module.

The commands of a model write into some folders of a home, so any entry in them may be an attempt to
make a process of ours open a file elsewhere. Five rules apply to every path that is used here:

1. A path is walked from the root and no component may be a link (`walk.py`). Links above a home are
   the person's own (`Home` resolves its path once).
2. Only regular files of this user are opened, and opening never blocks: no pipe, socket or device.
3. A file that is written in place has exactly one name: a hard link could belong to any user.
4. New content is written to a new file with a random name (O_EXCL), synced and renamed, and the
   folder is synced: readers see the old content or the new one, also after a power cut.
5. A read has a limit.

On a full disk a write raises OSError, or waits for space in contexts that allow it
(`disk_space.py`).

A violation raises `UnsafeFile`, an OSError: a caller that can work without the file treats it as an
unreadable file. Files that only the person writes (settings, prompts, input) may be links and are
opened directly; each such place is marked (`tests/openings.py`).
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.storage.disk_space import patiently
from agiraph.storage.walk import (
    FOLDER,
    ODD,
    PATH_ONLY,
    STEP,
    Kind,
    UnsafeFile,
    closing,
    explained,
    folder_of,
    kind_of,
    several_names,
    step,
    walk,
)

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_SHOWN: Final = 1024 * 1024
MOST_ENTRIES: Final = 100_000
MOST_LEVELS: Final = 100
AT_ONCE: Final = 1000
PART_SUFFIX: Final = ".part"

_FILE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_TRUNC
_ODD_KINDS: Final = {"folder": errno.EISDIR, "link": errno.ELOOP, "other": errno.ENXIO}


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder: its kind, its size in bytes and its change time (Unix).

    A file that is renamed keeps its `inode` and its change time in nanoseconds.
    """

    name: str
    kind: Kind
    size: int
    changed_at: float
    mode: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, name: str, status: os.stat_result) -> "FolderEntry":
        """Return the entry `name` with the kind, size and times in `status` (an lstat)."""
        return cls(
            name,
            kind_of(status),
            status.st_size,
            status.st_mtime,
            stat.S_IMODE(status.st_mode),
            status.st_mtime_ns,
            status.st_ino,
        )


def open_file(
    path: Path, flags: int = os.O_RDONLY, mode: int = 0o600, *, anyones: bool = False
) -> int:
    """Open a regular file of ours and return its descriptor; with O_CREAT its folders are created.

    `anyones`: it may belong to another user (a person's input). Raises UnsafeFile, OSError.
    """
    return patiently(lambda: _open(path, flags, mode, anyones))


def can_lock(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Try to lock an open file (flock); return False if another process holds the lock."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Yield the descriptor of a file that is open in the block. Raises as `open_file`."""
    with closing(open_file(path, flags)) as fd:
        yield fd


def _open(path: Path, flags: int, mode: int, anyones: bool) -> int:
    with folder_of(path, make=bool(flags & os.O_CREAT)) as folder:
        try:
            # Not O_TRUNC: it is truncated only after it is known to be a file that we may write.
            fd = os.open(path.name, (flags & ~os.O_TRUNC) | _FILE, mode, dir_fd=folder)
        except OSError as error:
            raise explained(error, path.name, folder, str(path)) from None
    try:
        _refuse_unless_plain(os.fstat(fd), path, bool(flags & _WRITING), anyones)
        if flags & os.O_TRUNC:
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _refuse_unless_plain(
    status: os.stat_result, path: Path, is_written: bool, anyones: bool
) -> None:
    odd = _ODD_KINDS.get(kind_of(status))
    if odd is not None:
        raise UnsafeFile(odd, ODD[odd], str(path))
    if status.st_uid != os.geteuid() and not anyones:
        raise UnsafeFile(errno.EPERM, f"belongs to user {status.st_uid}", str(path))
    if is_written and status.st_nlink > 1:
        raise several_names(status.st_nlink, path)


def read_bytes(path: Path, most: int = MOST_BYTES, *, anyones: bool = False) -> bytes:
    """Return a whole file. Raises UnsafeFile if larger than `most` bytes, else as `open_file`."""
    data, size = read_part(path, 0, most + 1, anyones=anyones)
    if len(data) > most:
        raise UnsafeFile(errno.EFBIG, f"has {size} bytes, more than {most}", str(path))
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return a whole file as text, with invalid UTF-8 replaced. Raises as `read_bytes`."""
    return read_bytes(path, most).decode("utf-8", "replace")


def read_shown(path: Path, most: int = MOST_SHOWN) -> str:
    """Return the beginning of a text that is only displayed, at most `most` bytes.

    "" if it is missing or not safe to read. NUL characters are left out: a sparse file is full of
    them.
    """
    try:
        return read_part(path, 0, most)[0].replace(b"\0", b"").decode("utf-8", "replace")
    except OSError:
        return ""


def read_part(path: Path, offset: int, most: int, *, anyones: bool = False) -> tuple[bytes, int]:
    """Return up to `most` bytes from `offset` on, and the file's size. Raises as `open_file`."""
    with closing(open_file(path, anyones=anyones)) as fd:
        size = os.fstat(fd).st_size
        return read_descriptor(fd, offset, most), size


def read_descriptor(fd: int, offset: int = 0, most: int | None = None) -> bytes:
    """Return up to `most` bytes (None: all) from `offset` on in an open file."""
    pieces: list[bytes] = []
    left = most
    while left is None or left > 0:
        piece = os.pread(fd, 1 << 24 if left is None else min(left, 1 << 24), offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
        left = None if left is None else left - len(piece)
    return b"".join(pieces)


def replace_file(path: Path, text: str, *, is_synced: bool = True) -> None:
    """Replace a file in one step; readers see the old or the new content. Without the sync it takes
    a tenth of the time, but may be empty after a power cut. Its folders are created.
    """
    replace_bytes(path, text.encode(), is_synced=is_synced)


def replace_bytes(path: Path, data: bytes, mode: int = 0o666, *, is_synced: bool = True) -> None:
    """Write a whole file in one step, as `replace_file`; `mode` is before the umask.

    A link with its name is replaced, not followed; a folder is renamed to `{name}.folder-...`.
    Raises UnsafeFile if the path is not safe, OSError.
    """
    patiently(lambda: _replace(path, data, mode, is_synced))


def _replace(path: Path, data: bytes, mode: int, is_synced: bool) -> None:
    with new_file(path, mode, is_synced=is_synced) as fd:
        write_all(fd, data)


@contextmanager
def new_file(path: Path, mode: int = 0o666, *, is_synced: bool = True) -> Iterator[int]:
    """Yield a descriptor whose content becomes the file `path` if the block does not raise."""
    with folder_of(path, make=True) as folder:
        part = f".{secrets.token_hex(8)}{PART_SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        fd = os.open(part, flags, mode, dir_fd=folder)
        try:
            try:
                yield fd
                if is_synced:
                    os.fsync(fd)
            finally:
                os.close(fd)
            _put(part, path, folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise
        if is_synced:
            _sync(folder)


def _put(part: str, path: Path, folder: int) -> None:
    try:
        os.replace(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except IsADirectoryError:
        aside = f"{path.name}.folder-{secrets.token_hex(4)}"
        os.rename(path.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        os.replace(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        raise explained(error, path.name, folder, str(path)) from None


def write_all(fd: int, data: bytes) -> None:
    """Write every byte to a descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def append_all(fd: int, data: bytes) -> None:
    """Append every byte to a file, or none: a full disk leaves no partial record."""
    before = os.fstat(fd).st_size
    try:
        write_all(fd, data)
    except OSError:
        os.ftruncate(fd, before)
        raise


def is_part(name: str) -> bool:
    """Whether a name is the name of an unfinished file of `new_file`."""
    return name.startswith(".") and name.endswith(PART_SUFFIX) and len(name) == 22


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents. Raises UnsafeFile, OSError."""
    patiently(lambda: _make_folder(path, mode))


def _make_folder(path: Path, mode: int) -> None:
    with folder_of(path, make=True) as above:
        try:
            os.mkdir(path.name, mode, dir_fd=above)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise explained(error, path.name, above, str(path)) from None
            os.close(step(path.name, above, str(path), make=False))


def make_private_folder(path: Path) -> None:
    """Create a folder with mode 0700, or set that mode on ours. Raises UnsafeFile, OSError."""
    make_folder(path, 0o700)
    with closing(walk(path, make=False)) as fd:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise UnsafeFile(errno.EPERM, f"belongs to user {status.st_uid}", str(path))
        if stat.S_IMODE(status.st_mode) & 0o077:
            _close_to_others(fd)


def _close_to_others(folder: int) -> None:
    """Set mode 0700 on a folder that is open by O_PATH."""
    os.chmod(_place_of(folder), stat.S_IRWXU)


def _place_of(fd: int) -> int | str:
    """Return an argument for os.chmod: a descriptor by O_PATH has no fchmod."""
    return f"/proc/self/fd/{fd}" if PATH_ONLY else fd  # leads only to the open file


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk."""
    with closing(walk(path, make=False)) as fd:
        _sync(fd)


def _listable(folder: int) -> int:
    """Return a descriptor to list or sync a folder that is open by O_PATH."""
    return os.open(".", os.O_RDONLY | FOLDER, dir_fd=folder)


def _sync(folder: int) -> None:
    with closing(_listable(folder)) as fd:
        os.fsync(fd)


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of `path` without following a link; None if it does not exist.

    Raises UnsafeFile if a folder in the path is a link.
    """
    try:
        with folder_of(path) as folder:
            return os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_file(path: Path) -> bool:
    """Whether there is a regular file at `path`, reached without any link."""
    return _has_kind(path, "file")


def is_missing(path: Path) -> bool:
    """Whether `path` has no file with content: a power cut may leave an empty file."""
    status = status_of(path)
    return status is None or kind_of(status) != "file" or status.st_size == 0


def is_folder(path: Path) -> bool:
    """Whether there is a folder at `path`, reached without any link."""
    return _has_kind(path, "folder")


def _has_kind(path: Path, kind: Kind) -> bool:
    try:
        status = status_of(path)
    except OSError:
        return False
    return status is not None and kind_of(status) == kind


def entries(path: Path, most: int = MOST_ENTRIES) -> list[FolderEntry]:
    """Return the entries of a folder, sorted by name; any `most` of them if there are more.

    Raises UnsafeFile, OSError; FileNotFoundError if there is no such folder.
    """
    with closing(walk(path, make=False)) as fd:
        return sorted(scan(fd, most), key=lambda entry: entry.name)


def open_folder(path: Path) -> int:
    """Return a descriptor of a folder for `scan`. Raises UnsafeFile, OSError."""
    with closing(walk(path, make=False)) as fd:
        return _listable(fd)


def scan(fd: int, most: int) -> list[FolderEntry]:
    """Return the entries of an open folder, unsorted; any `most` of them if there are more."""
    found: list[FolderEntry] = []
    with closing(_listable(fd)) as listed, os.scandir(listed) as names:
        for name in names:
            if len(found) >= most:
                break
            with suppress(FileNotFoundError):
                found.append(FolderEntry.of(name.name, name.stat(follow_symlinks=False)))
    return found


def files_below(path: Path, most: int = MOST_ENTRIES) -> list[tuple[Path, FolderEntry]]:
    """Return the regular files below a folder with their relative paths, sorted; no links.

    Unfinished files are left out, and all files beyond the first `most` names or more than
    MOST_LEVELS folders deep.
    """
    with closing(walk(path, make=False)) as fd:
        found = entries_below(fd, most)
    files = (one for one in found if one[1].kind == "file" and not is_part(one[1].name))
    return sorted(files, key=lambda one: one[0])


def entries_below(fd: int, most: int, levels: int = MOST_LEVELS) -> list[tuple[Path, FolderEntry]]:
    """Return all entries below an open folder with their relative paths, unsorted.

    `levels` is the number of folder levels; if there are more than `most` entries, any `most`.
    """
    found: list[tuple[Path, FolderEntry]] = []
    _gather(fd, Path(), most, levels, found)
    return found


def _gather(
    fd: int, folder: Path, most: int, levels: int, found: list[tuple[Path, FolderEntry]]
) -> int:
    """Add at most `most` entries below the open `fd` to `found`; return how many may follow."""
    here = scan(fd, most)
    most -= len(here)
    for entry in here:
        found.append((folder / entry.name, entry))
        if entry.kind == "folder" and most > 0 and len(folder.parts) < levels:
            try:
                inner = os.open(entry.name, STEP, dir_fd=fd)
            except (FileNotFoundError, NotADirectoryError):
                continue  # it was removed or replaced since it was listed
            with closing(inner):
                most = _gather(inner, folder / entry.name, most, levels, found)
    return most


def remove_file(path: Path) -> None:
    """Remove a file, or a link itself; a missing file is no error."""
    with suppress(FileNotFoundError), folder_of(path) as folder:
        os.unlink(path.name, dir_fd=folder)


def remove_tree(path: Path) -> None:
    """Remove a folder with all its contents, or a file; links are removed, never followed.

    Unwritable files are removed too, and folders of any depth. A missing folder is no error. Raises
    UnsafeFile, OSError.
    """
    with suppress(FileNotFoundError), folder_of(path) as above:
        try:
            _remove(path.name, above)
        except PermissionError:
            _close_to_others(above)
            _remove(path.name, above)


def _remove(name: str, above: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        _remove_folder(name, above)
    else:
        os.unlink(name, dir_fd=above)


def _remove_folder(name: str, above: int, top: int | None = None) -> None:
    """Remove a folder; with `top` its folders are moved there, so depth needs no descriptors."""
    with closing(_open_to_empty(name, above)) as fd:
        while found := scan(fd, AT_ONCE):
            for inner in _without_files(found, fd):
                if top is None:
                    _remove_folder(inner, fd, fd)
                else:
                    os.close(_open_to_empty(inner, fd))  # only a writable folder can be moved
                    os.rename(inner, secrets.token_hex(16), src_dir_fd=fd, dst_dir_fd=top)
    os.rmdir(name, dir_fd=above)


def _open_to_empty(name: str, above: int) -> int:
    with closing(os.open(name, STEP, dir_fd=above)) as fd:
        if os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            _close_to_others(fd)
        return _listable(fd)


def _without_files(found: list[FolderEntry], folder: int) -> list[str]:
    """Remove the listed files from a folder; return the names of the listed folders."""
    for entry in found:
        if entry.kind != "folder":
            with suppress(FileNotFoundError):
                os.unlink(entry.name, dir_fd=folder)
    return [entry.name for entry in found if entry.kind == "folder"]


def move(source: Path, target: Path, *, is_synced: bool = True) -> None:
    """Rename a file or folder on one file system; the folders of `target` are created."""
    with folder_of(source) as old, folder_of(target, make=True) as new:
        try:
            os.replace(source.name, target.name, src_dir_fd=old, dst_dir_fd=new)
        except OSError as error:
            raise explained(error, source.name, old, str(source)) from None
        if is_synced:
            _sync(new)


def set_mode(path: Path, mode: int) -> None:
    """Set the mode of a regular file of this user, even if it is unreadable. Raises OSError."""
    with folder_of(path) as folder:
        try:
            fd = os.open(path.name, PATH_ONLY | _FILE, dir_fd=folder)
        except OSError as error:
            raise explained(error, path.name, folder, str(path)) from None
    with closing(fd):
        _refuse_unless_plain(os.fstat(fd), path, is_written=False, anyones=False)
        os.chmod(_place_of(fd), mode)
