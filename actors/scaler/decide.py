"""The decision which of the home's own hosts to start and to end. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnHost:
    """A host that the home has started.

    `is_ready`: the host has joined and can be reached. `is_gone`: the host and its lease have
    ended, or it has not joined in time. `idle_seconds` is the time since it last ran a process.
    """

    name: str
    is_ready: bool = False
    is_gone: bool = False
    processes: int = 0
    idle_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the most hosts, and how long a host may be idle."""

    least: int
    most: int
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The number of hosts to start, and the names of hosts to end."""

    start: int = 0
    end: tuple[str, ...] = ()


def decide(hosts: Sequence[OwnHost], limits: Limits, *, is_needed: bool) -> Decision:
    """Return which hosts to start and end; `is_needed`: work waits, or all machines are busy.

    One host is started at a time: whether another is needed shows when it runs.
    """
    gone = tuple(host.name for host in hosts if host.is_gone)
    living = [host for host in hosts if not host.is_gone]
    is_coming = any(not host.is_ready for host in living)
    wanted = limits.least - len(living)
    if is_needed and not is_coming:
        wanted = max(wanted, 1)
    start = max(0, min(wanted, limits.most - len(living)))
    if is_needed or start:
        return Decision(start, gone)
    idle = [
        host
        for host in living
        if host.is_ready and not host.processes and host.idle_seconds >= limits.idle_seconds
    ]
    idle.sort(key=lambda host: (-host.idle_seconds, host.name))
    spare = max(0, len(living) - limits.least)
    return Decision(0, gone + tuple(host.name for host in idle[:spare]))
