"""RandomModelRun: a team whose model calls tools at random, also while its processes are killed.

Whatever the model does, the run must end, and its board must be consistent. Questions to the person
expire after a second, so that the run continues without an answer; questions for which the model
sets a later deadline are answered.
"""

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agiraph.board.store import read_board
from agiraph.core.models import ENDED_AGENT
from agiraph.http.api import ApiError, NotReachable
from agiraph.http.client import Client
from agiraph.http.own_supervisor import OwnSupervisor
from agiraph.logs.logbook import LogQuery, logs_of, read_past
from agiraph.storage.home import Home, RunHome
from agiraph.storage.journal import read_journal
from cli.chaos.chaos_run import (
    STOP_WITHIN_SECONDS,
    ChaosRun,
    Report,
    create,
    new_supervisor,
    run_of,
    status_of,
)
from cli.chaos.schedule import strikes

GOAL = "Work at random"
ANSWER = "yes"
ANSWERED_AFTER_SECONDS = 5.0
SETTINGS = """\
run: {park_after_seconds: 1, max_iterations: 30, coordinator_iterations: 100}
questions: {deadline_seconds: 1}
sandbox: {network: false}
web: {timeout_seconds: 2}
"""


@dataclass(slots=True)
class RandomModelReport:
    """The outcome of a run of a random model. `faults` is empty if the run was correct."""

    seed: int
    strikes: Counter[str] = field(default_factory=Counter)
    status: str = ""
    seconds: float = 0.0
    nodes: int = 0
    faults: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, object]:
        """The report as one JSON object."""
        return {
            "strikes": dict(sorted(self.strikes.items())),
            "seed": self.seed,
            "status": self.status,
            "seconds": round(self.seconds, 1),
            "nodes": self.nodes,
            "faults": list(self.faults),
            "verdict": "bad" if self.faults else "good",
        }


class RandomModelRun(ChaosRun):
    """One run of `script/random-SEED` in a new home, with `count` faults of the seed's schedule."""

    def __init__(self, folder: Path, seed: int, noise: float, report: Report) -> None:
        super().__init__(folder, strikes(seed), noise=noise, report=report)
        self._seed = seed
        self._looked_at = 0.0

    def play(self, count: int) -> RandomModelReport:
        """Play the run to its end and return a report. Raises Unavailable."""
        supervisor = new_supervisor(self._storm_home, self._noise, SETTINGS)
        supervisor.start()
        began = time.monotonic()
        try:
            agent = create(supervisor.home, GOAL, f"script/random-{self._seed}")
            self._disturb(supervisor, agent, count)
            self._finish(supervisor, agent)
            return self._judged(supervisor, agent, time.monotonic() - began)
        finally:
            supervisor.stop(STOP_WITHIN_SECONDS)

    def _tend(self) -> None:
        """Answer the questions that are open longer than the settings allow."""
        now = time.time()
        since = now - ANSWERED_AFTER_SECONDS
        if self._looked_at > since:
            return  # this is called many times a second
        self._looked_at = now
        with suppress(NotReachable, ApiError), Client.for_home(self._storm_home) as client:
            for question in client.questions(status="open"):
                if question.asked_at < since:
                    options = question.options
                    client.answer(question.id, options[0] if options else ANSWER)

    def _await_ticks(self, home: Path, agent: str) -> None:
        """Do not wait: triggers that a random model sets may never fire."""

    def _judged(self, supervisor: OwnSupervisor, agent: str, seconds: float) -> RandomModelReport:
        run, status = run_of(supervisor.home, agent), status_of(supervisor.home, agent)
        faults = [] if status in ENDED_AGENT else [f"no end after {seconds:.0f} s"]
        faults += [*crashes_in(Home(supervisor.home)), *board_faults(run)]
        return RandomModelReport(
            seed=self._seed,
            strikes=self.report.strikes,
            status=status,
            seconds=seconds,
            nodes=len(read_board(run.journal).nodes),
            faults=tuple(faults),
        )


def crashes_in(home: Home) -> list[str]:
    """Return the errors by which processes of a home ended, from their logs."""
    lines = read_past(logs_of(home.system.logs, None), LogQuery("", "error"))
    return [
        f"{one.get('entity')} crashed: {str(one.get('exception', ''))[-500:]}"
        for one in lines
        if one.get("event") == "crashed"
    ]


def board_faults(run: RunHome) -> list[str]:
    """Return the inconsistencies in the board of a run, as text."""
    board = read_board(run.journal)
    ended = Counter(
        record["node_id"]
        for record in read_journal(run.journal)
        if record["type"] == "node.completed"
    )
    attempts = {node.id: node.attempt + 1 for node in board.nodes.values()}
    faults = [
        f"node {node} was completed {count} times in {attempts[node]} attempts"
        for node, count in ended.items()
        if count > attempts[node]
    ]
    if not board.is_running:
        left = [node.name for node in board.nodes.values() if not node.has_ended]
        faults += [f"open nodes of an ended run: {', '.join(left)}"] if left else []
    return faults
