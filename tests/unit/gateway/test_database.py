"""The gateway's database: opened in bounded work, whole after a crash; older journals taken in."""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state import database as module
from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.dead_letters import DeadLetterStore
from actors.gateway.state.message_history import MessageHistory
from agiraph.core.errors import Corrupt
from agiraph.core.models import ProposedAction
from agiraph.http.errors import ApiError
from agiraph.storage.disk_space import DiskFull
from agiraph.storage.journal import encode_record
from tests.unit.gateway.asking import ADA, asking

OLD = Path(__file__).parents[2] / "fixtures" / "homes" / "0.1" / "human"
BOOKS = ("questions.jsonl", "inbox.jsonl", "dead.jsonl")


class Counted(GatewayDatabase):
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
    """Write an open question, a standing approval, and an answer that nobody was told yet."""
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
    with closing(Counted(path)) as counted:
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


def test_opening_and_paging_read_as_much_of_a_long_book_as_of_a_short_one(path: Path) -> None:
    live(path)
    fill(path, 0, 30)
    read, steps = work(path)
    fill(path, 30, 400)
    assert work(path) == (read, steps)


def test_a_closed_question_is_known_by_its_id_its_message_and_when_it_is_asked_again(
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


def test_open_questions_are_listed_whatever_their_age(path: Path) -> None:
    live(path)
    fill(path, 0, 5)
    with closing(GatewayDatabase(path)) as database:
        book = QuestionStore(database)
        assert [one.id for one in book.listed(1)] == ["q-open", "q-00000004"]
        assert [one.id for one in book.listed(1, "open")] == ["q-open"]
        assert [one.id for one in book.listed(2, "answered")] == ["q-00000003", "q-00000004"]


def test_what_was_written_survives_a_crash_at_any_byte_of_the_log(
    path: Path, tmp_path: Path
) -> None:
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
def older(path: Path) -> Path:
    """Return the place of a database beside the journals of 0.1."""
    for name in BOOKS:
        shutil.copy(OLD / name, path.parent)
    return path


def everything(path: Path) -> object:
    with closing(GatewayDatabase(path)) as database:
        book, thread, dead = (
            QuestionStore(database),
            MessageHistory(database),
            DeadLetterStore(database),
        )
        asked = [(q.id, q.status, q.answer) for q in book.listed(9)]
        untold = [case.undelivered for case in book.undelivered()]
        return asked, untold, thread.page("shop-1", 0, 9), dead.views()


def test_older_journals_are_taken_in_once_and_kept_beside(older: Path) -> None:
    first = everything(older)
    assert everything(older) == first
    for name in BOOKS:
        assert older.with_name(f"{name}.imported").read_bytes() == (OLD / name).read_bytes()
        assert json.loads(older.with_name(name).read_text())["version"] == 2, "0.1 refuses it"


@pytest.mark.parametrize("call", ["write", "move", "replace_bytes"])
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("is_done", [False, True])
def test_a_crash_while_they_are_taken_in_loses_and_doubles_nothing(
    older: Path, call: str, number: int, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = GatewayDatabase if call == "write" else module
    real, calls = getattr(where, call), iter(range(99))

    def crash(*args: object) -> None:
        is_now = next(calls) == number
        if is_done or not is_now:
            real(*args)
        if is_now:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, call, crash)
        with pytest.raises(KeyboardInterrupt):
            everything(older)
    after = everything(older)
    for name in BOOKS:
        older.with_name(name).unlink()
        shutil.copy(OLD / name, older.parent)
    for file in older.parent.glob("book.db*"):
        file.unlink()
    assert everything(older) == after, "as if it had never crashed"


def test_a_torn_end_of_an_older_journal_is_left_out_and_damage_is_refused(path: Path) -> None:
    inbox = path.with_name("inbox.jsonl")
    line = {"id": "1", "agent": "a", "from": "Ada", "to": "human", "content": "x", "ts": 1.0}
    inbox.write_bytes(encode_record(line) + b'{"id": "2", "ag')
    with closing(GatewayDatabase(path)) as database:
        assert MessageHistory(database).count == 1
    path.unlink()
    inbox.write_bytes(encode_record(line | {"ts": 2}).replace(b"2", b"3", 1) + encode_record(line))
    with closing(GatewayDatabase(path)) as database, pytest.raises(Corrupt, match="is damaged"):
        MessageHistory(database)
    assert list(inbox.parent.glob("inbox.jsonl.corrupt-*"))


@pytest.fixture
def full(path: Path) -> Iterator[GatewayDatabase]:
    """Yield a database that may not grow by another page."""
    with closing(GatewayDatabase(path)) as database:
        MessageHistory(database)
        (pages,) = database.rows("PRAGMA page_count")[0]
        database.rows(f"PRAGMA max_page_count = {pages}")
        yield database


def test_what_finds_the_disk_full_is_refused_and_leaves_nothing(full: GatewayDatabase) -> None:
    thread = MessageHistory(full)
    told: dict[str, Any] = {"agent": "a", "sender": "Ada", "to": "human", "ts": 1.0}
    with pytest.raises(DiskFull):
        thread.add(id="1", content="x" * 100_000, **told)
    assert thread.count == 0
    assert thread.add(id="1", content="x", **told)
    assert [message.seq for message in thread.since(0)] == [1]


def test_a_file_that_is_no_database_is_refused_by_name(path: Path) -> None:
    path.write_bytes(b"no database, but long enough to be looked at" * 100)
    with pytest.raises(Corrupt, match=r"book\.db is damaged"):
        GatewayDatabase(path)
    path.unlink()
    GatewayDatabase(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
