"""Several commands on one home without a daemon: the supervisor ends with the last of them."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.fakes.forked import Forked
from tests.fakes.model_server import Brain, Reply, SeenRequest
from tests.integration.commands import await_nothing_left
from tests.scenarios.house import MODEL, House
from tests.scenarios.steps import finish, held

MakeHouse = Callable[[Brain], House]
WITHIN_SECONDS = 60


class Gates:
    """A model that answers each goal, `first` or `second`, once its gate is open."""

    def __init__(self) -> None:
        self.open = {"first": threading.Event(), "second": threading.Event()}

    def __call__(self, seen: SeenRequest) -> Reply:
        name = self._goal_of(seen)
        return held(finish(f"the {name} is done"), self.open[name])

    def _goal_of(self, seen: SeenRequest) -> str:
        return next(name for name in self.open if f"Do the {name}" in seen.said)


class Two:
    """Two `agiraph run` on one home: the first started the supervisor, the second joined it."""

    def __init__(self, house: House, gates: Gates) -> None:
        self.house = house
        self.gates = gates
        self.begun: list[Forked] = []
        self.supervisor = 0

    def begin(self) -> None:
        """Begin both runs; return when the model is asked for each."""
        self.first = self._begin("first")
        self.supervisor = self.house.process_of("agiraph: supervisor").pid
        self.second = self._begin("second")

    def _begin(self, name: str) -> Forked:
        goal = f"Do the {name}"
        process = self.house.start("run", goal, "--json", "--name", name, *MODEL)
        self.begun.append(process)
        self.house.server.wait_for(lambda seen: goal in seen.said)
        return process

    def finish(self, process: Forked, name: str) -> str:
        """Let the model answer a run; return what its command printed on stderr."""
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
        """The supervisor is the one that the first command started."""
        assert self.house.process_of("agiraph: supervisor").pid == self.supervisor


@contextmanager
def two(house: MakeHouse) -> Iterator[Two]:
    """Keep two runs on one home, which are ended in any case; nothing is left of them."""
    gates = Gates()
    both = Two(house(gates), gates)
    try:
        both.begin()
        yield both
    finally:
        for gate in gates.open.values():
            gate.set()
        for process in both.begun:
            process.kill()
            process.communicate(WITHIN_SECONDS)
        await_nothing_left(both.house.home)


def test_the_first_to_end_leaves_the_supervisor_to_the_second(house: MakeHouse) -> None:
    with two(house) as both:
        said = both.finish(both.first, "first")
        assert "the supervisor continues: another command uses it" in said
        both.assert_same_supervisor()
        both.finish(both.second, "second")


def test_the_second_goes_on_when_the_first_is_killed(house: MakeHouse) -> None:
    with two(house) as both:
        both.first.send_signal(signal.SIGKILL)
        both.first.wait(WITHIN_SECONDS)
        both.finish(both.second, "second")


def test_the_second_goes_on_when_the_first_is_interrupted(house: MakeHouse) -> None:
    with two(house) as both:
        both.first.send_signal(signal.SIGINT)
        _, err = both.first.communicate(WITHIN_SECONDS)
        assert both.first.wait() == 130, err
        both.assert_same_supervisor()
        both.finish(both.second, "second")


def test_one_that_joins_and_leaves_takes_nothing_with_it(house: MakeHouse) -> None:
    with two(house) as both:
        said = both.finish(both.second, "second")
        assert "supervisor continues" not in said
        both.assert_same_supervisor()
        both.finish(both.first, "first")
