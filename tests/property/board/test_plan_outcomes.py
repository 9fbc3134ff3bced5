"""Random plans with failures, retries, conditions, lists and crashes end like a simple model."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import fold
from agiraph.board.decide import decide
from agiraph.board.events import BOARD_EVENT, BoardEvent
from agiraph.board.plans.plan import Plan, parse_plan, plan_commands
from agiraph.board.scheduler import Schedule, SchedulingLimits, plan
from agiraph.core.models import HELD_NODE, NodeResult
from tests.unit.board.board_driver import BoardDriver

LIMITS = SchedulingLimits(3)


@dataclass
class PlannedNode:
    """A node of a random plan: its needs, the number of its failures, its result.

    `needs` maps a node to the least `n` of its result that counts: None, always; a text, a
    condition without an answer. `each` is the node whose list it is done for.
    """

    name: str
    needs: dict[str, int | str | None] = field(default_factory=dict)
    failures: int = 0
    retries: int = 0
    n: int = 0
    items: int = 0
    each: str | None = None

    @property
    def value(self) -> dict[str, Any]:
        return {"n": self.n, "items": ["x"] * self.items}


@st.composite
def rows(draw: st.DrawFn) -> list[PlannedNode]:
    made: list[PlannedNode] = []
    small = st.integers(0, 2)
    for number in range(draw(st.integers(1, 6))):
        before = st.sampled_from([row.name for row in made]) if made else st.nothing()
        edge = st.none() | st.integers(0, 3) | (st.just("odd") if draw(small) == 0 else st.none())
        needs = draw(st.dictionaries(before, edge, max_size=3)) if made else {}
        lists = [row.name for row in made if row.name in needs and row.each is None]
        each = draw(st.none() | st.sampled_from(lists)) if lists else None
        fails = draw(st.sampled_from([0, 0, 0, 1, 2]))
        counts = {"retries": draw(small), "n": draw(small), "items": draw(small)}
        made.append(PlannedNode(f"n{number}", needs, fails, each=each, **counts))
    return made


# --- the model -----------------------------------------------------------------------------------


def model(plan: list[PlannedNode]) -> dict[str, tuple[str, int]]:
    """Return the status and the number of attempts of each node at the end, with copies."""
    ends: dict[str, tuple[str, int]] = {}
    by_name = {row.name: row for row in plan}
    copies: dict[str, list[str]] = {}
    for row in plan:
        status = _decided(row, ends, copies, by_name)
        items = by_name[row.each].items if row.each else 0
        if status == "runs" and row.each:
            counts = _edge(row, row.each, ends, by_name) == "counts"
            status = "runs" if counts and items else "skipped"
        if status != "runs":
            ends[row.name] = (status, 0)
            continue
        names = [f"{row.name}-{number}" for number in range(1, items + 1)] if row.each else []
        if names:
            ends[row.name], copies[row.name] = ("completed", 0), names
        for name in names or [row.name]:
            done = row.failures <= row.retries
            ends[name] = ("completed" if done else "failed", min(row.failures, row.retries) + 1)
    return ends


def _decided(
    row: PlannedNode,
    ends: dict[str, tuple[str, int]],
    copies: dict[str, list[str]],
    by_name: dict[str, PlannedNode],
) -> str:
    needed = [one for name in row.needs for one in copies.get(name, [name])]
    if any(ends[one][0] == "failed" for one in needed):
        return "failed"
    edges = [_edge(row, name, ends, by_name) for name in row.needs]
    if "odd" in edges:
        return "failed"
    return "runs" if not edges or "counts" in edges else "skipped"


def _edge(
    row: PlannedNode, name: str, ends: dict[str, tuple[str, int]], by_name: dict[str, PlannedNode]
) -> str:
    least = row.needs[name]
    if ends[name][0] == "skipped":
        return "does not"
    if isinstance(least, str):
        return "odd"
    return "counts" if least is None or by_name[name].n >= least else "does not"


# --- the board -----------------------------------------------------------------------------------


def as_plan(made: list[PlannedNode]) -> Plan:
    nodes = []
    for row in made:
        conditions = {int: "result.n >= {}", str: "result.{} > 0"}
        deps = [
            {"node": name}
            if least is None
            else {"node": name, "when": conditions[type(least)].format(least)}
            for name, least in row.needs.items()
        ]
        node = {"id": row.name, "task": "t", "deps": deps, "retries": row.retries}
        nodes.append(
            node | ({"for_each": {"node": row.each, "in": "result.items"}} if row.each else {})
        )
    return parse_plan(str({"nodes": nodes}).replace("None", "null"))


class ExecutedPlan:
    """A board that is executed: each attempt fails or is completed as its row defines."""

    def __init__(self, made: list[PlannedNode], journal: list[BoardEvent]) -> None:
        self.rows = {row.name: row for row in made}
        self.journal = journal
        self.board = fold(journal)
        self.schedule = Schedule()

    def do(self, command: c.Command) -> None:
        happened = decide(self.board, command, 1.0)
        for event in happened:
            if isinstance(event, e.NodeAssigned):
                needed = self.board.nodes[event.node_id].dependencies
                how = {self.board.nodes[one].status for one in needed}
                assert how <= {"completed", "skipped"}
                assert not needed or "completed" in how
        for event in happened:
            self.schedule.follow(event)
        self.journal += [BOARD_EVENT.validate_json(BOARD_EVENT.dump_json(one)) for one in happened]
        self.board = fold(happened, self.board)

    def carry_out(self, pick: st.DataObject) -> None:
        while True:
            while actions := self.schedule.plan(self.board, LIMITS, 1.0):
                assert actions == plan(self.board, LIMITS), "what it keeps is what there is"
                for action in actions:
                    self.do(action)
            held = [node for node in self.board.nodes.values() if node.status in HELD_NODE]
            if not held:
                return
            node = held[pick.draw(st.integers(0, len(held) - 1))]
            row = self.rows[node.name.partition("-")[0]]
            if node.attempt <= row.failures:
                self.do(c.FailNode(node.id, node.attempt, "it went wrong"))
            else:
                result = NodeResult(summary="s", value=row.value)
                self.do(c.CompleteNode(node.id, node.attempt, result))

    def ends(self) -> dict[str, tuple[str, int]]:
        return {one.name: (one.status, one.attempt) for one in self.board.nodes.values()}


def begun(made: list[PlannedNode]) -> list[BoardEvent]:
    driver = BoardDriver()
    journal = list(fold_of(driver))
    board = driver.board
    for command in plan_commands(as_plan(made)):
        happened = decide(board, command, 1.0)
        journal += happened
        board = fold(happened, board)
    return journal


def fold_of(driver: BoardDriver) -> tuple[BoardEvent, ...]:
    """Return the events with which a new board begins."""
    assert driver.board.run is not None
    return (e.RunStarted(ts=1.0, **driver.board.run.shared_with(e.RunSetup)),)


@settings(max_examples=60, deadline=None)
@given(rows(), st.data())
def test_plan_outcome_matches_the_model_from_any_part_of_the_journal(
    made: list[PlannedNode], data: st.DataObject
) -> None:
    journal = begun(made)
    start = len(journal)
    run = ExecutedPlan(made, journal)
    run.carry_out(data)
    expected = model(made)
    assert run.ends() == expected
    given_out = Counter(
        (one.node_id, one.attempt) for one in journal if isinstance(one, e.NodeAssigned)
    )
    assert set(given_out.values()) <= {1}, "an attempt begins once"
    assert fold(journal).nodes == run.board.nodes
    cut = data.draw(st.integers(start, len(journal)))
    again = ExecutedPlan(made, journal[:cut])
    again.carry_out(data)
    assert again.ends() == expected
