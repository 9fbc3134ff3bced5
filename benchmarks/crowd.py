"""A crowd before the gateway: followers of an agent's events, and callers at a steady rate.

Each is a process of its own (`watchers.py`, `callers.py`), so that what they cost is told apart
from what is measured.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEAVE_SECONDS = 60

JsonObject = dict[str, Any]
Process = subprocess.Popen[str]


@dataclass(frozen=True, slots=True)
class Crowd:
    """A crowd that is there; either part may be missing."""

    watchers: Process | None
    callers: Process | None

    def hang_up(self) -> JsonObject:
        """End the calls; return what the callers saw."""
        return _told(self.callers, "") if self.callers else {}

    def leave(self, events: int) -> JsonObject:
        """End the following when so many events came; return what the watchers saw."""
        return _told(self.watchers, f"{events}\n") if self.watchers else {}


@contextlib.contextmanager
def crowd(
    door: tuple[str, str],
    agent: str,
    other: str,
    followers: int = 0,
    rate: float = 0.0,
    only: str = "all",
) -> Iterator[Crowd]:
    """Have a crowd come to the URL and with the token of `door`; it is there when this begins."""
    with ExitStack() as stack:
        watching = calling = None
        if followers:
            watching = stack.enter_context(_joined("watchers", *door, agent, str(followers)))
        if rate:
            words = (*door, agent, other, str(rate), only)
            calling = stack.enter_context(_joined("callers", *words))
        yield Crowd(watching, calling)


@contextlib.contextmanager
def _joined(module: str, *words: str) -> Iterator[Process]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", f"benchmarks.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the {module} were not let in")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _told(process: Process, last_words: str) -> JsonObject:
    out, _ = process.communicate(last_words, timeout=LEAVE_SECONDS)
    if process.returncode:
        raise RuntimeError("a part of the crowd broke down; it said why")
    told: JsonObject = json.loads(out.splitlines()[-1])
    return told
