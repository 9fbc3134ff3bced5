"""Copies: writing, copying and linking files of a home, also from other machines, safely."""

import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agiraph.storage.disk_space import patiently
from agiraph.storage.files import PART_SUFFIX, new_file, open_file, write_all
from agiraph.storage.walk import closing, explained, folder_of

PIECE = 1 << 20


def write_at(
    path: Path, data: bytes, offset: int, mode: int = 0o666, *, is_synced: bool = True
) -> int:
    """Write `data` at `offset`, cut the file behind it, and return its size in bytes.

    A missing file is created. A file that is shorter than `offset` is left unchanged. On a full
    disk nothing changes. The data is on the disk at return only if `is_synced`.
    """
    return patiently(lambda: _write_at(path, data, offset, mode, is_synced))


def _write_at(path: Path, data: bytes, offset: int, mode: int, is_synced: bool) -> int:
    with closing(open_file(path, os.O_RDWR | os.O_CREAT, mode)) as fd:
        size = os.fstat(fd).st_size
        if size < offset:
            return size
        at = offset
        try:
            while at < offset + len(data):
                at += os.pwrite(fd, data[at - offset :], at)
        except OSError:
            os.ftruncate(fd, size)
            raise
        os.ftruncate(fd, at)
        if is_synced:
            os.fsync(fd)
        return at


def sync_file(path: Path) -> None:
    """Wait until a file's content is on the disk (fsync)."""
    with closing(open_file(path)) as fd:
        os.fsync(fd)


def copy_file(source: Path, target: Path, mode: int = 0o666) -> None:
    """Copy a file of a home with the permissions `mode` (before the umask), replacing `target`."""
    patiently(lambda: _copy(source, target, mode))


def _copy(source: Path, target: Path, mode: int) -> None:
    with closing(open_file(source)) as fd, new_file(target, mode) as new:
        offset = 0
        while piece := os.pread(fd, PIECE, offset):
            write_all(new, piece)
            offset += len(piece)


def make_link(path: Path, target: str) -> None:
    """Make a symbolic link at `path`, replacing an existing file or link."""
    _put(path, lambda name, folder: os.symlink(target, name, dir_fd=folder))


def link_file(source: Path, path: Path) -> None:
    """Give `source` the further name `path` (a hard link), replacing a file or link at `path`."""
    with folder_of(source) as above:
        _put(
            path,
            lambda name, folder: os.link(
                source.name, name, src_dir_fd=above, dst_dir_fd=folder, follow_symlinks=False
            ),
        )


def _put(path: Path, make: Callable[[str, int], None]) -> None:
    with folder_of(path, make=True) as folder:
        part = f".{secrets.token_hex(8)}{PART_SUFFIX}"
        make(part, folder)
        try:
            os.replace(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise explained(error, path.name, folder, str(path)) from None
        finally:
            with suppress(FileNotFoundError):  # two names of one file: nothing was renamed
                os.unlink(part, dir_fd=folder)


def read_link(path: Path) -> str:
    """Return the target of a symbolic link as written. Raises OSError if it is not a link."""
    with folder_of(path) as folder:
        return os.readlink(path.name, dir_fd=folder)


def digest_of(path: Path, most: int | None = None, *, anyones: bool = False) -> str:
    """Return the SHA-256 of a file's content, or of its first `most` bytes, in hexadecimal.

    `anyones` and errors: see `open_file`.
    """
    found, offset = hashlib.sha256(), 0
    with closing(open_file(path, anyones=anyones)) as fd:
        while piece := os.pread(fd, PIECE if most is None else min(PIECE, most - offset), offset):
            found.update(piece)
            offset += len(piece)
    return found.hexdigest()
