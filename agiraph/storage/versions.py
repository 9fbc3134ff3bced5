"""Versions: the version of each kind of file in a home, and how older ones are upgraded.

A file states its version as follows; one that states none has version 1:

    journal     its first record is {"version": N}
    JSON        its field `version`, a number
    SQLite      PRAGMA user_version

`KINDS` has an entry for each. To change what a kind of file means, add a step to its entry: the
step turns one record of a journal (one object of a JSON file, one open database) of the previous
version into the new one, and the kind's version grows by one. A file of a newer version than its
entry knows is refused by name (`TooNew`) before anything in it is read: the process that needs it
reports it and does not start; if it is one agent's file, only that agent is left out.

Files that are rebuilt whenever they cannot be read have no version: snapshots, the catalogs of MCP
servers, what a run began with (`.memory-at-start.json`, `.notes-at-start.json`,
`.tools-at-start.json`), attempts and addresses.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from agiraph.core.errors import Corrupt
from agiraph.storage.files import read_bytes, read_part

JsonObject = dict[str, Any]
Step = Callable[[JsonObject], JsonObject]
Form = Literal["journal", "json", "sqlite"]

FIELD: Final = "version"
LONGEST_HEAD: Final = 256
USER_VERSION: Final = slice(60, 64)
"""Its place in a SQLite file (https://www.sqlite.org/fileformat2.html, section 1.3)."""


class TooNew(Corrupt):
    """A file was written by a newer Agiraph."""

    def __init__(self, path: Path | str, version: int, known: int) -> None:
        super().__init__(
            f"{path} was written by a newer Agiraph: its version is {version},"
            f" this one knows up to {known}"
        )


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: the pattern of its name, its format, and its steps from version 1 on.

    A step of a database is SQL.
    """

    name: str
    form: Form
    steps: tuple[Step, ...] = ()
    sql: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The current version."""
        return 1 + len(self.steps) + len(self.sql)


def _moved(record: JsonObject) -> JsonObject:
    """Version 2 of a journal whose records are in `book.db`
    (`actors/gateway/state/database.py`)."""
    return record


def _without_calls(record: JsonObject) -> JsonObject:
    """Version 2 of the tracer's file: of an open tool call, also its tool and its run."""
    return {agent: state | {"calls": {}} for agent, state in record.items() if agent != FIELD}


KINDS: Final = (
    FileKind("agent.json", "json"),
    FileKind("triggers.json", "json"),
    FileKind("doors.json", "json"),
    FileKind("tokens.json", "json"),
    FileKind("tracing.json", "json", steps=(_without_calls,)),
    FileKind("events.jsonl", "journal"),
    FileKind("conversation.jsonl", "journal"),
    FileKind("journal.jsonl", "journal"),
    FileKind("context.jsonl", "journal"),
    FileKind(".journal.jsonl", "journal"),
    FileKind("questions.jsonl", "journal", steps=(_moved,)),
    FileKind("inbox.jsonl", "journal", steps=(_moved,)),
    FileKind("repeats.jsonl", "journal"),
    FileKind("dead.jsonl", "journal", steps=(_moved,)),
    FileKind("channels.jsonl", "journal"),
    FileKind("children.journal", "journal"),
    FileKind("hosts.json", "json"),
    FileKind("uplink.key", "json"),
    FileKind("usage.db", "sqlite"),
    FileKind("book.db", "sqlite"),
    FileKind("context.db", "sqlite"),
)
"""Except two that have their own tables where they are written: `mailboxes.db`
(`transport/mailbox_file.py`) and the recordings (`agiraph/llm/recording/recording.py`).
"""

UNKNOWN: Final = FileKind("*", "journal")


def kind_of(path: Path) -> FileKind:
    """Return the kind of a file; without an entry, one that has no steps."""
    return next((kind for kind in KINDS if kind.name == path.name), UNKNOWN)


def version_of(record: object) -> int:
    """Return the version in a JSON value; 1 if there is none."""
    said = record.get(FIELD) if isinstance(record, dict) else None
    return said if isinstance(said, int) and not isinstance(said, bool) else 1


def read_object(path: Path, data: bytes | str, kind: FileKind | None = None) -> Any:
    """Return the content of a JSON file in the current version. Raises TooNew, ValueError."""
    kind = kind or kind_of(path)
    value = json.loads(data)
    version = version_of(value)
    if version > kind.version:
        raise TooNew(path, version, kind.version)
    for step in kind.steps[version - 1 :]:
        value = step(value)
    return value


def head_version(path: Path, head: bytes, kind: FileKind | None = None) -> tuple[int, int]:
    """Return a journal's version and where its records begin, by its first bytes.

    Raises TooNew.
    """
    line, newline, _ = head[:LONGEST_HEAD].partition(b"\n")
    if not newline or not line.startswith(b'{"version":'):
        return 1, 0
    try:
        record = json.loads(line)
    except ValueError:
        return 1, 0
    if record.keys() - {"crc"} != {FIELD}:
        return 1, 0
    version, known = version_of(record), (kind or kind_of(path)).version
    if version > known:
        raise TooNew(path, version, known)
    return version, len(line) + 1


def migrate_database(db: sqlite3.Connection, path: Path, kind: FileKind | None = None) -> None:
    """Upgrade an open database to the current version, each step in one transaction.

    Version 0 means version 1, or a new empty file. Raises TooNew, sqlite3.Error.
    """
    kind = kind or kind_of(path)
    (said,) = db.execute("PRAGMA user_version").fetchone()
    if said > kind.version:
        raise TooNew(path, said, kind.version)
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if said == 0:
        said = 1 if tables else kind.version
        db.execute(f"PRAGMA user_version = {said}")
    for number, step in enumerate(kind.sql[said - 1 :], said + 1):
        db.executescript(f"BEGIN; {step}; PRAGMA user_version = {number}; COMMIT;")


def refuse_newer(path: Path, kind: FileKind | None = None) -> None:
    """Raise TooNew if a newer version wrote this file; other faults are ignored.

    Raises OSError, but not for a file that is missing.
    """
    kind = kind or kind_of(path)
    try:
        data = read_bytes(path) if kind.form == "json" else read_part(path, 0, LONGEST_HEAD)[0]
    except FileNotFoundError:
        return
    match kind.form:
        case "journal":
            head_version(path, data, kind)
        case "json":
            with suppress(ValueError):
                read_object(path, data, kind)
        case "sqlite":
            said = int.from_bytes(data[USER_VERSION], "big")
            if said > kind.version:
                raise TooNew(path, said, kind.version)
