"""The rows of `agiraph top`, and how they are sorted. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.http.api import EntityView
from cli.sanitize import one_line, short_name

SORTS: Final = ("entity", "state", "cpu", "memory", "mail", "age", "tokens", "cost")
"""What the rows may be sorted by, in the order of the columns."""

RISING: Final = frozenset({"entity", "state"})
"""Sorted from small to large; all else from large to small."""

STATE_LABELS: Final = {
    "waiting_for_human": "asks you",
    "waiting_for_nodes": "waits",
    "backing_off": "backing off",
}


@dataclass(frozen=True, slots=True)
class TopRow:
    """One entity. `label` is `agent` for a coordinator, `agent/worker`, or a service's address."""

    label: str
    address: str
    kind: str
    state: str
    cpu: float
    memory: int
    mail: int
    age: float | None
    tokens: int
    cost: float | None
    doing: str

    @property
    def is_of_agent(self) -> bool:
        """Whether it can be paused, interrupted and talked with."""
        return self.kind in ("coordinator", "worker")

    @property
    def state_label(self) -> str:
        """Return its state in one or two short words."""
        return STATE_LABELS.get(self.state, self.state)


def top_rows(rows: Iterable[EntityView], now: float, agent: str | None = None) -> list[TopRow]:
    """Return the rows of all entities, or of one agent's (by its id)."""
    listed = list(rows)
    names = {row.address.partition("/")[0]: row.name for row in listed if row.kind == "coordinator"}
    wanted = [row for row in listed if agent is None or row.address.startswith(f"{agent}/")]
    return [_top_row(row, names, now) for row in wanted]


def ordered(rows: Iterable[TopRow], by: str, *, is_reversed: bool = False) -> list[TopRow]:
    """Return rows sorted by one of SORTS; equals by their labels."""
    named = sorted(rows, key=lambda row: (not row.is_of_agent, row.label, row.address))
    if by == "entity":
        return named[::-1] if is_reversed else named
    falls = (by not in RISING) != is_reversed
    return sorted(named, key=lambda row: _key(row, by), reverse=falls)


def next_sort(by: str, step: int) -> str:
    """Return the column to the right (1) or to the left (-1)."""
    return SORTS[(SORTS.index(by) + step) % len(SORTS)]


def totals(rows: Sequence[TopRow]) -> tuple[int, float, int, int, float | None]:
    """Return how many there are, and their cpu, memory, tokens and money together."""
    costs = [row.cost for row in rows if row.cost is not None]
    memory, tokens = sum(row.memory for row in rows), sum(row.tokens for row in rows)
    return len(rows), sum(row.cpu for row in rows), memory, tokens, sum(costs) if costs else None


def _top_row(row: EntityView, names: dict[str, str], now: float) -> TopRow:
    return TopRow(
        label=_label(row, names),
        address=row.address,
        kind=row.kind,
        state=row.state,
        cpu=row.cpu,
        memory=row.memory_bytes,
        mail=row.mailbox,
        age=max(0.0, now - row.doing_since) if row.doing_since else None,
        tokens=row.tokens,
        cost=row.cost_usd,
        doing=one_line(row.doing or row.step or _why_down(row), 200),
    )


def _why_down(row: EntityView) -> str:
    return row.cause or "" if row.state in ("failed", "stopped", "backing_off") else ""


def _label(row: EntityView, names: dict[str, str]) -> str:
    agent, slash, inner = row.address.partition("/")
    if agent not in names or not slash:
        return one_line(row.address, 60)
    name = one_line(names[agent], 40)
    if inner == COORDINATOR_NAME:
        return name
    own = short_name(inner) if row.name == row.address else row.name
    return f"{name}/{one_line(own, 40)}"


def _key(row: TopRow, by: str) -> float | str:
    match by:
        case "state":
            return row.state_label
        case "cpu":
            return row.cpu
        case "memory":
            return row.memory
        case "mail":
            return row.mail
        case "age":
            return -1.0 if row.age is None else row.age
        case "tokens":
            return row.tokens
        case _:
            return -1.0 if row.cost is None else row.cost
