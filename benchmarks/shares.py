"""Whose processor time it was: of each part of a measurement, in cores, over a stretch of time."""

import time
from collections.abc import Callable, Iterable, Mapping

import psutil

Parts = Callable[[], Mapping[str, Iterable[psutil.Process]]]

IDLE = ("idle", "iowait", "guest", "guest_nice")
"""What the machine's times have that nobody used, or that stands in another of them too."""


def tree(root: psutil.Process) -> list[psutil.Process]:
    """Return a process and all that come from it."""
    return [root, *root.children(recursive=True)]


def kind_of(process: psutil.Process) -> str:
    """Return what one of a home's processes is, as its title says; empty if it does not."""
    try:
        title = " ".join(process.cmdline())
    except psutil.Error:
        return ""
    return title.partition("agiraph: ")[2].split(" ")[0]


class Stretch:
    """A stretch of time that begins now; `parts` returns who is told apart, at either end of it.

    What a process used that was not there at one of the ends is not known.
    """

    def __init__(self, parts: Parts) -> None:
        """Begin."""
        self._parts = parts
        self._before = self._used()
        self._machine, self._at = _machine(), time.monotonic()

    def end(self) -> dict[str, float]:
        """Return the cores that each part used, and the machine's `others` in all."""
        seconds = time.monotonic() - self._at
        shares: dict[str, float] = {}
        for (name, pid), used in self._used().items():
            share = max(0.0, used - self._before.get((name, pid), 0.0)) / seconds
            shares[name] = shares.get(name, 0.0) + share
        shares["others"] = max(0.0, (_machine() - self._machine) / seconds - sum(shares.values()))
        return shares

    def _used(self) -> dict[tuple[str, int], float]:
        parts = self._parts().items()
        return {(name, one.pid): _seconds(one) for name, processes in parts for one in processes}


def _seconds(process: psutil.Process) -> float:
    """Return what a process used so far; one that has ended is told as having used nothing."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _machine() -> float:
    times = psutil.cpu_times()._asdict()
    return float(sum(seconds for name, seconds in times.items() if name not in IDLE))
