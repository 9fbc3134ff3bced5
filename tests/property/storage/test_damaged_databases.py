"""A database with a hole, or with other bytes, is read unchanged, or refused by name as Corrupt."""

from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.clock import SystemClock
from agiraph.core.errors import Corrupt
from agiraph.core.models import QuestionStatus
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.questions import QuestionStore
from agiraph.settings.config import load_config
from agiraph.spending.ledger import GROUPS, UsageLedger
from agiraph.spending.spending_totals import SpendingKey
from tests.unit.inbox.test_database import fill, live
from tests.unit.spending.test_ledger import spent

NUMBERS = count()
ROWS = 400
BUDGETS = load_config().budgets
Damage = tuple[float, int, bytes]

damages = st.tuples(
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([1, 16, 300, 4096, 20_000]),
    st.sampled_from([b"\x00", b"\xff", b"\x5a", b"ab\n"]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def usage(folder: Path) -> Path:
    """Return a ledger of many calls."""
    path = folder / "whole" / "usage.db"
    with UsageLedger(path) as ledger:
        for number in range(ROWS):
            ledger.write(spent(f"a/{'ada' if number % 2 else 'bob'}", f"r{number % 7}"))
    return path


@pytest.fixture(scope="module")
def book(folder: Path) -> Path:
    """Return the gateway's database, with messages and questions."""
    path = folder / "whole" / "book.db"
    path.parent.mkdir(exist_ok=True)
    fill(path, 0, 60)
    live(path)
    return path


def with_hole(whole: bytes, damage: Damage) -> bytes:
    """Return the bytes with some of them replaced."""
    share, length, filling = damage
    start = int(share * len(whole))
    end = min(len(whole), start + length)
    return whole[:start] + (filling * length)[: end - start] + whole[end:]


def read_or_refuse(path: Path, data: bytes, read: Callable[[], None]) -> None:
    """Write a damaged database and read it; only a refusal that names it is allowed."""
    path.write_bytes(data)
    told = str(path)
    try:
        read()
    except Corrupt as error:
        told = str(error)
    finally:
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()
    assert str(path) in told


@given(damage=damages)
def test_a_damaged_ledger_is_read_or_refused_by_name(
    damage: Damage, folder: Path, usage: Path
) -> None:
    path = folder / f"{next(NUMBERS)}.db"

    def read() -> None:
        with UsageLedger(path) as ledger:
            ledger.limits(BUDGETS, SystemClock())
            ledger.by_entity()
            ledger.spending.total(SpendingKey("run", "r1"))
            ledger.usage_of_grant("a/ada", "")
            for by in GROUPS:
                ledger.rows(by)
            ledger.write(spent("a/ada"))

    read_or_refuse(path, with_hole(usage.read_bytes(), damage), read)


@given(damage=damages)
def test_a_damaged_book_is_read_or_refused_by_name(
    damage: Damage, folder: Path, book: Path
) -> None:
    path = folder / f"{next(NUMBERS)}.db"

    def read() -> None:
        with closing(GatewayDatabase(path)) as database:
            thread, questions = MessageHistory(database), QuestionStore(database)
            thread.page("shop-1", 0, 100)
            thread.unread("shop-1")
            list(thread.since(0))
            for status in (None, *get_args(QuestionStatus)):
                questions.listed(100, status)
            questions.live()

    read_or_refuse(path, with_hole(book.read_bytes(), damage), read)
