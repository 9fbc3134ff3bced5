"""The gateway's database, `human/book.db`: messages, questions and dead letters, by index.

One process has it open. A `write` is one transaction and on disk when it returns (write-ahead log,
synchronous FULL), so opening costs the same at any age.

Older versions kept the same in a journal each. It is taken in once, in one transaction, and kept as
`NAME.imported`; in its place comes one line that says version 2, so that an older version, which
would begin an empty journal, refuses instead. A crash anywhere between is made good by the next
opening.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import is_full_disk, patiently
from agiraph.storage.files import move, open_file, read_part, replace_bytes, status_of
from agiraph.storage.journal import Journal, JsonObject, encode_record
from agiraph.storage.versions import FIELD, LONGEST_HEAD, FileKind, head_version, migrate_database

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]

MOVED: Final = 2
"""The version of a journal whose records stand in the database."""

DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS imported (name TEXT PRIMARY KEY);

CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    other TEXT NOT NULL, -- the key of the one who speaks with the person
    content TEXT NOT NULL,
    ts REAL NOT NULL,
    kind TEXT NOT NULL,
    question_id TEXT,
    in_reply_to TEXT
);
CREATE INDEX IF NOT EXISTS message_ids ON messages (id, agent);
CREATE INDEX IF NOT EXISTS messages_of_agent ON messages (agent, seq);
CREATE INDEX IF NOT EXISTS messages_with ON messages (agent, other, seq);
CREATE INDEX IF NOT EXISTS texts_with ON messages (agent, other, seq)
    WHERE kind IN ('text', 'nudge');

CREATE TABLE IF NOT EXISTS read_cursors (agent TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS read_with ( -- beyond the agent's own cursor
    agent TEXT, other TEXT, seq INTEGER NOT NULL, PRIMARY KEY (agent, other)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS questions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    asked_as TEXT NOT NULL,
    status TEXT NOT NULL,
    is_live INTEGER NOT NULL,
    was_given INTEGER NOT NULL,
    cause TEXT NOT NULL,
    "case" TEXT NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS questions_as_asked ON questions (asked_as);
CREATE INDEX IF NOT EXISTS questions_by_status ON questions (status);
CREATE INDEX IF NOT EXISTS live_questions ON questions (is_live) WHERE is_live = 1;
CREATE INDEX IF NOT EXISTS given_approvals ON questions (id) WHERE was_given;
CREATE INDEX IF NOT EXISTS answers_by_cause ON questions (cause) WHERE cause != '';
CREATE TABLE IF NOT EXISTS asks (ask TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS letters (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, letter BLOB NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS sent_letters (cause TEXT PRIMARY KEY, "view" TEXT NOT NULL);
"""


class GatewayDatabase:
    """The open database; used by one thread at a time. Raises Corrupt, TooNew, OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.close(open_file(path, os.O_RDWR | os.O_CREAT))
        self._db = sqlite3.connect(  # plain: it is a file of ours
            path, isolation_level=None, check_same_thread=False
        )
        try:
            self._open()
        except sqlite3.Error as error:
            self._db.close()
            raise self._told(error) from error
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        migrate_database(self._db, self.path)
        self._db.create_function("folded", 1, str.casefold, deterministic=True)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(SCHEMA)

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
        patiently(lambda: self._transact(statements))

    def _transact(self, statements: Iterable[Statement]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                self._db.execute(sql, values)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise self._told(error) from error
        except BaseException:
            self._roll_back()
            raise

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

    def take_in(
        self, name: str, statements: Callable[[Path, list[JsonObject]], Iterable[Statement]]
    ) -> None:
        """Write down what the journal `name` of an older version holds, once; Corrupt, OSError.

        `statements` turns its records into what is to be written.
        """
        journal = self.path.with_name(name)
        if _version_of(journal) >= MOVED:
            return
        if status_of(journal) is not None:
            if not self.rows("SELECT 1 FROM imported WHERE name = ?", name):
                with Journal(journal, kind=FileKind(name, "journal")) as old:
                    records = old.records
                done = ("INSERT INTO imported VALUES (?)", (name,))
                self.write(*statements(journal, records), done)
            move(journal, journal.with_name(f"{name}.imported"))
        replace_bytes(journal, encode_record({FIELD: MOVED}), 0o600)

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _version_of(journal: Path) -> int:
    """Return the version of an older version's journal, 1 if there is none; TooNew, OSError."""
    try:
        head = read_part(journal, 0, LONGEST_HEAD)[0]
    except FileNotFoundError:
        return 1
    return head_version(journal, head)[0]
