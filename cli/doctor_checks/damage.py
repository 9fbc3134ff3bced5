"""Damage: files of the home that are damaged or missing, and the loss of each."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agiraph.core.errors import Corrupt
from agiraph.core.ids import coordinator_address
from agiraph.core.json_text import parse_json
from agiraph.core.models import ENDED_AGENT, Agent
from agiraph.http.discovery import is_held
from agiraph.readmodel.child_register import RegisteredChildren, fold, lost_from
from agiraph.readmodel.home_copy import copy_if_there
from agiraph.storage.files import read_bytes, status_of
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.journal import DamagedJournal, read_journal
from cli.doctor_checks.check import DoctorCheck, DoctorContext, fail, first_of, ok, warn
from cli.doctor_checks.home import agents_of, latest_runs
from transport.mailbox_file import recorded_incarnations

MOST_BYTES: Final = 256 * 1024 * 1024
"""The read limit over all journals, because a person waits for it."""

LOG_SUFFIX: Final = "-wal"


def check_records(context: DoctorContext) -> DoctorCheck:
    """Check that every journal, record and database of the home can be read as a whole."""
    home = context.home
    read = _Journals()
    found = [read.fault(path) for path in journals_of(home)]
    found += [_record_fault(path) for path in records_of(home)]
    found += [database_fault(home, path) for path in databases_of(home)]
    damaged = [one for one in found if one]
    if damaged:
        return fail(
            first_of(damaged),
            "restore it from a backup; docs/operations.md (Troubleshooting) says how to"
            " continue without one",
        )
    return ok("every journal, record and database can be read" + read.rest())


def check_missing(context: DoctorContext) -> DoctorCheck:
    """Check that a used home has all required databases, agent records and journals."""
    home = context.home
    if not any(map(_is_there, (home.system.children, *databases_of(home)))):
        return ok("the home has not been used")
    found = [f"{path} is missing: {loss}" for path, loss in _needed(home) if not _is_there(path)]
    if not found:
        return ok("none is missing")
    return warn(
        first_of(found), "stop the supervisor and restore it from a backup, if you have one"
    )


def check_register(context: DoctorContext) -> DoctorCheck:
    """Check that the supervisor's register is complete and has every unfinished agent."""
    home = context.home
    table = _register(home)
    if table is None:
        return ok("it cannot be read; see the check of records")
    left_out = [
        agent.name
        for files in agents_of(home)
        if (agent := _agent(files)) is not None
        and agent.status not in ENDED_AGENT
        and coordinator_address(agent.id) not in table.rows
    ]
    commands = ", ".join(f"agiraph resume {name}" for name in left_out)
    stay = f"agents that it does not name do not start by themselves: {', '.join(left_out)}"
    with _readable(home, home.system.mailboxes) as copy:
        lost = lost_from(table, recorded_incarnations(copy)) if copy is not None else []
    if lost:
        detail = (
            f"{home.system.children} has lost its end, or was removed or replaced by an older copy:"
            f" the router knows later incarnations of {len(lost)} addresses, and the next start"
            " continues above them"
        )
        detail += f"; {stay}" if left_out else ""
        return warn(detail, commands or "nothing is to be done")
    if left_out:
        return warn(f"{home.system.children} is incomplete: {stay}", commands)
    return ok(f"{len(table.rows)} processes of agents are registered")


def check_knowledge(context: DoctorContext) -> DoctorCheck:
    """Check that the knowledge database can be read; runs continue without it."""
    path = context.home.knowledge
    if not _is_there(path):
        return ok("nothing has been learned yet")
    if fault := database_fault(context.home, path, "nodes"):
        advice = "put a copy of it back, or remove it: a new one is begun"
        return warn(f"{fault}: runs continue without earlier notes", advice)
    return ok("notes of earlier runs can be read")


# --- the files of a home -------------------------------------------------------------------------


def journals_of(home: Home) -> Iterator[Path]:
    """Yield the journals of a home, with the journals of its agents' latest runs."""
    human = home.human
    yield home.system.children
    yield from (human.channels, human.repeats)
    for agent in agents_of(home):
        yield from (agent.conversation, agent.events)
        for run in latest_runs(agent):
            yield from (run.journal, run.shared_values_journal, run.messages / ".journal.jsonl")
            if _is_there(run.workers):
                yield from sorted(run.workers.glob("*/conversation.jsonl"))  # plain: names only


def records_of(home: Home) -> Iterator[Path]:
    """Yield the JSON files of a home that a process reads when it starts."""
    system = home.system
    yield from (system.doors, system.hosts, system.tracing, system.uplink_key, home.human.tokens)
    for agent in agents_of(home):
        yield from (agent.record, agent.triggers)


def databases_of(home: Home) -> tuple[Path, ...]:
    """Return the databases without which a service does not start, or has lost data."""
    return home.system.usage, home.system.mailboxes, home.human.book


def _needed(home: Home) -> Iterator[tuple[Path, str]]:
    yield home.system.usage, "earlier spending is unknown, and every budget begins again"
    yield home.system.mailboxes, "messages that waited are lost"
    yield home.human.book, "questions, messages to you and dead letters are lost"
    for agent in agents_of(home):
        record = _agent(agent)
        if not _is_there(agent.record):
            yield (
                agent.record,
                f"the agent {agent.path.name} is hidden until its coordinator starts",
            )
        if record is not None and record.run is not None and record.status not in ENDED_AGENT:
            yield agent.conversation, f"the coordinator of {record.name} begins without a memory"
            board = agent.run(record.run).journal
            yield board, f"the plan and the nodes of {record.name} are lost"


def _is_there(path: Path) -> bool:
    try:
        return status_of(path) is not None
    except OSError:
        return True  # `check_files` reports it


# --- whether it can be read ----------------------------------------------------------------------


class _Journals:
    """Reads journals until MOST_BYTES were read."""

    def __init__(self) -> None:
        self._left = MOST_BYTES
        self._unread = 0

    def fault(self, path: Path) -> str:
        """Return the damage of a journal as text, '' if it is undamaged or missing."""
        try:
            status = status_of(path)
            if status is None:
                return ""
            if status.st_size > self._left:
                self._unread += 1
                return ""
            self._left -= status.st_size
            read_journal(path)
        except DamagedJournal as error:
            return f"{error} (its process says how to continue when it starts)"
        except Corrupt as error:
            return str(error)
        except OSError:
            pass  # `check_files` reports it
        return ""

    def rest(self) -> str:
        """Return a remark about journals that were not read, '' if all were read."""
        return f"; {self._unread} journals are too long to be read here" if self._unread else ""


def _record_fault(path: Path) -> str:
    try:
        is_object = isinstance(parse_json(read_bytes(path)), dict)
    except OSError:
        return ""  # `check_files` reports it
    except ValueError as error:
        return f"{path} is damaged: it is not JSON ({error})"
    return "" if is_object else f"{path} is damaged: it is no JSON object"


def database_fault(home: Home, path: Path, table: str = "sqlite_master") -> str:
    """Return the fault of a database, '' if it is valid, missing, or in use."""
    with _readable(home, path) as copy:
        if copy is None:
            return ""
        name = f"file:{quote(str(copy))}?mode=ro"
        try:
            with closing(sqlite3.connect(name, uri=True)) as db:  # plain: in a temporary folder
                (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
                db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()
        except sqlite3.DatabaseError as error:
            verdict = str(error)
    return "" if verdict == "ok" else f"{path} is damaged ({' '.join(verdict.split())})"


@contextmanager
def _readable(home: Home, path: Path) -> Iterator[Path | None]:
    """Yield a copy of a database with its log, because opening a database writes.

    Yields None if a process may have the database open, if it is missing, or if there is no room
    for a copy.
    """
    with tempfile.TemporaryDirectory(prefix="agiraph-doctor-") as folder:
        copy = Path(folder) / path.name
        try:
            for name in (path.name, path.name + LOG_SUFFIX):
                copy_if_there(path.with_name(name), copy.with_name(name))
        except OSError:
            yield None
            return
        yield copy if _is_there(copy) and not is_held(home.path) else None


def _register(home: Home) -> RegisteredChildren | None:
    try:
        return fold(read_journal(home.system.children))
    except (Corrupt, OSError, ValueError):
        return None


def _agent(files: AgentHome) -> Agent | None:
    try:
        return Agent.model_validate_json(read_bytes(files.record))
    except (OSError, ValueError):
        return None
