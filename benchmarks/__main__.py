"""`python -m benchmarks`: measure Agiraph beside its peers; print ratios and aims.

Each benchmark runs in a process of its own with a deadline; one that fails or does not end in time
is a row that says so.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from benchmarks.product import ROOT, Options, Product, progress
from benchmarks.report import Figure, markdown, not_measured, table, write_page

CLEANUP_SECONDS = 20.0


class Benchmark(NamedTuple):
    """Where a benchmark is, how long it may take, and whether it runs when none is named."""

    place: str
    deadline_seconds: float
    is_usual: bool = True


BENCHMARKS = {
    "bus": Benchmark("bus:run", 150),
    "far": Benchmark("far:run", 60),
    "hosts": Benchmark("hosts:run", 120),
    "workers": Benchmark("workers:run", 120),
    "stops": Benchmark("stops:run", 60),
    "parking": Benchmark("parking:run", 120),
    "sandbox": Benchmark("sandbox:run", 30),
    "teams": Benchmark("teams:run", 120),
    "first-call": Benchmark("teams:run_first_call", 90),
    "turns": Benchmark("turns:run", 150),
    "team-turns": Benchmark("turns:run_team", 60),
    "crowd": Benchmark("crowd:run", 150),
    "flood": Benchmark("flood:run", 40),
    "plans": Benchmark("plans:run", 420),
    "knowledge": Benchmark("knowledge:run", 420),
    "page": Benchmark("page:run", 420),
    "soak": Benchmark("soak:run", 900, is_usual=False),
    "peers": Benchmark("peers:run", 300, is_usual=False),
    "page-soak": Benchmark("page:run_soak", 600, is_usual=False),
}
FULL_DEADLINE_SECONDS = 1200.0
SAMPLES = {"team": "teams", "turn": "turns", "spawn": "workers", "wake": "parking"}
"""What can be compared with another checkout; `team` measures the first call too, `spawn` the
recovery."""
ROUNDS = 5
QUICK_ROUNDS = 2
SAMPLE_SECONDS = 120.0


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted({*BENCHMARKS, *SAMPLES})))
@click.option("--quick", is_flag=True, help="Measure less of everything: noisy.")
@click.option(
    "--full",
    is_flag=True,
    help="A thousand agents or workers, where there is such a part: up to 20 minutes.",
)
@click.option("--write", is_flag=True, help="Also write the figures into docs/benchmarks.md.")
@click.option(
    "--against",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Compare with another checkout, run by run in turns: {', '.join(SAMPLES)}.",
)
@click.option("--child", hidden=True, help="Run one benchmark in this process and print JSON.")
def main(
    names: tuple[str, ...],
    quick: bool,
    full: bool,
    write: bool,
    against: Path | None,
    child: str | None,
) -> None:
    """Measure Agiraph beside its peers and print the ratios.

    NAMES are the benchmarks to run [default: all but the soaks and the peers].
    """
    if child is not None:
        _run_here(child, Options(quick, full, Product(against or ROOT)))
        return
    if against is not None:
        wanted = [name for name in names if name in SAMPLES] or list(SAMPLES)
        _compare(wanted, against.resolve(), QUICK_ROUNDS if quick else ROUNDS)
        return
    load = os.getloadavg()[0]
    wanted = [name for name in names if name in BENCHMARKS] or _usual()
    flags = [flag for flag, is_set in (("--quick", quick), ("--full", full)) if is_set]
    figures = [figure for name in wanted for figure in _figures(name, flags)]
    click.echo(table(figures))
    if write:
        write_page(figures, load, tuple(wanted) if names else ())
        click.echo("written: docs/benchmarks.md", err=True)


def _usual() -> list[str]:
    return [name for name, benchmark in BENCHMARKS.items() if benchmark.is_usual]


def _figures(name: str, flags: list[str]) -> list[Figure]:
    deadline = FULL_DEADLINE_SECONDS if "--full" in flags else BENCHMARKS[name].deadline_seconds
    found = _in_child(name, flags, deadline)
    if isinstance(found, str):
        return [not_measured(name, found)]
    return [Figure(**row) for row in found]


def _in_child(name: str, flags: list[str], within_seconds: float) -> Any:
    """Return what a benchmark printed in a process of its own, or why there is nothing, as text."""
    click.echo(f"{name} (at most {within_seconds:g} s)", err=True)
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "benchmarks", "--child", name, *flags],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=within_seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return f"not done within {within_seconds:g} s"
    except KeyboardInterrupt:
        _end(process)
        raise
    progress(f"{time.monotonic() - began:.0f} s")
    if process.returncode:
        return f"failed with exit code {process.returncode} (its error is above)"
    return json.loads(out.splitlines()[-1])


def _end(process: "subprocess.Popen[str]") -> None:
    """Interrupt a benchmark so that it stops what it started; kill what is left of its session."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=CLEANUP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _run_here(name: str, options: Options) -> None:
    if name in BENCHMARKS:
        module, _, function = BENCHMARKS[name].place.partition(":")
        click.echo(json.dumps([asdict(figure) for figure in _function(module, function)(options)]))
    else:
        click.echo(json.dumps(_function(SAMPLES[name], "sample")(options.product)))


def _function(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"benchmarks.{module}"), name)
    return found


# --- another checkout beside this one ------------------------------------------------------------


def _compare(names: list[str], other: Path, rounds: int) -> None:
    """Measure this checkout and `other` in turns, and print the ratios of their medians."""
    rows: list[tuple[str, ...]] = [("measured", "ratio", "here", "there", "ratios of the rounds")]
    for name in names:
        pairs = []
        for number in range(rounds):
            click.echo(f"{name}, round {number + 1} of {rounds}", err=True)
            pair = [
                _in_child(name, flags, SAMPLE_SECONDS) for flags in ([], ["--against", str(other)])
            ]
            if all(isinstance(one, dict) for one in pair):
                pairs.append(pair)
        rows += _rows(name, pairs)
    click.echo(markdown(rows))


def _rows(name: str, pairs: list[list[dict[str, float]]]) -> list[tuple[str, ...]]:
    if not pairs:
        return [(name, "", "", "", "not measured")]
    found: list[tuple[str, ...]] = []
    for key in pairs[0][0]:
        here, there = (statistics.median(pair[side][key] for pair in pairs) for side in (0, 1))
        ratios = sorted(ours[key] / theirs[key] for ours, theirs in pairs)
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        found.append((key, f"{here / there:.2f}", f"{here:.2f}", f"{there:.2f}", spread))
    return found


if __name__ == "__main__":
    main()
