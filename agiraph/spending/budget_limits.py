"""BudgetLimits: the existing budgets and their raises, in `system/usage.db`.

A budget that a person sets counts how often it was set, so that a later shortage is a new question
and does not get the answer to an old one. Earlier raises are void then; their rows stay, because a
repeated request for a raise must be recognized.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from agiraph.core.clock import Clock
from agiraph.core.ids import agent_of, new_epoch
from agiraph.core.money import ALL_UNITS, Budget, BudgetScope, BudgetState, Period, Unit
from agiraph.core.turns import ModelRequest
from agiraph.settings.config import BudgetsConfig
from agiraph.spending.spending_totals import SpendingKey, SpendingTotals, day_of
from agiraph.storage.disk_space import patiently

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS budgets (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    usd REAL,
    tokens INTEGER,
    sets INTEGER NOT NULL DEFAULT 0,
    is_own INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (scope, key, period)
);
CREATE TABLE IF NOT EXISTS raises (
    cause TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    day TEXT NOT NULL,
    usd REAL NOT NULL,
    tokens INTEGER NOT NULL,
    ts REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS raises_of_budget ON raises (scope, key, period, day);
CREATE TABLE IF NOT EXISTS epochs (epoch TEXT NOT NULL);
"""
PERIODS: Final[tuple[Period, ...]] = ("total", "day")
Key = tuple[BudgetScope, str, Period]
Put = Callable[[str, Sequence[object]], None]


class BudgetLimits:
    """The budgets that apply to model calls, stored in the ledger's database `db`.

    `put` executes a statement that writes. `config` has the default budgets.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        put: Put,
        spending: SpendingTotals,
        config: BudgetsConfig,
        clock: Clock,
    ) -> None:
        self._db = db
        self._put = put
        self._spending = spending
        self._config = config
        self._clock = clock
        db.executescript(SCHEMA)
        self._epoch = _epoch_of(db)
        self._set: dict[Key, Budget] = {}
        self._sets: dict[Key, int] = {}
        rows = db.execute("SELECT scope, key, period, usd, tokens, sets, is_own FROM budgets")
        for scope, key, period, usd, tokens, sets, is_own in rows:
            budget = Budget(scope=scope, key=key, usd=usd, tokens=tokens, period=period)
            self._hold(_place(budget), budget if is_own else None, sets)

    # --- setting ---------------------------------------------------------------------------------

    def set(self, budget: Budget, keep: Iterable[Unit] = ()) -> BudgetState:
        """Set a budget as requested by a person; return its state.

        The units in `keep` stay unchanged, with their raises; in the others raises are void. A
        budget without any limit permits everything, also if the settings have one. A repeated call
        changes nothing.
        """
        place, kept = _place(budget), set(keep)
        before = self._held(*place)
        if before is not None and kept:
            same: dict[str, float | None] = {unit: getattr(before, unit) for unit in kept}
            budget = budget.model_copy(update=same)
        named = [unit for unit in ALL_UNITS if unit not in kept]
        if self._set.get(place) != budget or self._is_raised(place, named):
            self._change(place, budget, named)
        return self.state(budget)

    def unset(self, scope: BudgetScope, key: str, period: Period) -> BudgetState:
        """Remove the budget that a person set, so that the settings apply; return its state."""
        place = (scope, key, period)
        if place in self._set or self._is_raised(place, ALL_UNITS):
            self._change(place, None, ALL_UNITS)
        nothing = Budget(scope=scope, key=key, period=period)
        return self.state(self._default(*place) or nothing)

    def _store(self, budget: Budget) -> None:
        """Store a budget that a call's request contains, if it is new or changed."""
        place = _place(budget)
        if self._set.get(place) != budget:
            sets = self._sets.get(place, 0)
            patiently(lambda: self._write_row(place, budget, sets))
            self._hold(place, budget, sets)

    def _change(self, place: Key, budget: Budget | None, units: Iterable[Unit]) -> None:
        """Store the new budget and void its raises, in one transaction."""
        sets = self._sets.get(place, 0) + 1
        patiently(lambda: self._change_rows(place, budget, units, sets))
        self._hold(place, budget, sets)

    def _change_rows(
        self, place: Key, budget: Budget | None, units: Iterable[Unit], sets: int
    ) -> None:
        is_alone = not self._db.in_transaction
        self._db.execute("BEGIN" if is_alone else "SAVEPOINT changed")
        try:
            self._void_raises(place, units)
            self._write_row(place, budget, sets)
            self._db.execute("COMMIT" if is_alone else "RELEASE changed")
        except sqlite3.Error:
            if is_alone and self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _write_row(self, place: Key, budget: Budget | None, sets: int) -> None:
        """Write a row: a budget, or (None) that the settings apply again."""
        limits = (None, None) if budget is None else (budget.usd, budget.tokens)
        self._put(
            "INSERT OR REPLACE INTO budgets (scope, key, period, usd, tokens, sets, is_own)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, *limits, sets, budget is not None),
        )

    def _hold(self, place: Key, budget: Budget | None, sets: int) -> None:
        self._sets[place] = sets
        if budget is None:
            self._set.pop(place, None)
        else:
            self._set[place] = budget

    def _is_raised(self, place: Key, units: Iterable[Unit]) -> bool:
        usd, tokens, _ = self._raises(place, self._day(place[2]))
        return any(usd if unit == "usd" else tokens for unit in units)

    def _void_raises(self, place: Key, units: Iterable[Unit]) -> None:
        void = ", ".join(f"{unit} = 0" for unit in sorted(units))
        if void:
            self._put(f"UPDATE raises SET {void} WHERE scope = ? AND key = ? AND period = ?", place)

    def raise_by(self, state: BudgetState, usd: float, tokens: int, cause: str) -> None:
        """Raise a budget; a repeated request with the same cause is the same raise."""
        row = (cause, state.scope, state.key, state.period, state.day, usd, tokens)
        patiently(
            lambda: self._put(
                "INSERT OR IGNORE INTO raises (cause, scope, key, period, day, usd, tokens, ts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, self._clock.now()),
            )
        )

    # --- reading ---------------------------------------------------------------------------------

    def for_request(self, request: ModelRequest) -> list[BudgetState]:
        """Return the budgets that apply to a call, with the spent amounts."""
        agent = agent_of(request.entity) or ""
        wanted: dict[Key, Budget] = {}
        for budget in given(request):
            key = _place(budget)
            wanted[key] = _filled(budget, wanted.get(key) or self._held(*key))
            if budget.scope == "run":
                self._store(wanted[key])
        keys: list[tuple[BudgetScope, str]] = [("run", request.run_id), ("agent", agent)]
        keys += [("trigger", f"{agent}/{request.trigger}")] if request.trigger else []
        for scope, named in keys:
            for period in PERIODS:
                held = self._held(scope, named, period) if named.strip("/") else None
                if held is not None:
                    wanted.setdefault((scope, named, period), held)
        states = [self.state(budget) for budget in wanted.values()]
        return [state for state in states if state.is_bound]

    def about(self, agent: str, run: str = "") -> list[BudgetState]:
        """Return the budgets of an agent, its triggers, and a run ('' for both: all)."""
        keys = {
            key: budget
            for key, budget in self._set.items()
            if not (agent or run)
            or key[1] == agent
            or (run and key[1] == run)
            or (key[0] == "trigger" and key[1].startswith(f"{agent}/"))
        }
        for period in PERIODS if agent else ():
            held = self._held("agent", agent, period)
            if held is not None:
                keys.setdefault(("agent", agent, period), held)
        states = [self.state(keys[key]) for key in sorted(keys)]
        return [state for state in states if state.is_bound]

    def among(self, keys: Iterable[tuple[BudgetScope, str]]) -> list[BudgetState]:
        """Return the budgets with these scopes and keys.

        For an agent also its triggers' budgets.
        """
        wanted = {(scope, key, period): True for scope, key in keys for period in PERIODS}
        agents = {key for scope, key, _ in wanted if scope == "agent"}
        for place in self._set:
            if place[0] == "trigger" and place[1].partition("/")[0] in agents:
                wanted[place] = True
        held = {place: self._held(*place) for place in wanted}
        return [self.state(budget) for budget in held.values() if budget is not None]

    def _held(self, scope: BudgetScope, key: str, period: Period) -> Budget | None:
        """Return the budget that was set, else that of the settings, None if neither exists."""
        own = self._set.get((scope, key, period))
        return own if own is not None else self._default(scope, key, period)

    def _default(self, scope: BudgetScope, key: str, period: Period) -> Budget | None:
        config = self._config
        usd, tokens = {
            ("run", "total"): (config.run_usd, config.run_tokens),
            ("agent", "total"): (config.agent_usd, config.agent_tokens),
            ("agent", "day"): (config.agent_usd_per_day, config.agent_tokens_per_day),
            ("trigger", "total"): (config.trigger_usd, config.trigger_tokens),
            ("trigger", "day"): (config.trigger_usd_per_day, config.trigger_tokens_per_day),
        }.get((scope, period), (None, None))
        if usd is None and tokens is None:
            return None
        return Budget(scope=scope, key=key, usd=usd, tokens=tokens, period=period)

    def state(self, budget: Budget) -> BudgetState:
        """Return a budget with its raises and the spent amounts."""
        place, day = _place(budget), self._day(budget.period)
        spent = self._spending.total(SpendingKey(budget.scope, budget.key, day))
        usd, tokens, raises = self._raises(place, day)
        return BudgetState(
            **budget.model_dump(exclude={"usd", "tokens"}),
            day=day,
            usd=None if budget.usd is None else budget.usd + usd,
            tokens=None if budget.tokens is None else budget.tokens + tokens,
            spent_usd=spent.usd,
            spent_tokens=spent.tokens,
            spent_calls=spent.calls,
            is_estimate=spent.is_estimate,
            raises=raises,
            sets=self._sets.get(place, 0),
            is_own=place in self._set,
            epoch=self._epoch,
        )

    def _day(self, period: Period) -> str:
        return day_of(self._clock.now()) if period == "day" else ""

    def _raises(self, place: Key, day: str) -> tuple[float, int, int]:
        """Return the sum of a budget's raises, in dollars and tokens, and their number."""
        row = self._db.execute(
            "SELECT TOTAL(usd), COALESCE(SUM(tokens), 0), COUNT(*) FROM raises"
            " WHERE scope = ? AND key = ? AND period = ? AND day = ? AND (usd > 0 OR tokens > 0)",
            (*place, day),
        ).fetchone()
        return float(row[0]), int(row[1]), int(row[2])


def _epoch_of(db: sqlite3.Connection) -> str:
    """Return the epoch of a ledger, '' for a ledger with rows from before there were epochs.

    Raises are counted from 0 in a new ledger: answers about an older ledger do not apply to it.
    """
    known = db.execute("SELECT epoch FROM epochs").fetchone()
    if known is None:
        tables = ("calls", "raises", "budgets")
        is_old = any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)
        known = ("" if is_old else new_epoch(),)
        db.execute("INSERT INTO epochs (epoch) VALUES (?)", known)
    return str(known[0])


def _place(budget: Budget) -> Key:
    return budget.scope, budget.key, budget.period


def _filled(budget: Budget, held: Budget | None) -> Budget:
    """Return `budget` with missing limits taken from `held`."""
    if held is None:
        return budget
    usd = held.usd if budget.usd is None else budget.usd
    tokens = held.tokens if budget.tokens is None else budget.tokens
    return budget.model_copy(update={"usd": usd, "tokens": tokens})


def given(request: ModelRequest) -> list[Budget]:
    """Return the budgets in a model request: of its run, and further ones."""
    run = (
        [Budget(scope="run", key=request.run_id, usd=request.budget_usd)]
        if request.budget_usd is not None
        else []
    )
    return [*run, *request.budgets]
