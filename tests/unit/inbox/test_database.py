"""The gateway's database: opened in bounded work, whole after a crash."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import Corrupt
from agiraph.core.models import ProposedAction
from agiraph.http.errors import ApiError
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.dead_letters import DeadLetterStore
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.questions import QuestionStore
from agiraph.storage.disk_space import DiskFull
from tests.unit.inbox.question_requests import ADA, asking


class CountingDatabase(GatewayDatabase):
    """A database that counts the rows that are read from it, and SQLite's own steps."""

    def __init__(self, path: Path) -> None:
        self.read = self.steps = 0
        super().__init__(path)

    def _open(self, schema: str, pragmas: Sequence[str], at_birth: Sequence[str]) -> None:
        self._db.set_progress_handler(self._step, 1)
        super()._open(schema, pragmas, at_birth)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        found = super().rows(sql, *values)
        self.read += len(found)
        return found


def fill(path: Path, first: int, last: int) -> None:
    """Write messages of two agents, and questions that are answered and delivered."""
    with closing(GatewayDatabase(path)) as database:
        thread, book = MessageHistory(database), QuestionStore(database)
        for n in range(first, last):
            agent, who = ("mill-2", "Bob") if n == 3 else ("shop-1", "Ada")
            thread.add(id=f"{n:08}", agent=agent, sender=who, to="human", content="x", ts=1.0)
            book.ask(asking(f"q-{n:08}"), ADA, f"{n:02}", 1.0)
            book.answer(f"q-{n:08}", "this", "human", 1000.0, "cli", f"c{n}")
            book.delivered(f"q-{n:08}", f"{n:02}")


def live(path: Path) -> None:
    """Write an open question, a standing approval, and an answer that was not delivered yet."""
    with closing(GatewayDatabase(path)) as database:
        book = QuestionStore(database)
        act = ProposedAction(tool="bash", subject="ls", rule="r", remember="ls")
        book.ask(asking("q-open"), ADA, "a1", 1.0)
        book.ask(asking("q-always", kind="approval", about=act), ADA, "a2", 1.0)
        book.answer("q-always", "allow always", "Eve", 2.0)
        book.delivered("q-always", "a2")
        book.ask(asking("q-untold"), ADA, "a3", 1.0)
        book.answer("q-untold", "this", "Eve", 2.0)


def work(path: Path) -> tuple[int, int]:
    """Return how many rows opening the books and a page of each reads, and SQLite's steps."""
    with closing(CountingDatabase(path)) as counted:
        thread, book, dead = (
            MessageHistory(counted),
            QuestionStore(counted),
            DeadLetterStore(counted),
        )
        assert [case.question.id for case in book.live()] == ["q-open", "q-always", "q-untold"]
        thread.page("mill-2", 0, 10)
        thread.page("shop-1", 0, 10, before=2**53)
        thread.page("shop-1", 0, 10, before=2**53, entity="ada")
        thread.page("shop-1", 0, 10, entity="nobody")
        thread.find("shop-1", "00000001")
        thread.unanswered("shop-1", "Ada")
        assert "00000002" in thread
        assert book.meant("q-00000001") == "q-00000001"
        assert book.answered_as("c2") == "q-00000002"
        assert book.get("q-nobody") is None
        assert dead.views() == []
        return counted.read, counted.steps


def test_cost_of_opening_and_paging_does_not_grow_with_the_store(path: Path) -> None:
    live(path)
    fill(path, 0, 30)
    read, steps = work(path)
    fill(path, 30, 400)
    assert work(path) == (read, steps)


def test_closed_question_is_found_by_id_message_and_repeated_asking(
    path: Path,
) -> None:
    fill(path, 0, 5)
    with closing(GatewayDatabase(path)) as database:
        book = QuestionStore(database)
        assert book.live() == []
        with pytest.raises(ApiError, match="answered by human at 1970-01-01T00:16:40Z over cli"):
            book.answer(book.meant("q-00000001"), "that", "Eve", 2000.0)
        assert book.answer("q-00000002", "that", "Eve", 3.0, cause="c2").answer == "this"
        assert book.ask(asking("q-00000001"), ADA, "01", 1.0) is None, "the same message"
        assert book.undelivered() == []
        assert book.ask(asking("q-00000001"), ADA, "weeks later", 9e6) is None
        [case] = book.undelivered()
        assert (case.undelivered, case.question.answer) == (("weeks later",), "this")
    with closing(GatewayDatabase(path)) as database:
        book = QuestionStore(database)
        book.delivered("q-00000001", "weeks later")
        assert book.live() == []
        assert [one.id for one in book.listed(2)] == ["q-00000003", "q-00000004"]


def test_open_questions_are_listed_regardless_of_age(path: Path) -> None:
    live(path)
    fill(path, 0, 5)
    with closing(GatewayDatabase(path)) as database:
        book = QuestionStore(database)
        assert [one.id for one in book.listed(1)] == ["q-open", "q-00000004"]
        assert [one.id for one in book.listed(1, "open")] == ["q-open"]
        assert [one.id for one in book.listed(2, "answered")] == ["q-00000003", "q-00000004"]


def test_written_records_survive_a_crash_at_any_byte_of_the_log(path: Path, tmp_path: Path) -> None:
    log, cut = path.with_name("book.db-wal"), tmp_path / "cut" / "book.db"
    cut.parent.mkdir()
    with closing(GatewayDatabase(path)) as database:
        thread, ends = MessageHistory(database), []
        for n in range(4):
            thread.add(id=str(n), agent="a", sender="Ada", to="human", content="x" * 50, ts=1.0)
            ends.append(log.stat().st_size)
        whole, data = path.read_bytes(), log.read_bytes()
    start = ends[0]
    for size in [*range(start, len(data), 911), *(end + by for end in ends for by in (-1, 0))]:
        for old in cut.parent.iterdir():
            old.unlink()
        cut.write_bytes(whole)
        cut.with_name(log.name).write_bytes(data[:size])
        with closing(GatewayDatabase(cut)) as database:
            count = MessageHistory(database).count
        assert count == sum(end <= size for end in ends)


@pytest.fixture
def full(path: Path) -> Iterator[GatewayDatabase]:
    """Yield a database that may not grow by another page."""
    with closing(GatewayDatabase(path)) as database:
        MessageHistory(database)
        (pages,) = database.rows("PRAGMA page_count")[0]
        database.rows(f"PRAGMA max_page_count = {pages}")
        yield database


def test_message_refused_on_a_full_disk_leaves_no_trace(full: GatewayDatabase) -> None:
    thread = MessageHistory(full)
    told: dict[str, Any] = {"agent": "a", "sender": "Ada", "to": "human", "ts": 1.0}
    with pytest.raises(DiskFull):
        thread.add(id="1", content="x" * 100_000, **told)
    assert thread.count == 0
    assert thread.add(id="1", content="x", **told)
    assert [message.seq for message in thread.since(0)] == [1]


def test_file_that_is_not_a_database_is_refused_by_name(path: Path) -> None:
    path.write_bytes(b"no database, but long enough to be looked at" * 100)
    with pytest.raises(Corrupt, match=r"book\.db is damaged"):
        GatewayDatabase(path)
    path.unlink()
    GatewayDatabase(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
