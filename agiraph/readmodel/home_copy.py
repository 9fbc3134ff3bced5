"""Copies of the services' files of a home, in a temporary folder: opening them may write.

A database is locked when it is opened, a journal is truncated to its last whole line. All of that
happens to the copies; the home itself is not changed. Agents' files are not copied: reading them
writes nothing.
"""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.core.errors import Corrupt
from agiraph.http.discovery import is_held
from agiraph.storage.files import entries, open_file
from agiraph.storage.home import Home, HumanHome, SystemHome

COPIED: Final = {
    "human": (
        "book.db",
        "book.db-wal",
        "channels.jsonl",
    ),
    "system": ("children.journal", "hosts.json", "usage.db", "usage.db-wal"),
}
CATALOGS: Final = "tools"
PIECE_BYTES: Final = 1 << 20


class HomeHeld(Exception):
    """A supervisor runs on the home: its files are changing, and its gateway answers."""


@dataclass(frozen=True, slots=True)
class CopiedHome(Home):
    """A home whose services' folders are the copies in the folder `copies`."""

    copies: Path

    @property
    def system(self) -> SystemHome:
        """The copy of the services' folder."""
        return SystemHome(self.copies / "system")

    @property
    def human(self) -> HumanHome:
        """The copy of the gateway's folder."""
        return HumanHome(self.copies / "human")

    @property
    def copied_knowledge(self) -> Path:
        """The copy of the knowledge database, after `copy_knowledge`."""
        return self.copies / "knowledge.db"

    def copy_knowledge(self) -> None:
        """Copy the knowledge database, which may be large and is seldom used. Raises OSError."""
        for name in ("knowledge.db", "knowledge.db-wal"):
            (self.copies / name).unlink(missing_ok=True)  # plain: in the new temporary folder
            copy_if_there(self.path / name, self.copies / name)
        if is_held(self.path):
            raise OSError(errno.EAGAIN, "a supervisor has begun to run here: ask again")

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Report errors of a copy that is opened in the block as errors of the original."""
        try:
            yield
        except (Corrupt, sqlite3.DatabaseError) as error:
            told = str(error).replace(str(self.copies), str(self.path))
            raise Corrupt(told if isinstance(error, Corrupt) else f"{self.path}: {told}") from error


@contextmanager
def copied(home: Path) -> Iterator[CopiedHome]:
    """Yield a home with copies of its services' files, which are removed afterwards.

    Raises HomeHeld, OSError. No process wrote to the files while they were copied: a supervisor
    holds the home before it starts a writer, and this is checked after the copy.
    """
    with tempfile.TemporaryDirectory(prefix="agiraph-read-") as folder:
        found = CopiedHome(home, Path(folder).resolve())
        for part, names in COPIED.items():
            (found.copies / part).mkdir()  # plain: in the new temporary folder
            for name in names:
                copy_if_there(found.path / part / name, found.copies / part / name)
        _copy_catalogs(Home(home).system.tools, found.system.tools)
        if is_held(home):
            raise HomeHeld
        yield found


def _copy_catalogs(source: Path, target: Path) -> None:
    """Copy the tool catalogs of the MCP servers."""
    target.mkdir()  # plain: in the new temporary folder
    with suppress(FileNotFoundError):
        for entry in entries(source):
            copy_if_there(source / entry.name, target / entry.name)


def copy_if_there(source: Path, target: Path) -> None:
    """Copy a file, if it exists, without waiting for the disk."""
    try:
        descriptor = open_file(source)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as old, open(target, "xb") as new:  # plain: the same folder
        shutil.copyfileobj(old, new, PIECE_BYTES)
