"""Database: one SQLite file of a home, opened by the one process that writes it.

A write is one transaction and on disk when it returns (write-ahead log, synchronous FULL), so
opening costs the same at any age.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import is_full_disk, patiently
from agiraph.storage.files import open_file
from agiraph.storage.versions import migrate_database

T = TypeVar("T")
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]
DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database:
    """The open database; used by one thread at a time. Raises Corrupt, TooNew, OSError.

    `schema` is SQL that makes what is missing; `pragmas` are set each time, `at_birth` before
    anything is in the file.
    """

    def __init__(
        self, path: Path, schema: str, pragmas: Sequence[str] = (), at_birth: Sequence[str] = ()
    ) -> None:
        self.path = path
        os.close(open_file(path, os.O_RDWR | os.O_CREAT))
        self._db = sqlite3.connect(  # plain: it is a file of ours
            path, isolation_level=None, check_same_thread=False
        )
        try:
            self._open(schema, pragmas, at_birth)
        except sqlite3.Error as error:
            self._db.close()
            raise self._told(error) from error
        except BaseException:
            self._db.close()
            raise

    def _open(self, schema: str, pragmas: Sequence[str], at_birth: Sequence[str]) -> None:
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        for pragma in (*pragmas, *(at_birth if pages == 0 else ())):
            self._db.execute(f"PRAGMA {pragma}")
        migrate_database(self._db, self.path)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(schema)

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return what a query finds; Corrupt."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._told(error) from error

    def write(self, *statements: Statement) -> None:
        """Carry statements out in one transaction: all are on disk when it returns, or none is.

        On a full disk this waits for room, or raises OSError (`agiraph.storage.disk_space`).
        """
        self.transact(lambda db: _execute_each(db, statements))

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` returns, which is done in one transaction; as `write`."""
        return patiently(lambda: self._transact(work))

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            result = work(self._db)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise self._told(error) from error
        except BaseException:
            self._roll_back()
            raise
        return result

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _told(self, error: sqlite3.Error) -> Exception:
        """Return what to raise for an error of SQLite."""
        if is_full_disk(error):
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
            return Corrupt(f"{self.path} is damaged ({error}): restore it from a backup")
        return error

    def compact(self) -> None:
        """Give free pages back, in a file with `auto_vacuum`, and empty the log.

        With `secure_delete` nothing of what was deleted is left in the files then.
        """

        def work() -> None:
            # By executescript: execute() would step once, which frees one page.
            self._db.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

        try:
            patiently(work)
        except sqlite3.Error as error:
            raise self._told(error) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _execute_each(db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    for sql, values in statements:
        db.execute(sql, values)
