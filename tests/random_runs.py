"""Random runs: whole runs of an agent whose model calls tools at random, in simulated homes.

    python -m tests.random_runs 1000           # seeds 0 to 999, in two processes
    python -m tests.random_runs --seed 17      # one seed, with the course of its run

Each seed is one kind of run: with or without a plan of the person, finite or infinite, with a
person who answers some questions or none, with small or large limits. For any calls of the model,
each run must come to an end or to a question to the person within a limited time and number of
model calls, and leave a consistent board (`faults_of`). A run is determined by its seed: the same
seed plays the same run again, in any process.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest

from actors.entity.args import CoordinatorArgs
from agiraph.board.store import read_board
from agiraph.core.roles import RoleTeamTerms, roles_of
from agiraph.core.turns import ModelRequest
from agiraph.storage.home import Home
from agiraph.testing import RandomModel
from cli.chaos.random_run import board_faults
from tests.fakes.simulated_home import (
    AGENT,
    RUN,
    SimulatedHome,
    SimulatedRun,
    coordinator_args,
    simulate_machine,
)

MOST_SECONDS = 48 * 3600.0
MOST_CALLS = 20_000
CYCLES = 2
HOME = "home"
NAMED = "/simulated"
"""The name of the run's folder in its course; the real name is different each time."""
PLAN = """\
nodes:
  - id: facts
    task: Collect the facts
  - id: check
    task: Check the facts
    role: reviewer
    deps: [facts]
  - id: report
    task: Write the report
    deps: [facts, check]
"""


@dataclass(slots=True)
class Scenario:
    """The conditions of the run of one seed."""

    args: CoordinatorArgs
    answers: int
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RandomRun:
    """The outcome of the run of one seed. `faults` is empty if the run was correct."""

    seed: int
    kind: str
    folder: Path
    run: SimulatedRun
    faults: tuple[str, ...]

    @property
    def course(self) -> tuple[str, ...]:
        """One line about each event: the same for the same seed."""
        return tuple(
            f"{event.ts:.1f} {event.entity} {event.type} {event.data}".replace(
                str(self.folder), NAMED
            )
            for event in self.run.events
        )

    @property
    def summary(self) -> str:
        """One line about the run."""
        run = self.run
        ending = f"{run.status}: {run.reason}" if run.reason else run.status
        counts = f"{run.calls} calls, {len(run.board.nodes)} nodes, {run.seconds / 3600:.1f} h"
        faults = "".join(f"\n    FAULT {fault[:400]}" for fault in self.faults)
        return f"seed {self.seed} ({self.kind}; {counts}) {ending[:100]}{faults}"


def _on(args: CoordinatorArgs, **terms: Any) -> CoordinatorArgs:
    """Return the arguments with other terms of the run."""
    return args.model_copy(update={"agent": args.agent.model_copy(update=terms)})


KINDS = ("finite", "finite", "finite", "plan", "static", "team", "infinite")


def scenario_of(seed: int) -> tuple[str, Scenario]:
    """Return the conditions of a seed, and their name."""
    draw = random.Random(f"scenario/{seed}")
    kind = KINDS[seed % len(KINDS)]
    args = coordinator_args(mode="infinite" if kind == "infinite" else "finite")
    if kind == "plan":
        args = _on(args, plan=PLAN)
    elif kind == "static":
        args = _on(args, plan=PLAN, planning="static")
    elif kind == "team":
        roles = roles_of({"max_turns": 6, "roles": {"project_manager": {}, "qa_engineer": {}}})
        args = _on(args, roles=RoleTeamTerms.model_validate(dict(roles)))
    limits = {
        "max_concurrent": draw.choice((1, 2, 4)),
        "max_iterations": draw.choice((5, 20, 60)),
        "max_nodes": draw.choice((4, 20, 200)),
        "max_depth": draw.choice((1, 2, 4)),
        "park_after_seconds": draw.choice((0, 3, 20)),
    }
    return kind, Scenario(args, draw.choice((0, 2, 50)), {"run": limits})


def play(seed: int, folder: Path) -> RandomRun:
    """Play the run of a seed in an empty folder."""
    kind, scenario = scenario_of(seed)
    model = RandomModel(seed)
    home = SimulatedHome(
        folder / HOME,
        lambda request: model.answer(_without(folder, request)),
        seed=seed,
        answers=scenario.answers,
        settings=scenario.settings,
        cycles=CYCLES,
    )
    run = home.play(scenario.args, most_seconds=MOST_SECONDS, most_calls=MOST_CALLS)
    return RandomRun(seed, kind, folder, run, tuple(faults_of(run, folder)))


def _without(folder: Path, request: ModelRequest) -> ModelRequest:
    """Return a request in which the folder has its constant name."""
    turns = [
        turn
        if turn.role == "assistant"
        else turn.model_copy(update={"content": turn.content.replace(str(folder), NAMED)})
        for turn in request.turns
    ]
    return request.model_copy(update={"turns": tuple(turns)})


def faults_of(run: SimulatedRun, folder: Path) -> list[str]:
    """Return descriptions of all faults in a run."""
    faults = [f"crashed: {crash}" for crash in run.crashes]
    if not run.has_end:
        faults.append(f"no end after {run.seconds / 3600:.1f} h and {run.calls} calls")
    if others := [entry for entry in os.listdir(folder) if entry != HOME]:
        faults.append(f"written outside of the home: {others}")
    if run.wakes > 20 * run.calls + 100:
        faults.append(f"{run.wakes} wakes for {run.calls} calls")
    run_home = Home(folder / HOME).agent(AGENT).run(RUN)
    if run.board != read_board(run_home.journal):
        faults.append("the board read again is another one")
    return faults + board_faults(run_home)


def play_alone(seed: int) -> RandomRun:
    """Play a seed in a folder of its own, which is removed; in memory where possible."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = Path(tempfile.mkdtemp(prefix="agiraph-random-", dir=place))
    with pytest.MonkeyPatch.context() as patch:
        simulate_machine(patch, seed)
        try:
            return play(seed, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@click.command()
@click.argument("count", type=click.IntRange(1), default=100)
@click.option("--first", type=int, default=0, help="The first seed.")
@click.option("--seed", type=int, help="Play only this seed.")
def main(count: int, first: int, seed: int | None) -> None:
    """Play COUNT random runs and print each fault. Exits 1 if there is any."""
    if seed is not None:
        found = play_alone(seed)
        for line in found.course:
            click.echo(line[:300])
        click.echo(found.summary)
        sys.exit(1 if found.faults else 0)
    began, bad, calls = time.monotonic(), 0, 0
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        for one in processes.map(play_alone, range(first, first + count)):
            calls += one.run.calls
            bad += bool(one.faults)
            if one.faults:
                click.echo(one.summary)
    took = time.monotonic() - began
    click.echo(f"{count} runs, {calls} model calls, {bad} with faults, {took:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
