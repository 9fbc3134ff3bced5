"""Removing a folder in which a model has worked: what it made unwritable too, no link followed."""

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STALE_SECONDS = 10.0


def remove_stale_lock(lock: Path) -> bool:
    """Remove what a git that was killed has left; return whether there was such a lock.

    Only for references that nobody else writes. One that is not old may be held by a git that has
    outlived its process by a breath.
    """
    try:
        if time.time() - lock.stat().st_mtime < STALE_SECONDS:
            return False
        lock.unlink()
    except FileNotFoundError:
        return False
    return True


def remove_tree(path: Path) -> None:
    """Remove a folder, a file or a link; nothing if there is none. OSError if it cannot be."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=_make_writable)


def _make_writable(remove: Callable[..., Any], name: str, _: Any) -> None:
    """Try a removal again after its folder, and it if it is one, were made writable."""
    if not os.path.lexists(name):
        return
    os.chmod(os.path.dirname(name), stat.S_IRWXU)
    if stat.S_ISDIR(os.lstat(name).st_mode):
        os.chmod(name, stat.S_IRWXU)
        shutil.rmtree(name)
        return
    remove(name)
