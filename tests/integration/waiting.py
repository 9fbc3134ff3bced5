"""Waiting for conditions and for the end of processes, with deadlines."""

import time
from collections.abc import Callable
from typing import TypeVar

import psutil

DEADLINE_SECONDS = 90.0
LOOK_SECONDS = 0.01
RESTS_PER_LOOK = 3
LONGEST_REST_SECONDS = 0.2
T = TypeVar("T")


def until(
    found: Callable[[], T | None],
    awaited: str,
    *,
    within_seconds: float = DEADLINE_SECONDS,
    look_seconds: float = LOOK_SECONDS,
) -> T:
    """Return the value of `found` once it is true; fail after a deadline.

    A slow call of `found`, which starts a program or searches all processes, is followed by a
    longer pause, so that waiting takes little processor time from the tested processes.
    """
    deadline = time.monotonic() + within_seconds
    while (began := time.monotonic()) < deadline:
        value = found()
        if value:
            return value
        rest = RESTS_PER_LOOK * (time.monotonic() - began)
        time.sleep(max(look_seconds, min(rest, LONGEST_REST_SECONDS)))
    raise AssertionError(f"never happened: {awaited}")


def await_gone(processes: list[psutil.Process], awaited: str) -> None:
    """Wait until all of these processes have ended; a failure names the running ones."""
    try:
        until(lambda: all_gone(processes), awaited)
    except AssertionError as error:
        left = [process for process in processes if not is_gone(process)]
        raise AssertionError(f"{error}; still there: {[*map(described, left)]}") from None


def described(process: psutil.Process) -> str:
    """Return a process's number, its parent's and its command line, for a message."""
    try:
        return f"{process.pid} (of {process.ppid()}): {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"{process.pid}"


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended (a zombie that its parent has not reaped counts)."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE or not process.is_running()
    except psutil.NoSuchProcess:
        return True


def all_gone(processes: list[psutil.Process]) -> bool:
    """Whether all of these processes have ended."""
    return all(is_gone(process) for process in processes)
