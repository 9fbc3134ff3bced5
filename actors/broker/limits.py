"""Limits: which budgets there are, and by how much they were raised, in `system/usage.db`."""

import sqlite3
from typing import Final

from actors.broker.spending import Line, Spending, day_of
from agiraph.clock import Clock
from agiraph.config import BudgetsConfig
from agiraph.ids import agent_of
from agiraph.money import Budget, BudgetScope, BudgetState, Period
from agiraph.turns import ModelRequest

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS budgets (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    usd REAL,
    tokens INTEGER,
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
"""
PERIODS: Final[tuple[Period, ...]] = ("total", "day")
Key = tuple[BudgetScope, str, Period]


class Limits:
    """The budgets that hold for calls."""

    def __init__(
        self, db: sqlite3.Connection, spending: Spending, config: BudgetsConfig, clock: Clock
    ) -> None:
        """Keep them in `db`; `config` has those of everybody of whom nothing else is said."""
        self._db = db
        self._spending = spending
        self._config = config
        self._clock = clock
        db.executescript(SCHEMA)
        rows = db.execute("SELECT scope, key, period, usd, tokens FROM budgets")
        self._set = {
            (scope, key, period): Budget(
                scope=scope, key=key, usd=usd, tokens=tokens, period=period
            )
            for scope, key, period, usd, tokens in rows
        }

    # --- setting ---------------------------------------------------------------------------------

    def set(self, budget: Budget) -> None:
        """Let this budget hold; one without any limit is one no more, also if settings have one."""
        key = (budget.scope, budget.key, budget.period)
        if self._set.get(key) == budget:
            return
        self._db.execute(
            "INSERT OR REPLACE INTO budgets (scope, key, period, usd, tokens)"
            " VALUES (?, ?, ?, ?, ?)",
            (*key, budget.usd, budget.tokens),
        )
        self._set[key] = budget

    def raise_by(self, state: BudgetState, usd: float, tokens: int, cause: str) -> None:
        """Raise a budget; asked for again under the same cause it is the same raise."""
        self._db.execute(
            "INSERT OR IGNORE INTO raises (cause, scope, key, period, day, usd, tokens, ts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (cause, state.scope, state.key, state.period, state.day, usd, tokens,
             self._clock.now()),
        )  # fmt: skip

    # --- asking ----------------------------------------------------------------------------------

    def of(self, request: ModelRequest) -> list[BudgetState]:
        """Return the budgets that a call has to keep to, as they stand now."""
        agent = agent_of(request.entity) or ""
        wanted: dict[Key, Budget] = {}
        for budget in given(request):
            key = (budget.scope, budget.key, budget.period)
            wanted[key] = _filled(budget, wanted.get(key) or self._held(*key))
            if budget.scope == "run":
                self.set(wanted[key])
        keys: list[tuple[BudgetScope, str]] = [("run", request.run_id), ("agent", agent)]
        keys += [("trigger", f"{agent}/{request.trigger}")] if request.trigger else []
        for scope, named in keys:
            for period in PERIODS:
                held = self._held(scope, named, period) if named.strip("/") else None
                if held is not None:
                    wanted.setdefault((scope, named, period), held)
        states = [self.state(budget) for budget in wanted.values()]
        return [state for state in states if state.usd is not None or state.tokens is not None]

    def about(self, agent: str, run: str = "") -> list[BudgetState]:
        """Return the budgets of an agent, of its triggers, and of a run (all: of everything)."""
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
        return [state for state in states if state.usd is not None or state.tokens is not None]

    def _held(self, scope: BudgetScope, key: str, period: Period) -> Budget | None:
        """Return the budget that was set, else that of the settings."""
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
        """Return a budget with its raises and with what is spent."""
        day = day_of(self._clock.now()) if budget.period == "day" else ""
        spent = self._spending.of(Line(budget.scope, budget.key, day))
        usd, tokens, raises = self._raises(budget, day)
        return BudgetState(
            scope=budget.scope,
            key=budget.key,
            period=budget.period,
            day=day,
            usd=None if budget.usd is None else budget.usd + usd,
            tokens=None if budget.tokens is None else budget.tokens + tokens,
            spent_usd=spent.usd,
            spent_tokens=spent.tokens,
            raises=raises,
        )

    def _raises(self, budget: Budget, day: str) -> tuple[float, int, int]:
        row = self._db.execute(
            "SELECT TOTAL(usd), COALESCE(SUM(tokens), 0), COUNT(*) FROM raises"
            " WHERE scope = ? AND key = ? AND period = ? AND day = ?",
            (budget.scope, budget.key, budget.period, day),
        ).fetchone()
        return float(row[0]), int(row[1]), int(row[2])


def _filled(budget: Budget, held: Budget | None) -> Budget:
    """Return a budget with the limits that it says nothing of."""
    if held is None:
        return budget
    usd = held.usd if budget.usd is None else budget.usd
    tokens = held.tokens if budget.tokens is None else budget.tokens
    return budget.model_copy(update={"usd": usd, "tokens": tokens})


def given(request: ModelRequest) -> list[Budget]:
    """Return the budgets that a request brings itself."""
    run = (
        [Budget(scope="run", key=request.run_id, usd=request.budget_usd)]
        if request.budget_usd is not None
        else []
    )
    return [*run, *request.budgets]


def is_of(state: BudgetState, agent: str | None) -> bool:
    """Whether a budget is an agent's own: a run's or a node's key does not say whose it is."""
    if state.scope in ("run", "node"):
        return agent is not None
    return agent is not None and state.key.partition("/")[0] == agent
