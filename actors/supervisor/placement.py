"""Placement: chooses the machine on which a process is started. Pure.

A request names a machine, or labels that the machine must have. Of the machines that accept new
work, the machine on which the entity ran last is preferred, because its files are there; then the
machine with the least work for each of its processors; the home's machine if they are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.runtime.machine import found_labels
from agiraph.core.errors import listed
from agiraph.core.hosts import HOME_HOST

LEAST_FREE_BYTES = 256 * 1024 * 1024
LOAD_OF_PROCESS = 0.1
"""The assumed load of each process on a processor: most processes wait for models."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The current state of a machine; `is_open`: it can be reached, and accepts new work."""

    name: str
    labels: frozenset[str] = frozenset()
    is_open: bool = True
    cores: int = 1
    load: float = 0.0
    processes: int = 0
    free_memory_bytes: int | None = None

    @property
    def has_memory(self) -> bool:
        """Whether the machine has memory for one more process; True if unknown."""
        return self.free_memory_bytes is None or self.free_memory_bytes >= LEAST_FREE_BYTES

    @property
    def busyness(self) -> float:
        """The load per processor core, with an assumed load for each process."""
        return (self.load + LOAD_OF_PROCESS * self.processes) / max(1, self.cores)


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """The needs of a process: `host` by name or None, `labels`; `last` is its last machine."""

    host: str | None = None
    labels: tuple[str, ...] = ()
    last: str = ""


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No machine may run the process now; `reason` is the explanation."""

    reason: str


def place(wish: PlacementRequest, machines: Sequence[Machine]) -> str | NotPlaced:
    """Return the name of the machine for a process, or NotPlaced; `machines` begins with home."""
    named = [one for one in machines if wish.host in (None, one.name)]
    if not named:
        known = listed([one.name for one in machines])
        return NotPlaced(f"there is no machine '{wish.host}' (known: {known})")
    labelled = [one for one in named if one.labels.issuperset(wish.labels)]
    if not labelled:
        lacking = listed(sorted(set(wish.labels) - frozenset().union(*(m.labels for m in named))))
        where = f"machine '{wish.host}'" if wish.host else "no machine"
        what = f"the label {lacking}" if lacking else f"all of {listed(wish.labels)}"
        has = "does not have" if wish.host else "has"
        return NotPlaced(f"{where} {has} {what}")
    open_ones = [one for one in labelled if one.is_open]
    if not open_ones:
        waiting = listed([one.name for one in labelled])
        return NotPlaced(f"it waits for {waiting}, which cannot be reached or takes no new work")
    for one in open_ones:
        if one.name == wish.last:
            return one.name
    roomy = [one for one in open_ones if one.has_memory] or open_ones
    return min(roomy, key=lambda one: (one.busyness, one.name != HOME_HOST, one.name)).name


def place_at_home(host: str | None, labels: tuple[str, ...]) -> str | NotPlaced:
    """Return '' if a process may run in a home without other machines, else why it waits."""
    placed = place(PlacementRequest(host, labels), [Machine(HOME_HOST, frozenset(found_labels()))])
    return placed if isinstance(placed, NotPlaced) else ""
