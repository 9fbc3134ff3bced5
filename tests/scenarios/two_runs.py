"""Two `agiraph run` on one home without a daemon, each with a model that waits for its gate."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.forked_command import ForkedCommand
from tests.fakes.front_door import run_here
from tests.fakes.model_server import Reply, Responder, SeenRequest
from tests.integration.commands import await_nothing_left
from tests.integration.waiting import until
from tests.scenarios.scenario_home import MODEL, ScenarioHome
from tests.scenarios.steps import finish, held

MakeHome = Callable[[Responder], ScenarioHome]
WITHIN_SECONDS = 60


class GatedModel:
    """A model that answers each goal, `first` or `second`, once its gate is open."""

    def __init__(self) -> None:
        self.open = {"first": threading.Event(), "second": threading.Event()}

    def __call__(self, seen: SeenRequest) -> Reply:
        name = self._goal_of(seen)
        return held(finish(f"the {name} is done"), self.open[name])

    def _goal_of(self, seen: SeenRequest) -> str:
        return next(name for name in self.open if f"Do the {name}" in seen.said)


class TwoRuns:
    """Two `agiraph run` on one home: the first started the supervisor, the second joined it."""

    def __init__(self, make_home: ScenarioHome, gates: GatedModel) -> None:
        self.make_home = make_home
        self.gates = gates
        self.begun: list[ForkedCommand] = []
        self.supervisor = 0

    def begin_first(self) -> None:
        """Start the first run; return when the model receives its request."""
        self.first = self.start_run("first")
        self.await_asked("first")
        self.supervisor = self.make_home.process_of("agiraph: supervisor").pid

    def begin_second(self) -> None:
        """Start the second run, like the first."""
        self.second = self.start_run("second")
        self.await_asked("second")

    def start_run(self, name: str, *args: str) -> ForkedCommand:
        """Start a run."""
        return self.start("run", f"Do the {name}", "--json", "--name", name, *MODEL, *args)

    def start(self, *args: str) -> ForkedCommand:
        """Start a command, which is ended in any case."""
        process = self.make_home.start(*args)
        self.begun.append(process)
        return process

    def await_asked(self, name: str, times: int = 1) -> None:
        """Wait until the model has received this number of requests for a goal."""
        until(lambda: self.asked(name) == times, f"the model asked for the {name}")

    def asked(self, name: str) -> int:
        """Return the number of requests to the model for a goal."""
        return sum(f"Do the {name}" in seen.said for seen in list(self.make_home.server.requests))

    def kill_first(self) -> None:
        """kill -9 the first command."""
        self.first.send_signal(signal.SIGKILL)
        self.first.wait(WITHIN_SECONDS)

    def json(self, *args: str) -> Any:
        """Return the output of a read-only command with --json."""
        done = run_here((*args, "--json"), cwd=self.make_home.home, environ=self.make_home.environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def status(self, name: str) -> str:
        """Return the status of an agent."""
        return str(self.json("show", name)["status"])

    def finish(self, process: ForkedCommand, name: str) -> str:
        """Let the model answer a run; return the output of its command on stderr."""
        self.gates.open[name].set()
        out, err = process.communicate(WITHIN_SECONDS)
        assert process.wait() == 0, err
        outcome = json.loads(out)
        assert (outcome["status"], outcome["result"].strip()) == (
            "completed",
            f"the {name} is done",
        )
        return err

    def assert_same_supervisor(self) -> None:
        """Assert that the first command's supervisor still runs."""
        assert self.make_home.process_of("agiraph: supervisor").pid == self.supervisor


@contextmanager
def two_commands(make_home: MakeHome) -> Iterator[TwoRuns]:
    """Keep two runs on one home, of which the first has begun; both are ended in any case.

    Checks that no process of them is left.
    """
    gates = GatedModel()
    both = TwoRuns(make_home(gates), gates)
    try:
        both.begin_first()
        yield both
    finally:
        for gate in gates.open.values():
            gate.set()
        for process in both.begun:
            process.kill()
            process.communicate(WITHIN_SECONDS)
        await_nothing_left(both.make_home.home)
