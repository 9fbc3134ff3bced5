"""SharedValues: the values by key, with author and time, and the effect of a change.

`decide` returns the effect of a change, or raises why it is refused; `apply` applies it. A change
carries its cause (the message or tool call behind it): a repeated cause changes nothing, and
receives the same answer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.record import Record
from agiraph.core.turns import JsonObject
from agiraph.storage.files import replace_file
from agiraph.storage.journal import Journal

KEY_LIMIT = 128
Way = Literal["write", "append"]
KINDS: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    list: "list",
}


class SharedValueChange(Record):
    """A requested change: `write` replaces the value of a key, `append` adds to a list."""

    cause: str
    way: Way
    key: str
    value: JsonValue
    by: str


class AppliedChange(SharedValueChange):
    """An applied change: one line of the journal. `version` counts the changes of a key."""

    version: int
    ts: float


class ChangeReceipt(Record):
    """The result of a change; `items` is the length of a list after it."""

    key: str
    version: int
    items: int | None = None


@dataclass(frozen=True, slots=True)
class SharedValueLimits:
    """Limits of a run's shared values; sizes are those of the JSON text, in bytes."""

    max_keys: int
    max_value_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SharedValue:
    """The value of one key. `size` is the length of its JSON text in bytes."""

    key: str
    value: JsonValue
    size: int
    version: int
    by: str
    at: float

    def shown(self) -> JsonObject:
        """Return key, value, version, author and time: the result of `read_shared_value`."""
        entry: JsonObject = {"key": self.key, "value": self.value}
        return entry | {"version": self.version, "by": self.by, "at": iso(self.at)}

    def row(self) -> JsonObject:
        """Return the entry as a row of `list_shared_values`."""
        row: JsonObject = {"key": self.key, "kind": kind_of(self.value), "bytes": self.size}
        if isinstance(self.value, list):
            row["items"] = len(self.value)
        return row | {"version": self.version, "by": self.by, "at": iso(self.at)}


@dataclass(frozen=True, slots=True)
class SharedValues:
    """All entries in order of creation, and the receipts of all causes; immutable."""

    entries: Mapping[str, SharedValue] = field(default_factory=dict)
    receipts: Mapping[str, ChangeReceipt] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes of all values together."""
        return sum(entry.size for entry in self.entries.values())

    def find(self, key: str) -> SharedValue:
        """Return the entry of a key. Raises InvalidInput, which lists the known keys."""
        found = self.entries.get(key.strip())
        if found is None:
            raise unknown("shared key", key, list(self.entries))
        return found

    def rows(self) -> list[JsonObject]:
        """Return `SharedValue.row` of each key, in order of creation."""
        return [entry.row() for entry in self.entries.values()]

    def shown(self) -> JsonObject:
        """Return `SharedValue.shown` of each key, by key."""
        return {key: entry.shown() for key, entry in self.entries.items()}


def decide(
    values: SharedValues, change: SharedValueChange, bounds: SharedValueLimits, now: float
) -> tuple[AppliedChange, ...]:
    """Return the change to apply, () if its cause has been applied before. Raises InvalidInput."""
    if change.cause in values.receipts:
        return ()
    key = _checked_key(change.key)
    before = values.entries.get(key)
    if change.way == "append" and before is not None and not isinstance(before.value, list):
        raise InvalidInput(
            f"shared key '{key}' holds {kind_of(before.value)}, not a list (possible: "
            "`write_shared_value` a list first, or append under another key)"
        )
    version = before.version + 1 if before else 1
    changed = AppliedChange(**{**dict(change), "key": key, "version": version, "ts": now})
    _require_room(values, before, _entry(before, changed), bounds)
    return (changed,)


def apply(values: SharedValues, changed: AppliedChange) -> SharedValues:
    """Return the values after a change."""
    entry = _entry(values.entries.get(changed.key), changed)
    items = len(entry.value) if isinstance(entry.value, list) else None
    receipt = ChangeReceipt(key=entry.key, version=entry.version, items=items)
    return replace(
        values,
        entries={**values.entries, entry.key: entry},
        receipts={**values.receipts, changed.cause: receipt},
    )


def _entry(before: SharedValue | None, changed: AppliedChange) -> SharedValue:
    value = changed.value
    if changed.way == "append":
        items = before.value if before is not None and isinstance(before.value, list) else []
        value = [*items, changed.value]
    size = len(as_text(value))
    return SharedValue(changed.key, value, size, changed.version, changed.by, changed.ts)


def _checked_key(wanted: str) -> str:
    key = wanted.strip()
    if not key or len(key) > KEY_LIMIT or not key.isprintable():
        raise InvalidInput(
            f"{wanted!r} cannot be a shared key (possible: 1 to {KEY_LIMIT} printable characters)"
        )
    return key


def _require_room(
    values: SharedValues,
    before: SharedValue | None,
    after: SharedValue,
    bounds: SharedValueLimits,
) -> None:
    if after.size > bounds.max_value_bytes:
        raise InvalidInput(
            f"shared key '{after.key}' would hold {after.size} bytes, more than "
            f"{bounds.max_value_bytes} (shared.max_value_bytes); possible: write it to a file and "
            "put the file's path here, or use another key"
        )
    if before is None and len(values.entries) >= bounds.max_keys:
        raise InvalidInput(
            f"the run has its {bounds.max_keys} shared keys (shared.max_keys); possible: write "
            f"under one of them, such as {', '.join(sorted(values.entries)[:10])}"
        )
    total = values.size - (before.size if before else 0) + after.size
    if total > bounds.max_bytes:
        raise InvalidInput(
            f"the shared values would have {total} bytes, more than {bounds.max_bytes} "
            "(shared.max_bytes); possible: write something shorter under a key that is large "
            "(see `list_shared_values`), or use files"
        )


def as_text(value: JsonValue) -> str:
    """Return a value as the JSON text that is sent and measured: ASCII, without spaces."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InvalidInput(f"this value is not JSON: {error}") from None


def kind_of(value: JsonValue) -> str:
    """Return the name of a value's type in JSON."""
    return KINDS.get(type(value), "object")


class SharedValueStore:
    """The shared values of one run, their journal, and the file that shows them; for one process.

    Every change is on disk before it is answered. Raises Corrupt, OSError.
    """

    def __init__(self, journal: Path, shown: Path, bounds: SharedValueLimits) -> None:
        self._journal = Journal(journal)
        self._shown = shown
        self._bounds = bounds
        self.values = SharedValues()
        for record in self._journal.records:
            self.values = apply(self.values, AppliedChange.model_validate(record))
        self._journal.records = []
        if self.values.entries:
            self._show()

    def change(self, change: SharedValueChange, now: float) -> tuple[ChangeReceipt, bool]:
        """Carry a change out; return its receipt, and whether it is new.

        Raises InvalidInput, OSError; the values are then unchanged.
        """
        happened = decide(self.values, change, self._bounds, now)
        for changed in happened:
            self._journal.append(changed.model_dump(mode="json"))
            self.values = apply(self.values, changed)
        if happened:
            self._show()
        return self.values.receipts[change.cause], bool(happened)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _show(self) -> None:
        """Write the file of all values, for people and models."""
        text = json.dumps(self.values.shown(), ensure_ascii=False, indent=2)
        replace_file(self._shown, f"{text}\n")
