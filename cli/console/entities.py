"""Entities as people see them: names, signs and tones of states; a team; `agiraph top`. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from agiraph.core.event_types import Tone
from agiraph.core.hosts import is_other_machine
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.naming import short_name
from agiraph.core.turns import JsonObject, Usage
from agiraph.http.api import BoardView, EntityView, WorkerView
from cli.sanitize import one_line

FINISHED: Final = "finished"
"""The state of a worker whose work is over, and which has no process any more."""

# A sign for each state of an entity, agent or node, so that it is visible without colours.
LOOKS: Final[dict[str, tuple[str, Tone]]] = {
    **dict.fromkeys(("busy", "ready", "working", "running"), ("●", "good")),
    **dict.fromkeys(("idle", "parked", "pending"), ("○", "quiet")),
    **dict.fromkeys(("starting", "assigned"), ("◌", "quiet")),
    **dict.fromkeys(("waiting_for_nodes", "waiting_for_message", "blocked"), ("…", "quiet")),
    "standing_still": ("!", "bad"),
    **dict.fromkeys(("waiting_for_service", "waiting_for_room"), ("…", "bad")),
    **dict.fromkeys(("stopped", "cancelled"), ("■", "bad")),
    "backing_off": ("◌", "bad"),
    "stopping": ("■", "quiet"),
    "paused": ("‖", "ask"),
    "waiting_for_human": ("?", "ask"),
    **dict.fromkeys((FINISHED, "skipped"), ("■", "quiet")),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
}
STATE_LABELS: Final = {
    "waiting_for_human": "asks you",
    "waiting_for_nodes": "waits",
    **dict.fromkeys(("waiting_for_message", "waiting_for_service", "waiting_for_room"), "waits"),
    "standing_still": "stands still",
    "backing_off": "backing off",
}


def look_of(state: str) -> tuple[str, Tone]:
    """Return the sign and the tone of a state."""
    return LOOKS.get(state, ("·", "quiet"))


def signed_label(state: str) -> str:
    """Return a state in one or two short words, with its sign."""
    return f"{look_of(state)[0]} {STATE_LABELS.get(state, state)}"


def entity_name(row: EntityView) -> str:
    """Return the name of an entity, without control characters."""
    key = row.address.partition("/")[2] or row.address
    if key == COORDINATOR_NAME:
        return key
    return one_line(short_name(key) if row.name == row.address else row.name, 40)


# --- a team --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One entity of the team; `key` is its address without the agent, `node` its current node."""

    row: EntityView
    key: str
    name: str
    node: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Return the member's names and key, in lower case."""
        return frozenset({self.key.casefold(), self.name.casefold()})

    @property
    def is_finished(self) -> bool:
        """Whether the member's work is over and its process gone."""
        return self.row.state == FINISHED

    @property
    def activity(self) -> str:
        """Return the member's activity, else its node, else its state."""
        doing = one_line(self.row.doing or self.row.step, 120)
        return doing or self.node or self.row.state.replace("_", " ")


def members_of(
    agent: str, rows: Iterable[EntityView], board: BoardView | None
) -> tuple[MemberRow, ...]:
    """Return the members of one agent's team, the coordinator first, then workers by name.

    Finished members are last.
    """
    nodes = {
        node.assigned_worker: one_line(node.name, 40)
        for node in (board.nodes if board else ())
        if node.assigned_worker and node.status in ("assigned", "running", "blocked")
    }
    found = [
        MemberRow(row, row.address.partition("/")[2], entity_name(row), nodes.get(row.name, ""))
        for row in rows
        if row.address.startswith(f"{agent}/")
    ]
    return tuple(sorted(found, key=_place_in_team))


def _place_in_team(one: MemberRow) -> tuple[bool, bool, str, str]:
    """The sort key of a member: the coordinator first, finished members last."""
    return one.key != COORDINATOR_NAME, one.is_finished, one.name, one.key


def rows_of_run(
    rows: Iterable[EntityView], workers: Iterable[WorkerView], spent: Mapping[str, Usage] | None
) -> list[EntityView]:
    """Return the rows of a run's team, including finished workers, with the spending of each.

    `spent` has the usage of each address; None if unknown.
    """
    listed = list(rows)
    known = {row.address for row in listed}
    listed += [
        EntityView(address=worker.address, kind="worker", name=worker.name, state=FINISHED)
        for worker in workers
        if worker.address not in known and worker.status == "stopped"
    ]
    if spent is None:
        return listed
    return [_with_spent(row, spent.get(row.address, Usage())) for row in listed]


def _with_spent(row: EntityView, spent: Usage) -> EntityView:
    return row.model_copy(update=spent.sums())


def spent_by(members: Iterable[MemberRow]) -> JsonObject:
    """Return the sums of all members, as `Usage.sums`; no money if no price is known."""
    rows = [one.row for one in members]
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    return {
        "tokens": sum(row.tokens for row in rows),
        "cost_usd": sum(costs) if costs else None,
        "is_estimate": any(row.is_estimate for row in rows),
    }


# --- `agiraph top` -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopRow:
    """One entity. `label` is `agent` for a coordinator, `agent/worker`, or a service's address.

    The label of a process on another machine ends in `@HOST`.
    """

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
    is_estimate: bool
    doing: str

    @property
    def is_of_agent(self) -> bool:
        """Whether the row's entity can be paused, interrupted and messaged."""
        return self.kind in ("coordinator", "worker")

    @property
    def state_label(self) -> str:
        """Return the state of the row's entity in one or two short words."""
        return STATE_LABELS.get(self.state, self.state)


def _or_less(field: str) -> Callable[[TopRow], Any]:
    """Return a sort key by `field` that puts rows without a value below all others."""
    return lambda row: -1.0 if (value := getattr(row, field)) is None else value


# The sort keys of the rows, in the order of the columns.
_SORT_KEYS: Final[dict[str, Callable[[TopRow], Any]]] = {
    "entity": lambda row: (not row.is_of_agent, row.label, row.address),
    "state": attrgetter("state_label"),
    **{name: attrgetter(name) for name in ("cpu", "memory", "mail")},
    "age": _or_less("age"),
    "tokens": attrgetter("tokens"),
    "cost": _or_less("cost"),
}
SORTS: Final = tuple(_SORT_KEYS)
RISING: Final = frozenset({"entity", "state"})
"""Columns sorted in ascending order; all others are descending."""


def top_rows(rows: Iterable[EntityView], now: float, agent: str | None = None) -> list[TopRow]:
    """Return the rows of `agiraph top`: all entities, or those of one agent (its id)."""
    listed = list(rows)
    names = {row.address.partition("/")[0]: row.name for row in listed if row.kind == "coordinator"}
    wanted = [row for row in listed if agent is None or row.address.startswith(f"{agent}/")]
    return [_top_row(row, names, now) for row in wanted]


def ordered(rows: Iterable[TopRow], by: str, *, is_reversed: bool = False) -> list[TopRow]:
    """Return rows sorted by a column of SORTS; equal rows are sorted by their labels."""
    named = sorted(rows, key=_SORT_KEYS["entity"])
    falls = (by not in RISING) != is_reversed
    return sorted(named, key=_SORT_KEYS[by], reverse=falls)


def next_sort(by: str, step: int) -> str:
    """Return the sorting column to the right (`step` 1) or to the left (-1) of `by`."""
    return SORTS[(SORTS.index(by) + step) % len(SORTS)]


def totals(rows: Sequence[TopRow]) -> tuple[int, float, int]:
    """Return the number of rows, the sum of their CPU shares, and of their memory in bytes."""
    return len(rows), sum(row.cpu for row in rows), sum(row.memory for row in rows)


def _top_row(row: EntityView, names: dict[str, str], now: float) -> TopRow:
    why_down = row.cause or "" if row.state in ("failed", "stopped", "backing_off") else ""
    return TopRow(
        label=_label(row, names)
        + (f" @{one_line(row.host, 40)}" if is_other_machine(row.host) else ""),
        address=row.address,
        kind=row.kind,
        state=row.state,
        cpu=row.cpu,
        memory=row.memory_bytes,
        mail=row.mailbox,
        age=max(0.0, now - row.doing_since) if row.doing_since else None,
        tokens=row.tokens,
        cost=row.cost_usd,
        is_estimate=row.is_estimate,
        doing=one_line(row.doing or row.step or why_down, 200),
    )


def _label(row: EntityView, names: dict[str, str]) -> str:
    agent, slash, inner = row.address.partition("/")
    if agent not in names or not slash:
        return one_line(row.address, 60)
    name = one_line(names[agent], 40)
    return name if inner == COORDINATOR_NAME else f"{name}/{entity_name(row)}"
