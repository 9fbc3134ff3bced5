"""The mailboxes' file: a SQLite database that only the router opens, written in batches.

Tables: `waiting` has a row for each message that is not done; `done` a row for each batch, with the
keys (4 bytes of the address's number, 16 of the id) of the messages done in it, the newest last;
`address` numbers the addresses and has the highest incarnation of each, 0 if none is known.

Rules:

- One batch is one transaction in the write-ahead log, and survives the death of any process. With
  durability `full`, `sync` makes it survive a power cut as well; `normal` does not guarantee that.
- The file is opened in exclusive mode: another router on the same home is refused by name.
- A damaged file is renamed as a whole and its new name is logged.
- Freed pages are returned once they are the greater part of the file.
"""

import errno
import os
import sqlite3
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import quote

from transport.errors import NotStored, StoreRefused, TransportError

Durability = Literal["full", "normal"]
Log = Callable[[str], None]
# position, address, id, blob
Row = tuple[int, str, bytes, bytes]

SCHEMA = """
CREATE TABLE IF NOT EXISTS address (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, incarnation INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS waiting (
    position INTEGER PRIMARY KEY, address INTEGER NOT NULL, id BLOB NOT NULL, blob BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS done (number INTEGER PRIMARY KEY, keys BLOB NOT NULL);
"""
NUMBER_BYTES = 4
KEY_BYTES = NUMBER_BYTES + 16
PRUNE_FROM = 4_096
WAL_BYTES = 4 * 1024 * 1024
BUSY_SECONDS = 1.0
TIDY_EVERY = 256
TIDY_FROM_PAGES = 512
SUFFIXES = ("", "-wal", "-shm")
FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


@dataclass(slots=True)
class MailboxBatch:
    """The changes that one commit writes."""

    accepted: dict[int, Row] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    done: list[bytes] = field(default_factory=list)
    incarnations: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.accepted or self.taken or self.done or self.incarnations)


class MailboxFile:
    """The open file. `keep_done` keys of done messages are kept, a few more for a while.

    Raises StoreRefused, NotStored (the disk is full) when it cannot be opened or made.
    """

    def __init__(self, path: Path, durability: Durability, keep_done: int, log: Log) -> None:
        self._path = path
        self._durability = durability
        self._keep_done = keep_done
        self._log = log
        self._wal = -1
        self._db = self._open()
        self._numbers: dict[str, int] = dict(
            self._db.execute("SELECT name, number FROM address").fetchall()
        )
        self._new_addresses: list[str] = []
        self._done_rows: deque[tuple[int, int]] = deque()
        self._done_count = 0
        self._commits = 0

    # --- reading --------------------------------------------------------------------------------

    def waiting(self) -> Iterator[tuple[int, str, bytes, int]]:
        """Yield position, address, id and blob length of all waiting messages, oldest first."""
        return self._db.execute(
            "SELECT position, name, id, length(blob) FROM waiting"
            " JOIN address ON address.number = waiting.address ORDER BY position"
        )

    def done(self) -> Iterator[bytes]:
        """Yield the keys of the last done messages, oldest first; call this only once."""
        for number, keys in self._db.execute("SELECT number, keys FROM done ORDER BY number"):
            self._count_done(number, keys)
            yield from [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]

    def incarnations(self) -> dict[str, int]:
        """Return the highest incarnation of each address that has one."""
        rows = self._db.execute("SELECT name, incarnation FROM address WHERE incarnation > 0")
        return dict(rows.fetchall())

    def key(self, address: str, id: bytes) -> bytes:
        """Return the key of a message among the done messages."""
        return self._number(address).to_bytes(NUMBER_BYTES, "big") + id

    def blob(self, position: int) -> bytes:
        """Return the blob of a waiting message."""
        row = self._db.execute("SELECT blob FROM waiting WHERE position = ?", (position,))
        blob: bytes = row.fetchone()[0]
        return blob

    # --- writing --------------------------------------------------------------------------------

    def write(self, batch: MailboxBatch) -> None:
        """Write a batch as one transaction. Raises NotStored; then nothing of it was written."""
        rows = [(at, self._number(to), id_, blob) for at, to, id_, blob in batch.accepted.values()]
        keys = b"".join(batch.done)
        incarnations = [(new, self._number(name)) for name, new in batch.incarnations.items()]
        pruned = self._prunable()
        try:
            self._transact(rows, list(_ranges(batch.taken)), keys, pruned, incarnations)
        except sqlite3.OperationalError as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if not _is_full(error):
                raise
            raise NotStored(f"{self._path} cannot be written: {error}") from None
        self._new_addresses = []
        for _ in range(pruned):
            self._done_count -= self._done_rows.popleft()[1]
        if keys:
            self._count_done(self._newest_done + 1, keys)
        self._commits += 1
        if self._commits % TIDY_EVERY == 0:
            self._tidy()

    def sync(self) -> None:
        """Wait until all writes are on disk, with durability `full`. Raises OSError.

        SQLite itself would sync within the transaction (`synchronous = FULL`).
        """
        if self._durability == "normal":
            return
        if self._wal < 0:
            self._open_log()
        os.fdatasync(self._wal) if hasattr(os, "fdatasync") else os.fsync(self._wal)

    def _open_log(self) -> None:
        """Open the write-ahead log, which exists until SQLite closes, and sync its folder."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        log = self._path.with_name(self._path.name + "-wal")
        self._wal = os.open(log, flags)  # plain: in system/, no model writes there
        folder = os.open(self._path.parent, flags | os.O_DIRECTORY)  # plain: system/
        os.fsync(folder)
        os.close(folder)

    def close(self) -> None:
        """Write everything to the main file and close it."""
        if self._wal >= 0:
            os.close(self._wal)
            self._wal = -1
        self._db.close()

    def _transact(
        self,
        rows: list[tuple[int, int, bytes, bytes]],
        taken: list[tuple[int, int]],
        keys: bytes,
        pruned: int,
        incarnations: list[tuple[int, int]],
    ) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        if self._new_addresses:
            new = [(self._numbers[name], name) for name in self._new_addresses]
            db.executemany("INSERT INTO address (number, name) VALUES (?, ?)", new)
        if incarnations:
            db.executemany("UPDATE address SET incarnation = ? WHERE number = ?", incarnations)
        if rows:
            db.executemany("INSERT INTO waiting VALUES (?, ?, ?, ?)", rows)
        if taken:
            db.executemany("DELETE FROM waiting WHERE position BETWEEN ? AND ?", taken)
        if pruned:
            db.execute("DELETE FROM done WHERE number <= ?", (self._done_rows[pruned - 1][0],))
        if keys:
            db.execute("INSERT INTO done VALUES (?, ?)", (self._newest_done + 1, keys))
        db.execute("COMMIT")

    def _tidy(self) -> None:
        """Release pages if most of the file is free."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if free < TIDY_FROM_PAGES or 2 * free < pages:
            return
        try:
            # `execute` would stop after the first page.
            self._db.executescript(f"PRAGMA incremental_vacuum({free // 2})")
        except sqlite3.OperationalError as error:
            if not _is_full(error):
                raise  # a full disk has no room for tidying; the messages are safe

    # --- addresses and keys ---------------------------------------------------------------------

    def _number(self, address: str) -> int:
        number = self._numbers.get(address)
        if number is None:
            number = self._numbers[address] = len(self._numbers) + 1
            self._new_addresses.append(address)
        return number

    @property
    def _newest_done(self) -> int:
        return self._done_rows[-1][0] if self._done_rows else 0

    def _count_done(self, number: int, keys: bytes) -> None:
        count = len(keys) // KEY_BYTES
        self._done_rows.append((number, count))
        self._done_count += count

    def _prunable(self) -> int:
        """Return how many of the oldest rows of `done` to remove; 0 if there are only few."""
        spare = self._done_count - self._keep_done
        if spare < PRUNE_FROM:
            return 0
        found = 0
        for _, count in self._done_rows:
            if spare < count:
                break
            spare -= count
            found += 1
        return found

    # --- opening --------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        """Return the connection to a valid database. Raises StoreRefused."""
        self._make_private()
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if not _is_corrupt(error):
                raise self._refusal("cannot be used", error) from None
            self._set_aside_file(str(error))
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            raise self._refusal("cannot be made", error) from None

    def _refusal(self, what: str, error: sqlite3.DatabaseError | OSError) -> TransportError:
        """Return the exception to raise when the file cannot be opened."""
        reason = error.strerror if isinstance(error, OSError) else str(error)
        kind = NotStored if _is_full(error) else StoreRefused
        return kind(f"{self._path} {what}: {reason}")

    def _make_private(self) -> None:
        try:
            folder = self._path.parent
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # plain: system/
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self._path, flags, 0o600)  # plain: in system/, no model writes there
            is_regular = stat.S_ISREG(os.fstat(fd).st_mode)
            os.close(fd)
            if not is_regular:
                raise OSError(errno.ENXIO, "Not a regular file")
            wal = self._path.with_name(self._path.name + "-wal")
            # SQLite would discard the log of an empty database.
            if not self._path.stat().st_size and wal.exists() and wal.stat().st_size:
                self._set_aside_file("it is empty beside a log that is not")
        except OSError as error:
            raise self._refusal("cannot be opened", error) from None

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(  # plain: below system/, where no model writes
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _Corrupt(verdict)
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
            db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside_file(self, reason: str) -> None:
        """Rename the file and its logs. Raises StoreRefused if that fails."""
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.corrupt-{number}")).exists():
            number += 1
        try:
            # The logs first: without them the file is still there, and is moved next time.
            for suffix in reversed(SUFFIXES):
                source = self._path.with_name(self._path.name + suffix)
                if source.exists():
                    source.rename(  # plain: below system/, where no model writes
                        aside.with_name(aside.name + suffix)
                    )
        except OSError as error:
            raise StoreRefused(f"{self._path} is corrupt and cannot be moved: {error}") from None
        self._log(
            f"{self._path} is corrupt ({reason}): moved aside as {aside.name},"
            " its waiting messages are not delivered"
        )


class _Corrupt(sqlite3.DatabaseError):
    """The fault that the check of the whole file has found."""


def recorded_incarnations(path: Path) -> dict[str, int]:
    """Return the highest incarnation of each address in a file that no router has open.

    Empty if there is no valid file: the router reports the reason.
    """
    try:
        if not path.stat().st_size:
            return {}  # opening it would discard a log beside it
        uri = f"file:{quote(str(path))}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as db:  # plain: system/
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            rows = db.execute("SELECT name, incarnation FROM address WHERE incarnation > 0")
            return dict(rows.fetchall())
    except (OSError, sqlite3.DatabaseError):
        return {}


def check_durability(value: object) -> Durability:
    """Return the setting if it is valid. Raises StoreRefused."""
    for known in get_args(Durability):
        if value == known:
            return cast(Durability, known)
    raise StoreRefused(f"unknown durability {value!r} (known: {', '.join(get_args(Durability))})")


def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, _Corrupt) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "sqlite_errorcode", 0) in FULL_CODES


def _ranges(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last position of each run of consecutive positions."""
    first = last = 0
    for position in sorted(positions):
        if position == last + 1 and first:
            last = position
            continue
        if first:
            yield first, last
        first = last = position
    if first:
        yield first, last
