"""The clock of the machine jumps while a team works: no work times out or is done twice."""

from collections.abc import Iterator
from itertools import accumulate, cycle

import pytest

from tests.fakes.model_server import Reply, Script, SeenRequest
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.steps import (
    DONE,
    FACT,
    ask,
    bash,
    one_worker,
    tell,
)
from tests.scenarios.turned_clock import shift

DAY = 86400.0
JUMPS = (40 * DAY, -80 * DAY, 3600.0, -7200.0, 400 * DAY, -360 * DAY, -1.0, 1.0)


class ShiftedClockHome(LiveHome):
    """A running home in which a test sets the clock of all processes."""

    program = ("tests.scenarios.turned_clock:supervise_shifted",)


def jumps(live_home: LiveHome, script: Script) -> None:
    """Let the model play a script, and set the clock at each of its calls."""
    shifts = accumulate(cycle(JUMPS))

    def responder(seen: SeenRequest) -> Reply:
        shift(live_home.home, next(shifts))
        return script(seen)

    live_home.plays(responder)


@pytest.fixture(scope="module")
def live_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    home = tmp_path_factory.mktemp("home")
    shift(home, 0)
    settings = {"run": {"park_after_seconds": 0.3, "node_timeout_seconds": 600}}
    with running_home(home, ShiftedClockHome, settings) as made:
        yield made


def test_clock_jumps_neither_end_nor_repeat_work(live_home: LiveHome) -> None:
    work = [bash("echo once >> done.txt"), FACT, tell("human", "Soon."), bash("cat done.txt")]
    lead = one_worker("ada")
    jumps(live_home, Script({"coordinator": lead, "ada": [*work, DONE]}))
    outcome = live_home.complete("Find one fact")
    assert outcome.published("ada-facts")["facts.md"] == "one fact"
    results = [result for seen in live_home.server.requests for result in seen.results("bash")]
    assert results[-1].startswith("once\n[exit code 0]")
    assert all(row["restarts"] == 0 for row in live_home.json("ps"))
    assert not outcome.events("model.retried")


def test_question_survives_a_clock_jump_and_its_answer_is_accepted(live_home: LiveHome) -> None:
    steps = [ask("PostgreSQL or SQLite?"), FACT, DONE]
    jumps(live_home, Script({"coordinator": one_worker("ada"), "ada": steps}))
    agent = live_home.begin("asks")
    question = live_home.await_question(agent.name)
    for jump in (400 * DAY, -400 * DAY):
        shift(live_home.home, jump)
        assert live_home.json("questions", agent.name)
    live_home.json("respond", question["id"], "SQLite")
    live_home.await_end(agent)


@pytest.mark.parametrize("jump", [40 * DAY, -40 * DAY])
def test_a_worker_that_died_continues_after_a_jump(live_home: LiveHome, jump: float) -> None:
    def die(seen: SeenRequest) -> Reply:
        shift(live_home.home, jump)
        live_home.kill("ada")
        return FACT

    live_home.plays(coordinator=one_worker("ada"), ada=[bash("true"), die, DONE])
    shift(live_home.home, 0)
    outcome = live_home.complete("Find one fact")
    assert outcome.published("ada-facts")["facts.md"] == "one fact"
    assert not outcome.events("node.failed")
