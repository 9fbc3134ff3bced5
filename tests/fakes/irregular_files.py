"""Odd files: kinds of entries in place of the regular file that belongs at a path."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

MANY_BYTES: Final = 1 << 30


def _leads_nowhere(path: Path) -> None:
    path.symlink_to("/nonexistent/target")


def _leads_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MANY_BYTES)
    path.chmod(0o600)


def _of_another_user(path: Path) -> None:
    """Needs root."""
    path.touch(mode=0o600)
    os.chown(path, 65534, 65534)


UNREADABLE: Final[Mapping[str, Callable[[Path], None]]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "link that leads nowhere": _leads_nowhere,
    "link to a device": _leads_to_zeros,
}
"""Kinds from which no process can read a setting or a record."""
SPARSE: Final[Mapping[str, Callable[[Path], None]]] = {"sparse": _sparse}
STRANGE: Final[Mapping[str, Callable[[Path], None]]] = (
    {"another user's": _of_another_user} if os.geteuid() == 0 else {}
)
