"""The table of children that outlives the supervisor: specs, desired states, incarnations. Pure.

It is the fold of `system/children.journal`. An incarnation's number is written before its process
exists and is never given out again, not even after its address was forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, TypeAdapter

from agiraph.messages import ChildSpec
from agiraph.record import Record

JsonObject = dict[str, Any]
Desired = Literal["running", "stopped", "exited", "failed", "parked"]


class Declared(Record):
    """A child was asked for."""

    type: Literal["declared"] = "declared"
    spec: ChildSpec


class DesiredSet(Record):
    """What is wanted of a child from now on, or what became of it."""

    type: Literal["desired"] = "desired"
    address: str
    desired: Desired
    cause: str | None = None


class Forgotten(Record):
    """A child's address is free again."""

    type: Literal["forgotten"] = "forgotten"
    address: str


class IncarnationGiven(Record):
    """This number belongs to a process that is about to begin."""

    type: Literal["incarnation"] = "incarnation"
    address: str
    incarnation: int


class ProcessBegan(Record):
    """The process of an incarnation; (boot, pid, started_at) names it beyond a reuse of its pid."""

    type: Literal["process"] = "process"
    address: str
    pid: int
    started_at: float
    boot: str


TableEvent = Declared | DesiredSet | Forgotten | IncarnationGiven | ProcessBegan
_EVENT: TypeAdapter[TableEvent] = TypeAdapter(Annotated[TableEvent, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class Row:
    """One child."""

    spec: ChildSpec
    desired: Desired = "running"
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """All children, in the order in which they were asked for."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    incarnations: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[str, ProcessBegan] = field(default_factory=dict)

    def next_incarnation(self, address: str) -> int:
        """Return the number that the next process of an address will carry."""
        return self.incarnations.get(address, 0) + 1

    def to_resume(self) -> list[ChildSpec]:
        """Return the specs of the children that should run."""
        return [row.spec for row in self.rows.values() if row.desired == "running"]


def apply(table: Table, event: TableEvent) -> Table:
    """Return the table after one event; an event about an unknown child changes nothing."""
    match event:
        case Declared(spec=spec):
            return replace(table, rows={**table.rows, spec.address: Row(spec)})
        case DesiredSet():
            row = table.rows.get(event.address)
            if row is None:
                return table
            changed = replace(row, desired=event.desired, cause=event.cause)
            return replace(table, rows={**table.rows, event.address: changed})
        case Forgotten():
            rows = {key: row for key, row in table.rows.items() if key != event.address}
            return replace(table, rows=rows)
        case IncarnationGiven():
            highest = max(event.incarnation, table.incarnations.get(event.address, 0))
            return replace(table, incarnations={**table.incarnations, event.address: highest})
        case ProcessBegan():
            return replace(table, processes={**table.processes, event.address: event})
        case _:
            assert_never(event)


def fold(records: Iterable[JsonObject]) -> Table:
    """Return the table that a journal's records make; raises ValueError for a record of no kind."""
    table = Table()
    for record in records:
        table = apply(table, _EVENT.validate_python(record))
    return table


def to_record(event: TableEvent) -> JsonObject:
    """Return an event as its journal record."""
    return event.model_dump(mode="json")


def compacted(table: Table) -> list[JsonObject]:
    """Return the fewest records that fold to the same table."""
    events: list[TableEvent] = [
        IncarnationGiven(address=address, incarnation=number)
        for address, number in table.incarnations.items()
    ]
    for address, row in table.rows.items():
        events.append(Declared(spec=row.spec))
        if row.desired != "running":
            events.append(DesiredSet(address=address, desired=row.desired, cause=row.cause))
    events.extend(table.processes.values())
    return [to_record(event) for event in events]
