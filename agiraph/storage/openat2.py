"""openat2: open a folder by a path without any link in its components, in one call (Linux 5.6).

`os` has no such function, so it is called by its number, which is the same on every architecture
that Python runs on. If it is missing or not permitted, `walk` opens the path step by step.
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

NUMBER: Final = 437
AT_FDCWD: Final = -100
NO_LINKS: Final = 0x04
FAILED: Final = -1


class _OpenHow(ctypes.Structure):
    """The kernel's `struct open_how`: flags, mode, and rules for resolving the path."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_SYSCALL: Final = ctypes.CDLL(None).syscall if sys.platform == "linux" else None


def open_without_links(folder: Path, flags: int) -> int:
    """Return a descriptor of an absolute path, FAILED if it cannot be opened for any reason.

    The caller finds the reason by `os.open`.
    """
    if _SYSCALL is None:
        return FAILED
    how = _OpenHow(flags, 0, NO_LINKS)
    path = os.fsencode(folder)
    found: int = _SYSCALL(NUMBER, AT_FDCWD, path, ctypes.byref(how), ctypes.sizeof(how))
    return found
