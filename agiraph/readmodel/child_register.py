"""The child register: children, desired states and incarnations, as events in a journal.

`system/children.journal` folds to `RegisteredChildren`; every change is written before it takes
effect. An incarnation's number is written before its process exists and is never reused, not even
after its address was forgotten. If the journal has lost its end, or was removed, the numbers that
the router has recorded are not reused either: it refuses all but the highest. Records of past
events take effect at once while the disk is full, and are written with the next change that
succeeds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, assert_never

from pydantic import Field, TypeAdapter

from agiraph.core.ids import HOST_PREFIX, INVITE_PREFIX, TOOLS_PREFIX, WEB
from agiraph.core.record import Record
from agiraph.messages.child import ChildSpec
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import replace_file
from agiraph.storage.journal import Journal, JsonObject, encode_record

Desired = Literal["running", "stopped", "exited", "failed", "parked"]


class ChildDeclared(Record):
    """A child was requested."""

    type: Literal["declared"] = "declared"
    spec: ChildSpec


class DesiredStateSet(Record):
    """A new desired state of a child, or its final state."""

    type: Literal["desired"] = "desired"
    address: str
    desired: Desired
    cause: str | None = None


class ChildForgotten(Record):
    """A child's address is free again."""

    type: Literal["forgotten"] = "forgotten"
    address: str


class IncarnationAssigned(Record):
    """The incarnation number belongs to a process that is about to start."""

    type: Literal["incarnation"] = "incarnation"
    address: str
    incarnation: int


class ProcessStarted(Record):
    """The process of an incarnation; (boot, pid, started_at) identify it if its pid is reused.

    For a process on another machine, `host`, this record is written without those three before the
    process is requested, and again when the process has ended.
    """

    type: Literal["process"] = "process"
    address: str
    pid: int
    started_at: float
    boot: str
    host: str = ""
    has_ended: bool = False


TableEvent = ChildDeclared | DesiredStateSet | ChildForgotten | IncarnationAssigned | ProcessStarted
_EVENT: TypeAdapter[TableEvent] = TypeAdapter(Annotated[TableEvent, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class RegisteredChild:
    """One child: its spec, its desired state, and the cause of that state."""

    spec: ChildSpec
    desired: Desired = "running"
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredChildren:
    """All children, in the order of their requests."""

    rows: Mapping[str, RegisteredChild] = field(default_factory=dict)
    incarnations: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[str, ProcessStarted] = field(default_factory=dict)

    def next_incarnation(self, address: str) -> int:
        """Return the number of the next process of an address."""
        return self.incarnations.get(address, 0) + 1


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
    """Return the table of a journal's records. Raises ValueError for a record of unknown type."""
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


def lost_from(table: RegisteredChildren, recorded: Mapping[str, int]) -> list[str]:
    """Return the addresses whose incarnation in `recorded` (by the router) is later.

    There are none unless the journal was cut, removed, or replaced by an older copy.
    """
    return sorted(
        address
        for address, number in recorded.items()
        if number > table.incarnations.get(address, 0) and not address.startswith(COUNTED_ELSEWHERE)
    )


SLACK_RECORDS = 256
COUNTED_ELSEWHERE = (HOST_PREFIX, INVITE_PREFIX)
"""Addresses whose incarnations are not assigned by the supervisor."""


class ChildRegister:
    """The only writer of `system/children.journal`, which is rewritten when it has grown.

    `recorded` are the incarnations that the router knows. Raises Corrupt, ValueError.
    """

    def __init__(self, path: Path, recorded: Mapping[str, int] = MappingProxyType({})) -> None:
        self._recorded = recorded
        self._journal = Journal(path)
        self._unwritten: list[JsonObject] = []
        self.unregistered: tuple[str, ...] = ()
        """Addresses of agents that the journal has lost: their messages are kept."""
        self.table: RegisteredChildren = fold(self._journal.records)
        short = compacted(self.table)
        if self._journal.count > 2 * len(short) + SLACK_RECORDS:
            self._journal.close()
            replace_file(path, b"".join(encode_record(record) for record in short).decode())
            self._journal = Journal(path)

    def write(self, *events: TableEvent) -> None:
        """Write events after the unwritten ones, then apply them. On OSError none is applied."""
        self._journal.append(*self._unwritten, *(to_record(event) for event in events))
        self._unwritten.clear()
        self._apply(events)

    def note(self, event: TableEvent) -> None:
        """Apply an event, and write it as soon as the disk has space."""
        self._apply([event])
        self._unwritten.append(to_record(event))
        try:
            self.write()
        except OSError as error:
            if not is_full_disk(error):
                raise

    def _apply(self, events: Sequence[TableEvent]) -> None:
        for event in events:
            self.table = apply(self.table, event)

    def declare(self, spec: ChildSpec) -> None:
        """Record that a child should run; write nothing if the journal already has that state."""
        row = self.table.rows.get(spec.address)
        if row is None or row.spec != spec or row.desired != "running":
            self.write(ChildDeclared(spec=spec))

    def allot(self, address: str) -> int:
        """Return the next incarnation of an address; it is never reused."""
        number = max(self.table.next_incarnation(address), self._recorded.get(address, 0) + 1)
        self.write(IncarnationAssigned(address=address, incarnation=number))
        return number

    def rest(self, event: DesiredStateSet) -> None:
        """Record that a child should no longer run; does nothing for an unknown child."""
        if event.address in self.table.rows:
            self.note(event)

    def forget(self, address: str) -> None:
        """Drop a child; its incarnation number stays."""
        if address in self.table.rows:
            self.note(ChildForgotten(address=address))

    def close(self) -> None:
        """Close the register's journal."""
        self._journal.close()


def kind_of_service(service: str) -> str:
    """Return the kind of a service's process: `web`, `tools`, or the service's address."""
    if service == WEB:
        return "web"
    return "tools" if service.startswith(TOOLS_PREFIX) else service
