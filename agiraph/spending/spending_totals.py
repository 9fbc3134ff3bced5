"""SpendingTotals: the cost of each budget's calls so far, summed once and then updated."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from agiraph.core.clock import iso
from agiraph.core.ids import agent_of
from agiraph.core.money import BudgetScope
from agiraph.core.turns import ModelRequest, Usage

OF_AGENT: Final = "substr(entity, 1, length(?1) + 1) = ?1 || '/'"
CONDITIONS: Final[dict[BudgetScope, str]] = {
    "run": "run_id = ?1 AND ?2 = ''",
    "node": "run_id = ?1 AND ?2 IN (node_id, node_id || '/' || attempt)",
    "agent": f"{OF_AGENT} AND ?2 = ''",
    "trigger": f"{OF_AGENT} AND trigger_id = ?2",
}
"""The SQL condition of a budget's calls, with its key in two parts."""


@dataclass(frozen=True, slots=True)
class SpendingKey:
    """The key of a sum: a budget's scope and key, and the day in UTC if it is for one day."""

    scope: BudgetScope
    key: str
    day: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """The key in the two parts that the ledger's columns contain, split at its first slash."""
        first, _, second = self.key.partition("/")
        return first, second


@dataclass(slots=True)
class SpendingSum:
    """The sum of calls: US dollars, tokens, and their number."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    is_estimate: bool = False


def day_of(ts: float) -> str:
    """Return the day of a Unix time, in UTC: `2026-11-22`."""
    return iso(ts)[:10]


def keys_of(request: ModelRequest, day: str) -> list[SpendingKey]:
    """Return the keys of all sums to which a call is added."""
    agent, run, node = agent_of(request.entity) or "", request.run_id, request.node_id
    keys: list[tuple[BudgetScope, str]] = [("run", run), ("agent", agent)]
    if node:
        keys += [("node", f"{run}/{node}"), ("node", f"{run}/{node}/{request.attempt}")]
    if request.trigger:
        keys.append(("trigger", f"{agent}/{request.trigger}"))
    return [SpendingKey(scope, key, d) for scope, key in keys for d in ("", day)]


class SpendingTotals:
    """The sums over the ledger's rows by key, updated with each further row."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[SpendingKey, SpendingSum] = {}

    def total(self, key: SpendingKey) -> SpendingSum:
        """Return the spent amounts of a key, summed from the ledger at its first use."""
        if key not in self._known:
            row = self._db.execute(
                "SELECT TOTAL(cost_usd), COALESCE(SUM(input_tokens + output_tokens), 0), COUNT(*),"
                " COALESCE(MAX(is_estimate), 0)"
                f" FROM calls WHERE {CONDITIONS[key.scope]}"
                " AND (?3 = '' OR date(ts, 'unixepoch') = ?3)",
                (*key.parts, key.day),
            ).fetchone()
            sums = SpendingSum(float(row[0]), int(row[1]), int(row[2]), bool(row[3]))
            self._known[key] = sums
        return self._known[key]

    def add(self, ts: float, request: ModelRequest, usage: Usage) -> None:
        """Add a call that was just recorded."""
        for key in keys_of(request, day_of(ts)):
            known = self._known.get(key)
            if known is not None:
                known.usd += usage.cost_usd or 0.0
                known.tokens += usage.tokens
                known.calls += 1
                known.is_estimate = known.is_estimate or usage.is_estimate
