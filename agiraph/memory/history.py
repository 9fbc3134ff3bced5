"""MemoryHistory: the earlier versions of an agent's memory files, and the lock for writing them.

Two processes write an agent's memory: its coordinator, and the gateway for a person. The process
that holds `.memory.lock` may write, for the time of one write, so neither overwrites the other's
changes; the lock of a dead process is released. A change by a command or an editor is detected, and
kept as a version without an author, before it is replaced.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agiraph.core.errors import Unavailable, unknown
from agiraph.core.record import Record
from agiraph.storage.files import can_lock, entries, open_file, read_text, remove_file, replace_file
from agiraph.storage.home import AgentHome
from agiraph.storage.walk import closing

Change = Literal["written", "added to", "removed", "found"]
LOCKED_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.01
SUFFIX: Final = ".json"


class MemoryVersion(Record):
    """One version of a memory file: the text written by `by` at time `at`; "" if it was removed.

    `via` is the token by which a person wrote. The change `found`: the text was found in the file,
    its author is unknown.
    """

    number: int
    at: float
    by: str = ""
    via: str = ""
    change: Change
    content: str


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a write: an entity's name or `human`; `via` is the token of a person."""

    name: str = ""
    via: str = ""


@contextmanager
def locked(home: AgentHome) -> Iterator[None]:
    """Lock an agent's memory in the block. Raises Unavailable if another process keeps the lock."""
    with closing(open_file(home.memory_lock, os.O_RDWR | os.O_CREAT)) as fd:
        give_up_at = time.monotonic() + LOCKED_SECONDS
        while not can_lock(fd):
            if time.monotonic() > give_up_at:
                raise Unavailable(f"{home.memory_lock} is held by another process")
            time.sleep(PAUSE_SECONDS)
        yield


class MemoryHistory:
    """The versions of one agent's memory, at most `most` of each file."""

    def __init__(self, home: AgentHome, most: int) -> None:
        self.home = home
        self._most = most

    def versions(self, name: str) -> list[MemoryVersion]:
        """Return the versions of a file, the oldest first."""
        return [self._read(name, number) for number in self._numbers(name)]

    def version(self, name: str, number: int) -> MemoryVersion:
        """Return one version of a file. Raises InvalidInput that lists the existing versions."""
        numbers = self._numbers(name)
        if number not in numbers:
            raise unknown(f"version of {name}", str(number), [str(known) for known in numbers])
        return self._read(name, number)

    def last(self, name: str) -> MemoryVersion | None:
        """Return the newest version of a file, None if it has no versions."""
        numbers = self._numbers(name)
        return self._read(name, numbers[-1]) if numbers else None

    def keep(
        self, name: str, before: str | None, after: str, change: Change, author: Author
    ) -> None:
        """Store the text written by an author, and the text before it if that is not stored yet.

        A repeated call changes nothing. The caller holds the lock.
        """
        last = self.last(name)
        known = last.content if last else ""
        if known == after == (before or ""):
            return
        number = last.number + 1 if last else 1
        if before and before not in (known, after):
            self._write(name, number, before, "found", Author())
            number += 1
        self._write(name, number, after, change, author)
        for old in self._numbers(name)[: -self._most]:
            remove_file(self._path(name, old))

    def _write(self, name: str, number: int, content: str, change: Change, author: Author) -> None:
        version = MemoryVersion(
            number=number,
            at=time.time(),
            by=author.name,
            via=author.via,
            change=change,
            content=content,
        )
        replace_file(self._path(name, number), version.model_dump_json() + "\n")

    def _read(self, name: str, number: int) -> MemoryVersion:
        return MemoryVersion.model_validate_json(read_text(self._path(name, number)))

    def _path(self, name: str, number: int) -> Path:
        return self.home.memory_history / name / f"{number}{SUFFIX}"

    def _numbers(self, name: str) -> list[int]:
        try:
            found = entries(self.home.memory_history / name)
        except OSError:
            return []
        stems = (one.name.removesuffix(SUFFIX) for one in found if one.kind == "file")
        return sorted(int(stem) for stem in stems if stem.isdecimal())
