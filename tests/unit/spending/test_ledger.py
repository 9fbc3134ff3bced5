"""The ledger: spending stays on disk and adds up by entity and run."""

import asyncio
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.turns import Usage, UsageBy
from agiraph.spending.ledger import LedgerRow, UsageLedger
from agiraph.spending.spending_totals import SpendingKey
from agiraph.storage.database import _Connection
from agiraph.storage.disk_space import waiting
from tests.unit.llm.requests import ask


def spent(entity: str, run: str = "r1", cost: float | None = 0.25, **more: Any) -> LedgerRow:
    usage = Usage(
        input_tokens=100, output_tokens=5, cache_read_tokens=60, cache_write_tokens=3, cost_usd=cost
    )
    request = ask(model="anthropic/x", entity=entity, run_id=run, **more)
    return LedgerRow(1.0, request, "answered", usage, 0.5)


def test_usage_adds_up_by_entity_of_one_run_or_all(tmp_path: Path) -> None:
    with UsageLedger(tmp_path / "system" / "usage.db") as ledger:
        for entity, run in (("a/ada", "r1"), ("a/ada", "r1"), ("a/bob", "r1"), ("a/ada", "r2")):
            ledger.write(spent(entity, run))
        of_run = ledger.by_entity("r1")
        assert list(of_run) == ["a/ada", "a/bob"]
        assert of_run["a/ada"].input_tokens == 200
        assert of_run["a/ada"].cache_read_tokens == 120
        assert of_run["a/ada"].cost_usd == pytest.approx(0.5)
        assert ledger.by_entity()["a/ada"].output_tokens == 15
        assert ledger.spent_usd("r1") == pytest.approx(0.75)
        assert ledger.spent_usd("r9") == 0
        assert ledger.by_entity("r9") == {}


@pytest.mark.parametrize("is_known", [True, False])
def test_sum_with_an_estimate_is_an_estimate(tmp_path: Path, is_known: bool) -> None:
    with UsageLedger(tmp_path / "usage.db") as ledger:
        key = SpendingKey("run", "r1")
        ledger.write(spent("a/ada"))
        if is_known:
            assert not ledger.spending.total(key).is_estimate
        row = spent("a/ada")
        ledger.write(replace(row, usage=row.usage.model_copy(update={"is_estimate": True})))
        assert ledger.spending.total(key).is_estimate
        assert ledger.by_entity("r1")["a/ada"].is_estimate


def test_usage_of_runs_is_summed_once_and_updated_by_writes(tmp_path: Path) -> None:
    with UsageLedger(tmp_path / "usage.db") as ledger:
        for entity, run in (("a/ada", "r1"), ("b/bob", "r2"), ("b/bob", "r3")):
            ledger.write(spent(entity, run))
        assert ledger.of_runs(["r1", "r2", "r9"]) == ledger.by_entity("r1") | ledger.by_entity("r2")
        assert ledger.by_entity() == ledger.of_runs(["r1", "r2", "r3"])
        ledger.write(spent("a/ada", cost=None))
        ledger.write(spent("a/cleo"))
        ledger.write(spent("a/cleo", "r3"))
        assert ledger.of_runs(["r1"]) == ledger.by_entity("r1")
        assert ledger.of_runs(["r2", "r3", "r3"])["b/bob"] == ledger.by_entity()["b/bob"]
        ledger.write(spent("a/ada", ""))
        assert ledger.by_entity() == {row.key: row.usage for row in ledger.rows("entity")}


def test_unknown_price_is_not_a_cost_of_zero(tmp_path: Path) -> None:
    with UsageLedger(tmp_path / "usage.db") as ledger:
        ledger.write(spent("a/ada", cost=None))
        assert ledger.by_entity()["a/ada"].cost_usd is None
        ledger.write(spent("a/ada", cost=0.5))
        assert ledger.by_entity()["a/ada"].cost_usd == 0.5


def test_usage_is_kept_after_a_kill(tmp_path: Path) -> None:
    first = UsageLedger(tmp_path / "usage.db")
    first.write(spent("a/ada"))
    with UsageLedger(tmp_path / "usage.db") as second:  # the first is not closed: it was killed
        assert second.spent_usd("r1") == pytest.approx(0.25)
    first.close()


def test_usage_rows_are_grouped_by_entity_node_model_or_day(tmp_path: Path) -> None:
    day = 24 * 3600.0
    with UsageLedger(tmp_path / "usage.db") as ledger:
        for number, (entity, run, node, model) in enumerate(
            [
                ("a/ada", "r1", "n1", "x/one"),
                ("a/ada", "r1", "n2", "x/two"),
                ("a/coordinator", "r2", "", "x/one"),
                ("ab/ada", "r3", "n1", "x/one"),
            ]
        ):
            usage = Usage(input_tokens=10 * (number + 1), output_tokens=1)
            request = ask(model=model, entity=entity, run_id=run, node_id=node)
            ledger.write(LedgerRow(number * day, request, "answered", usage, 0.5))

        def told(by: UsageBy, run: str = "", agent: str = "") -> list[tuple[str, str, int, int]]:
            rows = ledger.rows(by, run, agent)
            return [(row.run, row.key, row.calls, row.usage.input_tokens) for row in rows]

        assert told("entity") == [
            ("", "a/ada", 2, 30),
            ("", "a/coordinator", 1, 30),
            ("", "ab/ada", 1, 40),
        ]
        assert told("entity", agent="a") == [("", "a/ada", 2, 30), ("", "a/coordinator", 1, 30)]
        assert told("agent") == [("", "a", 3, 60), ("", "ab", 1, 40)]
        nodes = [("r1", "n1", 1, 10), ("r1", "n2", 1, 20), ("r2", "", 1, 30), ("r3", "n1", 1, 40)]
        assert told("node") == nodes
        assert told("model", agent="a") == [("", "x/one", 2, 40), ("", "x/two", 1, 20)]
        assert told("day", run="r1") == [("", "1970-01-01", 1, 10), ("", "1970-01-02", 1, 20)]
        assert ledger.rows("day")[0].seconds == 0.5
        assert told("day", run="r9") == []


class FullUntil(_Connection):
    """A database that has no room for a while: its commits roll everything back."""

    full_for = 0

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT" and self.full_for:
            self.full_for -= 1
            super().execute("ROLLBACK")
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return super().execute(sql, *values)


async def test_usage_waits_for_room_on_a_full_disk_and_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agiraph.storage.database._Connection", FullUntil)
    monkeypatch.setattr("agiraph.spending.ledger.LONGEST_PAUSE_SECONDS", 0.001)
    told: list[bool] = []

    with UsageLedger(tmp_path / "usage.db") as ledger, waiting(told.append):
        assert isinstance(ledger._db, FullUntil)
        ledger._db.full_for = 3
        ledger.note(spent("a/ada"))
        ledger.note(spent("a/bob"))
        await ledger.flushed()
        assert ledger.spent_usd("r1") == pytest.approx(0.5)
    with UsageLedger(tmp_path / "usage.db") as again:
        assert sorted(again.by_entity()) == ["a/ada", "a/bob"]
        assert [row.calls for row in again.rows("entity")] == [1, 1]
    assert told == [True, False]


async def test_usage_is_synced_in_the_background_once_for_several_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: asyncio.Queue[int] = asyncio.Queue()
    monkeypatch.setattr("agiraph.spending.ledger.sync_data", synced.put_nowait)
    monkeypatch.setattr("agiraph.spending.ledger.SYNC_SECONDS", 0.1)
    with UsageLedger(tmp_path / "usage.db") as ledger:
        for entity in ("a/ada", "a/bob"):
            ledger.note(spent(entity))
            await ledger.written()
        with sqlite3.connect(tmp_path / "usage.db") as reader:
            assert reader.execute("SELECT COUNT(*) FROM calls").fetchone() == (2,)
        assert synced.empty(), "an answer does not wait for the disk"
        async with asyncio.timeout(10):
            wal = await synced.get()
        assert os.path.samestat(os.fstat(wal), (tmp_path / "usage.db-wal").stat())
        await ledger.flushed()
        assert synced.empty()
        ledger.note(spent("a/eve"))
        await ledger.flushed()
        assert synced.get_nowait() == wal


def test_calls_of_a_grant_are_summed_by_themselves(tmp_path: Path) -> None:
    with UsageLedger(tmp_path / "usage.db") as ledger:
        for entity, door in (("a/ada", "d1"), ("a/ada", "d1"), ("a/ada", "d2"), ("a/bob", "d1")):
            ledger.write(spent(entity, door=door))
        ledger.write(spent("a/ada"))
        usage, calls = ledger.usage_of_grant("a/ada", "d1")
        assert (usage.input_tokens, usage.cost_usd, calls) == (200, 0.5, 2)
        assert ledger.usage_of_grant("a/ada", "d9") == (Usage(), 0)
