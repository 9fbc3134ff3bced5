"""The table of children that outlives the supervisor: specs, desired states, incarnations. Pure.

It is the fold of `system/children.journal`. An incarnation's number is written before its process
exists and is never given out again, not even after its address was forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, TypeAdapter

from agiraph.core.record import Record
from agiraph.messages import ChildSpec

JsonObject = dict[str, Any]
Desired = Literal["running", "stopped", "exited", "failed", "parked"]


class ChildDeclared(Record):
    """A child was asked for."""

    type: Literal["declared"] = "declared"
    spec: ChildSpec


class DesiredStateSet(Record):
    """What is wanted of a child from now on, or what became of it."""

    type: Literal["desired"] = "desired"
    address: str
    desired: Desired
    cause: str | None = None


class ChildForgotten(Record):
    """A child's address is free again."""

    type: Literal["forgotten"] = "forgotten"
    address: str


class IncarnationAssigned(Record):
    """This number belongs to a process that is about to begin."""

    type: Literal["incarnation"] = "incarnation"
    address: str
    incarnation: int


class ProcessStarted(Record):
    """The process of an incarnation; (boot, pid, started_at) names it beyond a reuse of its pid."""

    type: Literal["process"] = "process"
    address: str
    pid: int
    started_at: float
    boot: str


TableEvent = ChildDeclared | DesiredStateSet | ChildForgotten | IncarnationAssigned | ProcessStarted
_EVENT: TypeAdapter[TableEvent] = TypeAdapter(Annotated[TableEvent, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class RegisteredChild:
    """One child."""

    spec: ChildSpec
    desired: Desired = "running"
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredChildren:
    """All children, in the order in which they were asked for."""

    rows: Mapping[str, RegisteredChild] = field(default_factory=dict)
    incarnations: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[str, ProcessStarted] = field(default_factory=dict)

    def next_incarnation(self, address: str) -> int:
        """Return the number that the next process of an address will carry."""
        return self.incarnations.get(address, 0) + 1

    def to_resume(self) -> list[ChildSpec]:
        """Return the specs of the children that should run."""
        return [row.spec for row in self.rows.values() if row.desired == "running"]


def apply(table: RegisteredChildren, event: TableEvent) -> RegisteredChildren:
    """Return the table after one event; an event about an unknown child changes nothing."""
    match event:
        case ChildDeclared(spec=spec):
            return replace(table, rows={**table.rows, spec.address: RegisteredChild(spec)})
        case DesiredStateSet():
            row = table.rows.get(event.address)
            if row is None:
                return table
            changed = replace(row, desired=event.desired, cause=event.cause)
            return replace(table, rows={**table.rows, event.address: changed})
        case ChildForgotten():
            rows = {key: row for key, row in table.rows.items() if key != event.address}
            return replace(table, rows=rows)
        case IncarnationAssigned():
            highest = max(event.incarnation, table.incarnations.get(event.address, 0))
            return replace(table, incarnations={**table.incarnations, event.address: highest})
        case ProcessStarted():
            return replace(table, processes={**table.processes, event.address: event})
        case _:
            assert_never(event)


def fold(records: Iterable[JsonObject]) -> RegisteredChildren:
    """Return the table that a journal's records make; raises ValueError for a record of no kind."""
    table = RegisteredChildren()
    for record in records:
        table = apply(table, _EVENT.validate_python(record))
    return table


def to_record(event: TableEvent) -> JsonObject:
    """Return an event as its journal record."""
    return event.model_dump(mode="json")


def compacted(table: RegisteredChildren) -> list[JsonObject]:
    """Return the fewest records that fold to the same table."""
    events: list[TableEvent] = [
        IncarnationAssigned(address=address, incarnation=number)
        for address, number in table.incarnations.items()
    ]
    for address, row in table.rows.items():
        events.append(ChildDeclared(spec=row.spec))
        if row.desired != "running":
            events.append(DesiredStateSet(address=address, desired=row.desired, cause=row.cause))
    events.extend(table.processes.values())
    return [to_record(event) for event in events]
