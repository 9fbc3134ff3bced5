"""Database: one SQLite file of a home, opened by the only process that writes it.

A write is one transaction and on disk when it returns (write-ahead log, synchronous FULL), so
opening takes the same time at any age.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import is_full_disk, patiently
from agiraph.storage.files import open_file

T = TypeVar("T")
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]
DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
HELD: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to a database of a home, for any thread, in autocommit mode.

    Damage that SQLite finds in it later is raised as Corrupt, which names the file. Raises OSError.
    """
    os.close(open_file(path, os.O_RDWR | os.O_CREAT))
    db = sqlite3.connect(  # plain: opened safely above
        path, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    db.path = path
    return db


def damaged(path: Path, why: object) -> Corrupt:
    """Return the error for a damaged database: the file, `why`, and the possible remedies."""
    return Corrupt(
        f"{path} is damaged ({why}): restore it from a backup, or recover what can be read"
        " (docs/operations.md, 'is damaged')"
    )


class _Connection(sqlite3.Connection):
    path: Path

    def execute(self, *words: Any) -> sqlite3.Cursor:
        return self.cursor().execute(*words)

    def executemany(self, *words: Any) -> sqlite3.Cursor:
        return self.cursor().executemany(*words)

    def executescript(self, script: str) -> sqlite3.Cursor:
        return self.cursor().executescript(script)

    def cursor(self, _factory: object = None) -> "_Cursor":  # type: ignore[override]
        return super().cursor(_Cursor)


class _Cursor(sqlite3.Cursor):
    """A cursor that raises Corrupt for damage that SQLite finds."""

    connection: _Connection

    def execute(self, *words: Any) -> Self:
        return self._named(super().execute, *words)

    def executemany(self, *words: Any) -> Self:
        return self._named(super().executemany, *words)

    def executescript(self, script: str) -> sqlite3.Cursor:
        return self._named(super().executescript, script)

    def fetchone(self) -> Any:
        return self._named(super().fetchone)

    def fetchall(self) -> list[Any]:
        return self._named(super().fetchall)

    def __next__(self) -> Any:
        return self._named(super().__next__)

    def _named(self, step: Callable[..., T], *words: Any) -> T:
        try:
            return step(*words)
        except (sqlite3.DatabaseError, MemoryError, UnicodeDecodeError) as error:
            if (why := _damage(self.connection, error)) is not None:
                raise damaged(self.connection.path, why) from error
            raise


def _damage(db: sqlite3.Connection, error: Exception) -> object:
    """Return the damage of the database that caused `error`; None if `error` has another cause.

    A damaged length may appear as an error of memory, a missing table as an error of the SQL: then
    the whole file is checked.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in DAMAGED:
        return error
    if is_full_disk(error) or (code is not None and code & 0xFF in HELD):
        return None
    if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8"):
        return "a text is not UTF-8"
    try:
        (verdict,) = sqlite3.Cursor(db).execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as found:
        return found
    if any(words in str(error) for words in ("no such table", "no such column", "has no column")):
        return error  # the SQL is our own, so the schema is damaged
    return None if verdict == "ok" else verdict


class Database:
    """The open database; used by one thread at a time. Raises Corrupt, OSError.

    `schema` is SQL that creates missing tables; `pragmas` are set at each opening, `at_birth` in a
    new file before its first table.
    """

    def __init__(
        self, path: Path, schema: str, pragmas: Sequence[str] = (), at_birth: Sequence[str] = ()
    ) -> None:
        self.path = path
        self._db = connect(path)
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
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(schema)

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return the rows of a query. Raises Corrupt, OSError."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._told(error) from error

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Raise Corrupt, which names the database, for a row that the block cannot parse.

        It replaces any ValueError and TypeError of the block.
        """
        try:
            yield
        except (ValueError, TypeError) as error:
            raise damaged(self.path, f"{type(error).__name__} in a row") from error

    def write(self, *statements: Statement) -> None:
        """Execute statements in one transaction: all are on disk when it returns, or none.

        On a full disk this waits for space, or raises OSError (`agiraph.storage.disk_space`).
        """
        self.transact(lambda db: _execute_each(db, statements))

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `work`, which runs in one transaction. Waits and raises like
        `write`.
        """
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
        """Return OSError (ENOSPC) for an error that a full disk caused, else the error itself."""
        if is_full_disk(error):
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        return error

    def compact(self) -> None:
        """Release free pages, in a file with `auto_vacuum`, and empty the log.

        With `secure_delete` no deleted data is left in the files afterwards.
        """

        def work() -> None:
            # By executescript: execute() would step once, which frees one page.
            self._db.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

        try:
            patiently(work)
        except sqlite3.Error as error:
            raise self._told(error) from error

    def close(self) -> None:
        """Close the database file."""
        self._db.close()


def _execute_each(db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    for sql, values in statements:
        db.execute(sql, values)
