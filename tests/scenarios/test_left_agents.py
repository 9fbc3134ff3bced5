"""Agents whose command has ended: they do not continue unseen, and are named and resumed on
request."""

import contextlib
import threading

import pytest

from tests.integration.commands import await_nothing_left
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import MODEL
from tests.scenarios.steps import finish, held
from tests.scenarios.terminal import Terminal, needs_tmux
from tests.scenarios.two_runs import WITHIN_SECONDS, MakeHome, TwoRuns, two_commands


def await_status(runs: TwoRuns, name: str, status: str) -> None:
    until(lambda: runs.status(name) == status, f"the {name} is {status}")


def test_agent_stops_with_its_command_while_others_use_the_supervisor(
    make_home: MakeHome,
) -> None:
    with two_commands(make_home) as runs:
        runs.begin_second()
        runs.kill_first()
        await_status(runs, "first", "stopped")
        runs.json("resume", "first")
        runs.await_asked("first", times=2)
        runs.gates.open["first"].set()
        await_status(runs, "first", "completed")
        runs.finish(runs.second, "second")


def test_later_run_names_unfinished_agents_and_resumes_them_on_request(
    make_home: MakeHome,
) -> None:
    with two_commands(make_home) as runs:
        runs.kill_first()
        await_nothing_left(runs.make_home.home)
        runs.begin_second()
        assert runs.status("first") == "stopped"
        said = runs.finish(runs.second, "second")
        assert "unfinished: first (spent " in said
        assert "ago): agiraph run --resume --agent first\n" in said
        assert runs.asked("first") == 1
        runs.gates.open["second"].clear()
        third = runs.start("run", "Do the second", "--json", "--resume", *MODEL)
        runs.await_asked("first", times=2)
        runs.await_asked("second", times=2)
        third.kill()
        await_nothing_left(runs.make_home.home)
        fourth = runs.start("run", "--resume", "--agent", "first", "--json")
        runs.await_asked("first", times=3)
        assert "unfinished: second-2 " in runs.finish(fourth, "first")


def test_detached_agent_continues_in_a_later_run_that_names_it(make_home: MakeHome) -> None:
    with two_commands(make_home) as runs:
        detached = ("run", "Do the second", "--name", "apart", "--detach", *MODEL)
        runs.start(*detached).communicate(WITHIN_SECONDS)
        runs.await_asked("second")
        runs.gates.open["first"].set()
        said = runs.finish(runs.first, "first")
        assert "unfinished" not in said
        await_nothing_left(runs.make_home.home)
        third = runs.start("run", "Do the first", "--json", *MODEL)
        said = third.communicate(WITHIN_SECONDS)[1]
        assert "also at work in this home: apart" in said


@needs_tmux
@pytest.mark.parametrize(
    ("answer", "expected", "status"),
    [(("d", "Enter"), "agiraph attach", "working"), (("C-c",), "stopping the team", "stopped")],
)
def test_ctrl_c_on_a_standing_supervisor_asks_whether_to_detach(
    live_home: LiveHome,
    tmp_path_factory: pytest.TempPathFactory,
    answer: tuple[str, ...],
    expected: str,
    status: str,
) -> None:
    gate, name = threading.Event(), f"interrupted-{status}"
    live_home.plays(lambda seen: held(finish("the end"), gate))
    command = ("run", "Do it", "--name", name, *MODEL)
    live_home.begun.append(name)
    socket = tmp_path_factory.mktemp("t") / "s"
    with contextlib.closing(Terminal(socket, live_home.environ, *command)) as screen:
        live_home.server.wait_for(lambda seen: "Do it" in seen.said)
        screen.await_screen("model openai/fake")
        screen.keys("C-c")
        screen.await_screen("detach (the team continues) or stop it?")
        screen.keys(*answer)
        screen.await_screen(expected, "[left with 130]")
    assert live_home.json("show", name)["status"] == status
    gate.set()
