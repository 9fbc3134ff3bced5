"""Landlock: keep a command from the abstract Unix sockets of the machine, such as D-Bus and X11.

They belong to the network, not to the files: a process that shares the machine's network has them.
Since Linux 6.12 (Landlock ABI 6) a process can give that up for itself and its children:

    python -I -S landlock.py PROGRAM [ARGUMENT ...]

runs a program that way. Sockets that the program itself creates stay reachable. This imports only
modules that cost no time: the runner of commands uses it in a bare interpreter.
"""

import ctypes
import os
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446
ASK_VERSION = 1
ABI_WITH_SCOPES = 6
SCOPE_ABSTRACT_UNIX_SOCKET = 1
PR_SET_NO_NEW_PRIVS = 38
CANNOT = 126


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`: files and ports are not restricted."""

    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def can_scope() -> bool:
    """Whether this kernel can keep a process from abstract Unix sockets (Landlock ABI 6)."""
    if sys.platform != "linux":
        return False
    version = ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)
    return bool(version >= ABI_WITH_SCOPES)


def scope() -> bool:
    """Give up all abstract Unix sockets of other processes; return whether that worked.

    Programs that this process executes get no further privileges (no_new_privs).
    """
    libc = ctypes.CDLL(None)
    rules = _Ruleset(0, 0, SCOPE_ABSTRACT_UNIX_SOCKET)
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    try:
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def main(words: list[str]) -> None:
    """Become a program that cannot reach those sockets; exit if that is not possible."""
    if not scope():
        sys.exit(CANNOT)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
