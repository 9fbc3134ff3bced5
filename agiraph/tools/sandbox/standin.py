"""Stand-in: an empty folder at a path where a command must not create anything, such as `.git`.

A sandbox can cover only existing paths. So the process that waits for a command creates the missing
folder before the sandbox is built, and removes it after the command has ended; git ignores an empty
folder of this name. Several commands may share one: each holds a shared lock (flock) on the folder,
and the last removes it. Removing it earlier would uncover the path for the others.

The folder is removed by `rmdir` alone, so no file of a person is lost. Inside the sandbox another
empty folder covers it: no command can open, and so lock, the real one. After kill -9 of all waiting
processes, it stays until the next command in the same folder has ended.

The runner of commands, a bare interpreter, imports this: it imports only modules that cost no time.
"""

import fcntl
import os
import time

HELD_SECONDS = 1.0
LOOK_SECONDS = 0.02
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StandIns:
    """The stand-ins of one command, created by the constructor; `problem` says why one failed."""

    def __init__(self, paths: list[str]) -> None:
        self._held: list[tuple[str, int]] = []
        self.problem = ""
        for path in paths:
            try:
                self._held.append((path, hold(path)))
            except OSError as error:
                self.problem = f"{path} cannot be kept empty: {error.strerror}\n"
                break

    @property
    def is_complete(self) -> bool:
        """Whether all stand-ins exist, so that the command may start."""
        return not self.problem

    def release(self, *, is_over: bool) -> None:
        """Release the stand-ins, and remove those that no other command needs.

        They stay if the command may still run (not `is_over`): their paths would be uncovered.
        """
        for path, fd in self._held:
            os.close(fd)
            if is_over:
                remove_unused(path)
        self._held.clear()


def hold(path: str) -> int:
    """Create the folder `path` unless it exists; return a descriptor with a shared lock on it.

    Raises OSError, also if the path is not a folder.
    """
    while True:
        try:
            os.mkdir(path, 0o755)  # plain: the person's input folder
        except FileExistsError:
            pass
        try:
            fd = os.open(path, _OPEN)  # plain: the person's input folder
        except FileNotFoundError:
            continue  # the previous command has just removed it
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            if _is_at(path, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def remove_of_killed(paths: list[str]) -> None:
    """Remove the stand-ins of a killed process, which holds them until its files are closed.

    Waits for at most HELD_SECONDS: another command may hold the stand-ins, too.
    """
    ends_at = time.monotonic() + HELD_SECONDS
    for path in paths:
        while remove_unused(path) and time.monotonic() < ends_at:
            time.sleep(LOOK_SECONDS)


def remove_unused(path: str) -> bool:
    """Remove an empty folder that no command holds; return whether a command holds it."""
    try:
        fd = os.open(path, _OPEN)  # plain: the person's input folder
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, fd):
            os.rmdir(path)  # plain: the person's input folder
    except BlockingIOError:
        return True
    except OSError:
        pass  # the person has put a file into it
    finally:
        os.close(fd)
    return False


def _is_at(path: str, fd: int) -> bool:
    """Whether the open folder `fd` is still the folder at `path`."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(fd))
