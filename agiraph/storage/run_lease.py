"""RunLease: the agents that a command attends until their runs end, and whether it still runs.

Each such agent has a file in `system/attended/`, on which its command holds an exclusive lock. The
kernel releases the lock of a process that was killed; the file stays, so an agent whose command has
ended is recognized as left. The file is removed when the agent is to continue without a command:
detached, resumed, or begun by a request of the API.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from agiraph.core.ids import AgentId
from agiraph.storage.files import can_lock, entries, open_file, opened, remove_file, status_of
from agiraph.storage.home import Home

LOOKS: Final = 40
LOOK_SECONDS: Final = 0.025
"""A process that tests whether an agent is left holds the shared lock of its file for a moment."""


class RunLease:
    """A command's lease of one agent, from `begin` to `end` (flock)."""

    def __init__(self, home: Path, agent: AgentId) -> None:
        self._file = _file(home, agent)
        self._fd: int | None = None

    def begin(self) -> None:
        """Lock the agent's file: the agent is attended, unless another command attends it already.

        Nothing is created in a home without services' files: no supervisor has run there. If the
        file cannot be opened, the agent is not attended.
        """
        with suppress(OSError):
            looks = LOOKS if status_of(self._file.parent.parent) is not None else 0
            while self._fd is None and looks > 0:
                self._fd = self._opened()
                if self._fd is None:
                    looks -= 1
                    time.sleep(LOOK_SECONDS)

    def _opened(self) -> int | None:
        """Return a descriptor of the agent's file with its lock held.

        None if another process holds the lock or has just removed the file.
        """
        with opened(self._file, os.O_RDONLY | os.O_CREAT) as fd:
            if not can_lock(fd):
                return None
            there, ours = status_of(self._file), os.fstat(fd)
            is_there = there is not None and there.st_ino == ours.st_ino
            return os.dup(fd) if is_there else None  # shares the lock of `fd`

    def detach(self) -> None:
        """Remove the agent's file and end the lease: the agent continues without a command."""
        if self._fd is not None:
            with suppress(OSError):
                remove_file(self._file)
            self.end()

    def end(self) -> None:
        """End the lease and leave the file: if the agent still works, it counts as left."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def is_left(home: Path, agent: AgentId) -> bool:
    """Whether a command attended this agent and has ended."""
    try:
        fd = open_file(_file(home, agent), anyones=True)
    except OSError:
        return False
    try:
        return can_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def left_agents(home: Path) -> list[AgentId]:
    """Return the agents whose command has ended without detaching them.

    Their runs may have ended.
    """
    try:
        known = [AgentId(entry.name) for entry in entries(Home(home).system.attended)]
    except OSError:
        return []
    return [agent for agent in known if is_left(home, agent)]


def detach_agent(home: Path, agent: AgentId) -> None:
    """Let a left agent continue without a command: remove its file.

    Does nothing while a command attends the agent.
    """
    if is_left(home, agent):
        with suppress(OSError):
            remove_file(_file(home, agent))


def _file(home: Path, agent: AgentId) -> Path:
    return Home(home).system.attended / agent
