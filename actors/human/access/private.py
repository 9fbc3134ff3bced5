"""Files that are for this user alone: written whole, mode 0600, never through a link."""

import os
from pathlib import Path

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_private(path: Path) -> bytes | None:
    """Return a file's bytes, None if there is none; a mode that lets others in is mended.

    Raises OSError, also if `path` is a link.
    """
    try:
        fd = os.open(path, READ_FLAGS)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        if os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
        return file.read()


def write_private(path: Path, text: str) -> None:
    """Write a new file beside `path` and move it there, synced; makes the folder, mode 0700."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, NEW_FLAGS, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
