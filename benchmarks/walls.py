"""What the sandbox's wall costs a command: the same command with and without it, in turns."""

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from agiraph.core.config import load_config
from agiraph.tools.command import CommandLimits, run_command
from agiraph.tools.sandbox.sandbox import standing_wall
from agiraph.tools.scopes.scope import Scope
from benchmarks.figures import Figure
from tests.unit.tools.scopes.house import build

ROUNDS = 40
QUICK_ROUNDS = 10
NODES = 100
AIM = 2.0
AIM_MANY = 4.0

Result = dict[str, float]


def run(*, is_quick: bool = False) -> Result:
    """Return the median milliseconds of `true`: bare, walled, walled in a run of many nodes."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder).resolve(), QUICK_ROUNDS if is_quick else ROUNDS))


async def _measure(folder: Path, rounds: int) -> Result:
    wall, house = standing_wall(load_config().sandbox), build(folder / "home")
    if not wall.is_up:
        return {}
    scope = house.worker()
    times: dict[str, list[float]] = {"bare": [], "walled": [], "many": []}
    few = wall.words_before(scope)
    for number in range(NODES):
        (house.run.nodes / f"n{number}-worker-{number:06x}" / "published").mkdir(parents=True)
    ways = {"bare": [], "walled": few, "many": wall.words_before(scope)}
    for number in range(rounds):
        for name, before in ways.items():
            times[name].append(await _timed(folder / f"{name}{number}", scope, before))
    return {name: statistics.median(each) for name, each in times.items()}


async def _timed(folder: Path, scope: Scope, before: list[str]) -> float:
    begun = time.perf_counter()
    await run_command(
        "true",
        folder=folder,
        cwd=scope.cwd,
        environment={"PATH": os.defpath},
        limits=CommandLimits(60, 1000),
        before=before,
    )
    return (time.perf_counter() - begun) * 1000


def figures(result: Result) -> list[Figure]:
    """Return the ratios of a run; none where no sandbox stands."""
    if not result:
        return []
    bare, walled, many = result["bare"], result["walled"], result["many"]
    seen = f"{walled:.1f} and {bare:.1f} ms"
    crowded = f"{many:.1f} and {bare:.1f} ms"
    what = "a command in the sandbox, from wish to recorded outcome"
    return [
        Figure(what, "the same command without", walled / bare, "at most", AIM, seen),
        Figure(f"the same, {NODES} nodes published", "the same command without", many / bare,
               "at most", AIM_MANY, crowded),
    ]  # fmt: skip


if __name__ == "__main__":
    for figure in figures(run()):
        print(f"{figure.what}: {figure.ratio:.2f} ({figure.seen})")
