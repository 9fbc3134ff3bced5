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
    """Let the kernel kill this process when its parent dies."""
    return _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent dies (subreaper)."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_environment() -> bool:
    """Keep other processes of this user from reading our environment and memory under /proc."""
    return _prctl(PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(option, value, 0, 0, 0) == 0)
