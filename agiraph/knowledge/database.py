"""KnowledgeDatabase: the knowledge store in a thread of its own, opened at its first use.

A database that cannot be opened, or is damaged while it is used, is closed and opened again at the
next use, so that a replaced file is used at once.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from agiraph.core.errors import Corrupt
from agiraph.knowledge.store import KnowledgeStore
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import status_of

T = TypeVar("T")


class KnowledgeUnavailable(Exception):
    """The knowledge database cannot be used now; the message says why."""


class KnowledgeDatabase:
    """The knowledge database of a home; it is used in a thread of its own.

    `prepare` is called in that thread before the file is opened.
    """

    def __init__(self, path: Path, prepare: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._prepare = prepare
        self._thread = ThreadPoolExecutor(1, "knowledge-database")
        self._store: KnowledgeStore | None = None
        self._file: tuple[int, int] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the file exists: a home without any knowledge needs no file for reading."""
        return self._identity() is not None

    async def use(self, work: Callable[[KnowledgeStore], T]) -> T:
        """Return the result of `work` on the store. Raises KnowledgeUnavailable, OSError (full
        disk).
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._use, work)

    def _use(self, work: Callable[[KnowledgeStore], T]) -> T:
        try:
            return work(self._opened())
        except (Corrupt, sqlite3.Error, OSError) as error:
            if is_full_disk(error):
                raise
            self._shut()
            raise KnowledgeUnavailable(str(error)) from error

    def _opened(self) -> KnowledgeStore:
        """Return the open store; a file that was replaced is opened again."""
        if self._store is not None and self._identity() != self._file:
            self._shut()
        if self._store is None:
            self._prepare()
            self._store = KnowledgeStore(self.path)
            self._file = self._identity()
        return self._store

    def _identity(self) -> tuple[int, int] | None:
        found = status_of(self.path)
        return (found.st_dev, found.st_ino) if found else None

    def _shut(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def close(self) -> None:
        """Close the database file; work that has not begun is discarded."""
        self._thread.submit(self._shut)
        self._thread.shutdown()
