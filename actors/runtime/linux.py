"""Process features of Linux; on other systems each function returns False and does nothing.

PR_SET_PDEATHSIG follows the parent's thread and is cleared by fork: every child sets it for itself,
and checks getppid() afterwards, because its parent may have died before.
"""

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def die_with_parent() -> bool:
    """Let the kernel kill this process when its parent dies; return whether that works."""
    return _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> bool:
    """Become the parent of descendants whose parents die; return whether that works."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_environment() -> bool:
    """Hide our environment and memory from the user's other processes; return if that works."""
    return _prctl(PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(option, value, 0, 0, 0) == 0)
