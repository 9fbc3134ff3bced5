"""The folders, the socket and the lock of a home; folders are made private before they are used."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.storage.files import (
    can_lock,
    is_file,
    make_folder,
    make_private_folder,
    open_file,
    open_folder,
    opened,
    read_bytes,
    remove_file,
    remove_tree,
    replace_bytes,
    status_of,
)
from agiraph.storage.home import Home
from agiraph.storage.supervisor_note import pid_in
from agiraph.storage.walk import UnsafeFile

SOCKET, LOCK = "router.sock", "router.sock.lock"
HOME_NOTE = "home"
"""The file in a socket's folder that names its home."""
FORGOTTEN_SECONDS = 86_400.0
"""The age at which a socket's folder that does not name its home is removed (older versions)."""
LONGEST_SOCKET = 100
"""In bytes; Linux allows 107, macOS 103."""
LOOK_SECONDS = 0.2
"""A process that only tests the lock (`agiraph.http.discovery`) holds it for a moment."""
PAUSE_SECONDS = 0.01
RUNTIME, TEMPORARY = "XDG_RUNTIME_DIR", "TMPDIR"
SHARED = Path("/tmp")


def make_folders(home: Home) -> None:
    """Make the home and its private folders. Raises OSError, or Refused if one is not ours."""
    make_folder(home.path, 0o700)
    for folder in (home.system.path, home.system.logs, home.human.path, home.agents):
        make_private(folder)


def make_private(folder: Path) -> None:
    """Make a folder with access for us alone, or restrict a folder of ours. Raises Refused."""
    try:
        make_private_folder(folder)
    except UnsafeFile as error:
        raise Refused(f"{folder} is not a folder of ours ({error})") from None


def socket_url(home: Home) -> str:
    """Return the router's url; make its folder and remove an old socket. Raises Refused."""
    folder = socket_folder(home, os.environ)
    make_private(folder)
    remove_file(folder / SOCKET)
    if folder != home.system.sockets:
        replace_bytes(folder / HOME_NOTE, os.fsencode(home.path))
    return f"ipc://{folder / SOCKET}"


def remove_socket_folder(home: Home, url: str) -> None:
    """Remove the folder of the router's socket if it is outside the home (in /tmp, for example)."""
    folder = Path(url.removeprefix("ipc://")).parent
    if folder != home.system.sockets:
        with suppress(OSError):
            remove_tree(folder)


def remove_stale_socket_folders(environ: Mapping[str, str], now: float) -> list[Path]:
    """Remove the folders of sockets whose homes are gone, and return them; `now` is a Unix time.

    A supervisor that was killed leaves its folder. A folder is removed only if no router holds its
    lock, and its home is gone: a starting supervisor has a home, so its folder is never removed.
    """
    folders = {
        folder
        for parent in _parents(environ).values()
        for folder in parent.glob(f"{_prefix()}*")  # plain: the system's own folders
    }
    return sorted(folder for folder in folders if _remove_if_stale(folder, now))


def _remove_if_stale(folder: Path, now: float) -> bool:
    try:
        with _free_lock(folder) as is_free:
            if not is_free or not _is_home_gone(folder, now):
                return False
            remove_tree(folder)
            return True
    except OSError:  # not a folder of ours, or another supervisor removes it
        return False


@contextmanager
def _free_lock(folder: Path) -> Iterator[bool]:
    """Lock the router's lock file in the block; yield whether no router holds that lock."""
    if not is_file(folder / LOCK):
        yield True  # no router has used it
        return
    fd = open_file(folder / LOCK, os.O_RDWR)
    try:
        yield can_lock(fd)
    finally:
        os.close(fd)


def _is_home_gone(folder: Path, now: float) -> bool:
    try:
        home = Path(os.fsdecode(read_bytes(folder / HOME_NOTE)))
        return not home.exists()  # plain: nothing is opened
    except FileNotFoundError:
        status = status_of(folder)
        return status is not None and now - status.st_mtime > FORGOTTEN_SECONDS


def socket_folder(home: Home, environ: Mapping[str, str]) -> Path:
    """Return the folder of the router's socket; nothing is made.

    It is the home's own, or if the system does not allow such a long path, the first usable one of
    these: a folder named after the home in XDG_RUNTIME_DIR, in TMPDIR, in /tmp. So the same home
    has the same folder after a restart, and no two homes share a folder. Raises Refused with the
    problem of each folder.
    """
    own = home.system.sockets
    if socket_length(own) <= LONGEST_SOCKET:
        return own
    name = hashlib.blake2b(os.fsencode(home.path), digest_size=8).hexdigest()
    reasons = [f"{own}: {_too_long(own)}"]
    for variable, parent in _parents(environ).items():
        folder = parent / f"{_prefix()}{name}"
        problem = _why_not(variable, parent, folder)
        if not problem:
            return folder
        reasons.append(f"{folder}: {problem}")
    raise Refused(
        "there is no folder for the router's socket: "
        + "; ".join(reasons)
        + ". Give a home with a shorter path (--home, AGIRAPH_HOME), or set XDG_RUNTIME_DIR or"
        " TMPDIR to a short path of a folder of yours"
    )


def socket_length(folder: Path) -> int:
    """Return the length in bytes of the socket's path in a folder."""
    return len(os.fsencode(folder / SOCKET))


def _prefix() -> str:
    return f"agiraph-{os.geteuid()}-"


def _parents(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return the parents of socket folders outside the home, by their variable ('' for /tmp)."""
    named = {name: Path(environ.get(name, "")) for name in (RUNTIME, TEMPORARY)}
    usable = {name: path.resolve() for name, path in named.items() if path.is_absolute()}
    return usable | {"": SHARED.resolve()}


def _why_not(variable: str, parent: Path, folder: Path) -> str:
    """Return why the socket cannot be in `folder` below `parent`, '' if it can.

    Other users may write in `parent`. `variable` is the environment variable that named it.
    """
    if socket_length(folder) > LONGEST_SOCKET:
        return _too_long(folder)
    try:
        above = parent.stat()  # plain: the system's own folders for temporary files
        if not stat.S_ISDIR(above.st_mode) or not os.access(parent, os.W_OK | os.X_OK):
            return f"{parent} is no folder in which one can be made"
        if variable == RUNTIME and (above.st_uid != os.geteuid() or above.st_mode & 0o077):
            return f"{parent} is not private (owner {above.st_uid}, mode {_mode(above)})"
        if above.st_uid not in (0, os.geteuid()):
            return f"{parent} belongs to another user ({above.st_uid})"
        if above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX:
            return f"{parent} can be changed by others (mode {_mode(above)})"
        known = folder.lstat()  # plain: the same
    except FileNotFoundError:
        return "" if parent.exists() else f"{parent} does not exist"  # plain: the same
    except OSError as error:
        return str(error)
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid() or known.st_mode & 0o077:
        return f"it is not a private folder of ours (owner {known.st_uid}, mode {_mode(known)})"
    return ""


def _too_long(folder: Path) -> str:
    return f"{socket_length(folder)} bytes with the socket's name, {LONGEST_SOCKET} are possible"


def _mode(status: os.stat_result) -> str:
    return f"{stat.S_IMODE(status.st_mode):o}"


class HomeLocked(Refused):
    """Another supervisor runs on this home."""


class HomeLock:
    """The lock on one home, held from `acquire` to `release` or the end of the process (flock).

    The folder of `file` is locked, because a file may be removed; the file contains our pid. For
    error messages `what` names the locked folder and `whom` the process that locks it.
    """

    def __init__(
        self, home: Path, file: Path, what: str = "home", whom: str = "supervisor"
    ) -> None:
        self._home = home
        self._file = file
        self._what, self._whom = what, whom
        self._folder: int | None = None

    def acquire(self) -> None:
        """Take the lock and write our pid. Raises HomeLocked naming the holder, OSError."""
        with ExitStack() as undo:
            folder = open_folder(self._file.parent)
            undo.callback(os.close, folder)
            give_up_at = time.monotonic() + LOOK_SECONDS
            while not can_lock(folder):
                if time.monotonic() >= give_up_at:
                    whom = f"{self._whom} pid {pid_in(self._file) or 'unknown'}"
                    raise HomeLocked(f"{self._what} {self._home} is held by {whom}")
                time.sleep(PAUSE_SECONDS)
            self._write(f"{os.getpid()}\n")
            undo.pop_all()
        self._folder = folder

    def release(self) -> None:
        """Release the lock."""
        if self._folder is not None:
            with suppress(OSError):
                self._write("")
            os.close(self._folder)
            self._folder = None

    def _write(self, text: str) -> None:
        with opened(self._file, os.O_RDWR | os.O_CREAT | os.O_TRUNC) as fd:
            os.write(fd, text.encode())
