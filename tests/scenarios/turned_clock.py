"""A clock that a test sets by hand: `{home}/now` contains the time; the scheduler reads it.

`supervise` is `agiraph-supervisor` whose scheduler uses this clock. With `supervise_shifted` every
process of the home reads the real time plus the seconds in `{home}/shift`, as if the machine's
clock had been set.
"""

import asyncio
import os
import time
from pathlib import Path

from actors.runtime.kinds import KINDS
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.scheduler.scheduler import TimeSource, serve

LOOK_SECONDS = 0.02


def now_file(home: Path) -> Path:
    """Return the file that contains the time."""
    return home / "now"


def turn(home: Path, seconds: float) -> float:
    """Turn the clock forward; return its new time."""
    shown = shown_in(home) + seconds
    part = now_file(home).with_suffix(".part")
    part.write_text(repr(shown))
    os.replace(part, now_file(home))
    return shown


def shown_in(home: Path) -> float:
    """Return the time of the clock; the real time before it was turned."""
    try:
        return float(now_file(home).read_text())
    except FileNotFoundError:
        return time.time()


class TurnedTime(TimeSource):
    """The time of the file, which waiting code reads repeatedly."""

    def __init__(self, home: Path) -> None:
        """Use this home's file."""
        self._home = home

    def now(self) -> float:
        """Return the time of the file."""
        return shown_in(self._home)

    async def wait(self, until: float | None, bell: asyncio.Event) -> None:
        """Wait for the bell or the time; write the time seen, so that the test can wait for it."""
        seen = self.now()
        (self._home / "seen").write_text(repr(seen))
        while not bell.is_set() and self.now() == seen:  # noqa: ASYNC110 - a file rings no bell
            await asyncio.sleep(LOOK_SECONDS)


def main(launch: ActorLaunch) -> int:
    """Run the scheduler with the file's time."""

    async def live(runtime: Runtime) -> None:
        await serve(runtime, TurnedTime(launch.home))

    return run_actor(launch, live)


def supervise() -> None:
    """Run a supervisor whose scheduler uses the file's time."""
    from tests.fakes.interpreters import supervise as run

    run({**KINDS, "clock": "tests.scenarios.turned_clock:main"})


def shift(home: Path, seconds: float) -> None:
    """Set the clock of every process of the home to the real time plus `seconds`."""
    part = home / "shift.part"
    part.write_text(repr(seconds))
    os.replace(part, home / "shift")


def supervise_shifted() -> None:
    """Run a supervisor whose processes, and itself, read the time with the shift."""
    from tests.fakes.interpreters import supervise as run

    real, file = time.time, Path(os.environ["AGIRAPH_HOME"]) / "shift"

    def shifted() -> float:
        with open(file, encoding="ascii") as shift:
            return real() + float(shift.read())

    time.time = shifted
    run(KINDS)
