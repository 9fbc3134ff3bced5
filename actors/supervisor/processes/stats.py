"""ProcessStats: the kernel's facts about a process.

Processor time and memory are read from /proc if it exists, in a tenth of the time that psutil
needs: `agiraph top` and metrics request the table of a hundred processes many times a second.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil

HAS_PROC = os.path.isdir("/proc/self")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STAT_BYTES = 2048

USER, SYSTEM, STARTED, PAGES = 11, 12, 19, 21
"""Positions in /proc/PID/stat after the name, see proc_pid_stat(5)."""


@dataclass(frozen=True, slots=True)
class ProcessStats:
    """The facts about one process; `started_at` in seconds since the epoch."""

    started_at: float
    cpu_seconds: float
    memory_bytes: int


def stats_of(pid: int) -> ProcessStats | None:
    """Return the kernel's facts about a process, None if it is gone."""
    return _of_proc(pid) if HAS_PROC else _of_psutil(pid)


def _of_proc(pid: int) -> ProcessStats | None:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)  # plain: /proc
        try:
            stat = os.read(fd, STAT_BYTES)
        finally:
            os.close(fd)
    except OSError:  # also ESRCH: it ended between the two calls
        return None
    stats = stat.rpartition(b")")[2].split()
    return ProcessStats(
        started_at=_booted_at() + int(stats[STARTED]) / TICKS,
        cpu_seconds=(int(stats[USER]) + int(stats[SYSTEM])) / TICKS,
        memory_bytes=int(stats[PAGES]) * PAGE_BYTES,
    )


@lru_cache(1)
def _booted_at() -> float:
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()  # plain: /proc
    return next(float(line.split()[1]) for line in lines if line.startswith("btime"))


def _of_psutil(pid: int) -> ProcessStats | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            return ProcessStats(process.create_time(), cpu.user + cpu.system, memory.rss)
    except psutil.Error:
        return None
