"""What the sandbox costs a command: `true` as `bash` runs it, with and without it, in turns."""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agiraph.settings.config import load_config
from agiraph.tools.command import CommandLimits, run_command
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.scopes.scope import Scope
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_most, not_measured
from tests.unit.tools.scopes.home_layout import build

NODES = 100


def run(options: Options) -> list[Figure]:
    """Return the medians of `true`: bare, in the sandbox, in the sandbox of a run of many nodes."""
    with tempfile.TemporaryDirectory() as folder:
        times = asyncio.run(_measure(Path(folder).resolve(), options.count(40, 10)))
    if not times:
        return [not_measured("sandbox", "there is no sandbox on this machine")]
    bare, walled, many = (statistics.median(times[way]) for way in ("bare", "walled", "many"))
    what, peer = "a command in the sandbox, until its outcome is on disk", "the same without it"
    return [
        at_most(what, peer, walled / bare, 2.0, f"{walled:.1f} and {bare:.1f} ms"),
        at_most(f"the same, {NODES} nodes published", peer, many / bare, 4.0,
                f"{many:.1f} and {bare:.1f} ms"),
    ]  # fmt: skip


async def _measure(folder: Path, rounds: int) -> dict[str, list[float]]:
    sandbox, home = find_sandbox(load_config().sandbox), build(folder / "home")
    if not sandbox.is_up:
        return {}
    scope = home.worker()
    few = sandbox.enclose(scope).words
    for number in range(NODES):
        (home.run.nodes / f"n{number}-worker-{number:06x}" / "published").mkdir(parents=True)
    many = sandbox.enclose(scope).words
    ways: dict[str, Sequence[str]] = {"bare": (), "walled": few, "many": many}
    times: dict[str, list[float]] = {way: [] for way in ways}
    progress(f"{rounds} rounds")
    for number in range(rounds):
        for way, before in ways.items():
            times[way].append(await _milliseconds(folder / f"{way}{number}", scope, before))
    return times


async def _milliseconds(folder: Path, scope: Scope, before: Sequence[str]) -> float:
    began = time.perf_counter()
    await run_command(
        "true",
        folder=folder,
        cwd=scope.cwd,
        environment={"PATH": os.defpath},
        limits=CommandLimits(60, 1000),
        before=before,
    )
    return (time.perf_counter() - began) * 1000
