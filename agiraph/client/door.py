"""Where the gateway of a home listens, and the token that opens it."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

from agiraph.api.errors import NotReachable
from agiraph.storage.files import open_file, read_bytes
from agiraph.storage.home import Home

Door = Callable[[], tuple[str, str]]
"""Tells the API's URL and token as they are now. Raises NotReachable."""


def read_door(home: Path) -> tuple[str, str]:
    """Return (url, token) of the gateway that runs on `home`. Raises NotReachable.

    The token is handed out only if the process that wrote the address still lives: a port that
    was left behind may belong to a stranger by now.
    """
    files = Home(home)
    try:
        address = json.loads(read_bytes(files.human.address, anyones=True))
        url, pid = str(address["url"]), int(address["pid"])
        token = read_bytes(files.system.token, anyones=True).decode("ascii").strip()
    except (OSError, ValueError, KeyError, TypeError):
        raise NotReachable(f"no supervisor runs on home {home}") from None
    if not _lives(pid):
        raise NotReachable(f"no supervisor runs on home {home} (its gateway, pid {pid}, is gone)")
    return url, token


def read_cert(home: Path) -> Path | None:
    """Return the certificate that the gateway of `home` shows, None if it speaks no TLS."""
    try:
        return Path(json.loads(read_bytes(Home(home).human.address, anyones=True))["cert"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_held(home: Path) -> bool:
    """Whether a supervisor holds this home, reachable or not; OSError if that cannot be seen.

    Its lock is not taken for longer than the look.
    """
    try:
        fd = open_file(Home(home).system.lock, anyones=True)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def is_supervised(home: Path) -> bool:
    """Whether a supervisor holds this home: its gateway, if it is away, will be back."""
    try:
        return is_held(home)
    except OSError:
        return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
