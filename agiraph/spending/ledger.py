"""UsageLedger: the tokens and cost of every model call, in `system/usage.db`."""

import asyncio
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import ValidationError

from agiraph.core.clock import Clock
from agiraph.core.errors import Corrupt
from agiraph.core.turns import ModelRequest, Usage, UsageBy, UsageRow
from agiraph.settings.config import BudgetsConfig
from agiraph.spending.budget_limits import BudgetLimits
from agiraph.spending.spending_totals import SpendingKey, SpendingTotals
from agiraph.storage.database import connect, damaged
from agiraph.storage.disk_space import LONGEST_PAUSE_SECONDS, is_full_disk, report_waiting
from agiraph.storage.files import open_file
from agiraph.storage.journal import sync_data

Statement = tuple[str, Sequence[object]]
Outcome = Literal["answered", "failed", "cancelled"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    ts REAL NOT NULL,
    run_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    entity TEXT NOT NULL,
    model TEXT NOT NULL,
    outcome TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_usd REAL,
    seconds REAL NOT NULL,
    trigger_id TEXT NOT NULL DEFAULT '',
    is_estimate INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    door TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS calls_of_run ON calls (run_id, entity);
CREATE INDEX IF NOT EXISTS calls_of_door ON calls (door, entity);
"""

GROUPS: Final[dict[UsageBy, tuple[str, str]]] = {
    "entity": ("entity", "''"),
    "agent": ("substr(entity, 1, instr(entity || '/', '/') - 1)", "''"),
    "node": ("node_id", "run_id"),
    "run": ("run_id", "''"),
    "model": ("model", "''"),
    "day": ("date(ts, 'unixepoch')", "''"),
    "trigger": ("trigger_id", "''"),
}
"""The groupings of usage: the SQL of a group's key, and of its run."""

ALL_RUNS: Final = ""

OF_REQUEST: Final = {"run_id", "node_id", "entity", "model", "attempt", "door"}
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
OF_USAGE: Final = (*TOKENS, "cost_usd", "is_estimate")
"""The fields that are columns of the same name."""

SUMS: Final = ", ".join(
    [
        "COUNT(*)",
        *(f"COALESCE(SUM({name}), 0)" for name in TOKENS),
        "SUM(cost_usd)",
        "COALESCE(MAX(is_estimate), 0)",
    ]
)
"""The SQL of the sums over rows: their count, then OF_USAGE."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row of the ledger: an attempt at a model request that was billed."""

    ts: float
    request: ModelRequest
    outcome: Outcome
    usage: Usage
    seconds: float


SYNC_SECONDS: Final = 0.001


class UsageLedger:
    """The database at `path`, created if it is missing.

    A committed row survives this process; it is on the disk SYNC_SECONDS later, so that no answer
    of a model waits for the disk. A power cut loses less in this interval than with the calls in
    flight. Raises OSError, and Corrupt at any time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = connect(path)
        try:
            self._open(path)
        except BaseException:
            self._db.close()
            raise
        self.spending = SpendingTotals(self._db)
        self._of_runs: dict[str, dict[str, Usage]] = {}
        self._batch: asyncio.Future[None] | None = None
        self._written: list[Statement] = []
        self._waits_for_room = False
        self._is_unsynced = False
        self._wal = open_file(path.with_name(f"{path.name}-wal"), os.O_RDWR | os.O_CREAT)

    def _open(self, path: Path) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")  # commits do not wait: `_sync` does
        self._db.executescript(SCHEMA)

    def note(self, spent: LedgerRow) -> None:
        """Write a row, in one transaction with all rows of this iteration of the event loop.

        The row counts at once; `written` returns when it survives this process.
        """
        if self._batch is None:
            loop = asyncio.get_running_loop()
            self._db.execute("BEGIN")
            self._batch = loop.create_future()
            loop.call_soon(self._commit)
        self.write(spent)

    async def written(self) -> None:
        """Wait until every noted row survives this process; on a full disk until there is space.

        Raises sqlite3.Error, Corrupt if that fails.
        """
        if self._batch is not None:
            await asyncio.shield(self._batch)

    async def flushed(self) -> None:
        """Wait until all written rows are on disk. Raises OSError, sqlite3.Error."""
        await self.written()
        self._sync()

    def _sync(self) -> None:
        """Sync the disk if rows were written since the last sync."""
        if self._is_unsynced:
            sync_data(self._wal)
            self._is_unsynced = False

    def _commit(self) -> None:
        batch = self._batch
        if batch is None:
            return
        try:
            self._db.execute("COMMIT")
        except (sqlite3.Error, Corrupt) as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if is_full_disk(error) and not batch.get_loop().is_closed():
                self._begin_again()
                if not self._waits_for_room:
                    self._waits_for_room = True
                    report_waiting(True)
                batch.get_loop().call_later(LONGEST_PAUSE_SECONDS, self._commit)
                return
            batch.set_exception(error)
            batch.exception()  # marked as retrieved: perhaps no task waits for it
        else:
            batch.set_result(None)
            if not batch.get_loop().is_closed():
                batch.get_loop().call_later(SYNC_SECONDS, self._sync)
        if self._waits_for_room:
            self._waits_for_room = False
            report_waiting(False)
        self._batch = None
        self._written.clear()

    def _begin_again(self) -> None:
        """Write the rows of the open batch again: SQLite has rolled its transaction back."""
        self._db.execute("BEGIN")
        for statement, values in self._written:
            self._db.execute(statement, values)

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Execute a writing statement in the open batch, else in a transaction of its own."""
        self._db.execute(statement, values)
        self._is_unsynced = True
        if self._batch is not None:
            self._written.append((statement, values))

    def write(self, spent: LedgerRow) -> None:
        """Write one row."""
        asked = spent.request
        row = asked.model_dump(include=OF_REQUEST) | spent.usage.model_dump(include=set(OF_USAGE))
        row |= {"ts": spent.ts, "outcome": spent.outcome, "seconds": spent.seconds}
        row["trigger_id"] = asked.trigger
        columns, places = ", ".join(row), ", ".join("?" * len(row))
        self.put(f"INSERT INTO calls ({columns}) VALUES ({places})", tuple(row.values()))
        self.spending.add(spent.ts, asked, spent.usage)
        for run in {asked.run_id, ALL_RUNS}:
            if (known := self._of_runs.get(run)) is not None:
                known[asked.entity] = known.get(asked.entity, Usage()) + spent.usage

    def limits(self, config: BudgetsConfig, clock: Clock) -> BudgetLimits:
        """Return the budgets, which are stored in this database too."""
        return BudgetLimits(self._db, self.put, self.spending, config, clock)

    def spent_usd(self, run_id: str) -> float:
        """Return the cost of a run's calls so far, for models with known prices."""
        return self.spending.total(SpendingKey("run", run_id)).usd

    def by_entity(self, run_id: str = "", agent: str = "") -> dict[str, Usage]:
        """Return usage by entity address, of one run, of one agent, or (both empty) of all.

        The total of all is summed once and then updated.
        """
        if run_id or agent:
            return {row.key: row.usage for row in self.rows("entity", run_id, agent)}
        return self.of_runs((ALL_RUNS,))

    def of_runs(self, runs: Iterable[str]) -> dict[str, Usage]:
        """Return usage by entity address in some runs, summed once and then updated.

        So it can be requested every second.
        """
        found: dict[str, Usage] = {}
        for run in dict.fromkeys(runs):
            if run not in self._of_runs:
                self._of_runs[run] = {row.key: row.usage for row in self.rows("entity", run)}
            for entity, usage in self._of_runs[run].items():
                found[entity] = found[entity] + usage if entity in found else usage
        return found

    def usage_of_grant(self, entity: str, digest: str) -> tuple[Usage, int]:
        """Return the usage and the number of an entity's calls with one grant."""
        sums = self._db.execute(
            f"SELECT {SUMS} FROM calls WHERE entity = ? AND door = ?", (entity, digest)
        ).fetchone()
        return self._usage(sums[1:]), int(sums[0])

    def rows(self, by: UsageBy, run_id: str = "", agent: str = "") -> tuple[UsageRow, ...]:
        """Return usage grouped by entity, agent, node, model, trigger or day (UTC), sorted by key.

        Nodes are grouped by run too; calls that belong to no node have an empty key.
        """
        key, run = GROUPS[by]
        rows = self._db.execute(
            f"SELECT {key} AS key, {run} AS run, SUM(seconds), {SUMS}"
            " FROM calls WHERE (?1 = '' OR run_id = ?1)"
            " AND (?2 = '' OR substr(entity, 1, length(?2) + 1) = ?2 || '/')"
            " GROUP BY key, run ORDER BY run, key",
            (run_id, agent),
        )
        try:
            return tuple(
                UsageRow(key=key, run=run, calls=calls, seconds=seconds, usage=self._usage(sums))
                for key, run, seconds, calls, *sums in rows
            )
        except ValidationError as error:
            raise damaged(self._path, f"a row of no call: {error.error_count()} faults") from error

    def _usage(self, sums: Sequence[float | None]) -> Usage:
        try:
            return Usage.model_validate(dict(zip(OF_USAGE, sums, strict=True)))
        except ValidationError as error:
            raise damaged(self._path, f"sums of no usage: {error.error_count()} faults") from error

    def close(self) -> None:
        """Close the database."""
        self._commit()
        self._sync()
        os.close(self._wal)
        self._db.close()

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()
