"""Each command of `--help`, typed at terminals of 80x24 and 160x50, in homes of every kind.

Fresh, with hundreds of agents, without running processes, and with two people at once: no line
wraps or is torn apart, no traceback or raw data is shown, and each command ends with its documented
code. On the wide terminal every line is typed once, in the home where all have an answer; commands
that need neither a home nor a supervisor are typed without both and with both.
"""

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier

import pytest

from cli.main import agiraph
from tests.fakes.many_agents import multiplied
from tests.fakes.model_server import Reply, SeenRequest, say
from tests.fakes.terminal_session import SMALL, WIDE, Size, TerminalSession
from tests.scenarios.command_scenarios import (
    PLAYS,
    CommandScenario,
    commands_in,
    does_something,
    faults_of,
    path_of,
)
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import ROOT
from tests.scenarios.steps import DONE, FACT, Plays, ask, finish, one_worker
from tests.scenarios.terminal import Terminal, needs_tmux

AGENTS = 200
BARRIER_SECONDS = 90
PEOPLE: Mapping[str, Size] = {"ann": SMALL, "bob": WIDE}
SETTINGS = {"run": {"park_after_seconds": 0.2}}
NAMES = {"done": "done", "node": "ada-facts", "asks": "asks", "question": "q-3fa9c1d0"}
Codes = Callable[[CommandScenario], tuple[int, ...]]


def responder(seen: SeenRequest) -> Reply:
    """Play a team that does one node, a coordinator that asks, and one that has nothing to do."""
    steps: Plays = [finish("Nothing to do.")]
    if seen.is_for("ada"):
        steps = [FACT, DONE]
    elif "Ask me" in seen.said:
        steps = [ask("Which colour shall the door have?", options=["green", "blue"]), finish()]
    elif "Do a node" in seen.said:
        steps = [*one_worker("ada")[:-1], finish("One fact is in facts.md.")]
    step = steps[seen.step] if seen.step < len(steps) else say("Heard.")
    return step(seen) if callable(step) else step


@dataclass(frozen=True)
class CrowdedHome:
    """A home of hundreds of agents, and the values of the names in plays."""

    home: Path
    names: Mapping[str, str]


@pytest.fixture(scope="module")
def crowded_home() -> Iterator[CrowdedHome]:
    """Yield a home of hundreds of agents without running processes; one waits for an answer."""
    with tempfile.TemporaryDirectory(prefix="full") as folder:
        home = Path(folder).resolve()
        with running_home(home, settings=SETTINGS) as live_home:
            live_home.plays(responder)
            done = live_home.complete("Do a node", "--name", "done")
            asks = live_home.begin("asks", goal="Ask me")
            question = live_home.await_question(asks.name)["id"]
        multiplied(home, done.agent.name, AGENTS)
        yield CrowdedHome(home, {**NAMES, "question": question})


@pytest.fixture(scope="module")
def running(crowded_home: CrowdedHome) -> Iterator[LiveHome]:
    """Yield the same home with its supervisor, which runs from then on."""
    with running_home(crowded_home.home) as live_home:
        live_home.plays(responder)
        yield live_home


@pytest.fixture(scope="module")
def terminals() -> Iterator[Mapping[str, TerminalSession]]:
    """Yield the terminals of the people, which last for the module, with no key."""
    bare = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PAGER": "cat"}
    with ExitStack() as stack:
        yield {
            person: stack.enter_context(closing(TerminalSession(ROOT, bare, size)))
            for person, size in PEOPLE.items()
        }


@pytest.fixture
def ann(terminals: Mapping[str, TerminalSession]) -> Mapping[str, TerminalSession]:
    """Return the small terminal only."""
    return {"ann": terminals["ann"]}


def at_once(
    terminals: Mapping[str, TerminalSession],
    environ: Mapping[str, str],
    names: Mapping[str, str],
    codes: Codes,
) -> None:
    """Let all people at the terminals type every play at the same moments."""
    together = Barrier(len(terminals))

    def play_all(person: str) -> list[str]:
        about = {**names, "me": person, "mine": f"old-00{1 + [*PEOPLE].index(person)}"}
        found: list[str] = []
        session = terminals[person]
        variables = (f"{name}={shlex.quote(value)}" for name, value in environ.items())
        session.do(f"export {' '.join(variables)}")
        for play in filter(codes, PLAYS):
            together.wait(BARRIER_SECONDS)
            found += faults(session, play, about, codes)
        return found

    with ThreadPoolExecutor(len(terminals)) as pool:
        found = [fault for one in pool.map(play_all, terminals) for fault in one]
    assert not found, "\n".join(found)


def faults(
    session: TerminalSession, play: CommandScenario, names: Mapping[str, str], codes: Codes
) -> list[str]:
    """Type one play; return the faults in its output."""
    line = play.line.format_map(names)
    shown = session.do(line, play.typing, play.asked)
    found = faults_of(play, shown)
    if shown.code not in codes(play):
        found.append(f"exit code {shown.code}, not {codes(play)}: {shown.text}")
    return [f"$ {line} [at {session.size[0]} columns]\n    {fault}" for fault in found]


def of(home: Path) -> dict[str, str]:
    """Return the variables of a user of a home."""
    return {"HOME": str(home), "AGIRAPH_HOME": str(home)}


def test_each_command_has_a_scenario() -> None:
    played = {path_of(play) for play in PLAYS}
    named = [path for path, command in commands_in(agiraph) if does_something(command)]
    without = [" ".join(path) for path in named if not any(p[: len(path)] == path for p in played)]
    assert not without, f"a line for each in tests/scenarios/command_scenarios.py: {without}"


def test_each_command_works_in_a_fresh_home(
    ann: Mapping[str, TerminalSession], tmp_path: Path
) -> None:
    at_once(ann, of(tmp_path), NAMES, CommandScenario.codes_in_fresh_home)


def test_each_command_works_without_a_supervisor(
    ann: Mapping[str, TerminalSession], crowded_home: CrowdedHome
) -> None:
    def codes(play: CommandScenario) -> tuple[int, ...]:
        return () if play.needs == "nothing" else play.codes_without_supervisor()

    at_once(ann, of(crowded_home.home), crowded_home.names, codes)


@pytest.mark.machines
def test_each_command_works_for_two_people_among_hundreds_of_agents(
    terminals: Mapping[str, TerminalSession], crowded_home: CrowdedHome, running: LiveHome
) -> None:
    environ = {**running.server.env("openai"), **of(crowded_home.home)}
    at_once(terminals, environ, crowded_home.names, lambda play: play.codes)


@needs_tmux
@pytest.mark.parametrize("size", PEOPLE.values(), ids=PEOPLE)
@pytest.mark.parametrize(
    ("command", "shows", "leave"),
    [("console done", ("done", "● live"), "C-q"), ("top", ("supervisor",), "q")],
    ids=["console", "top"],
)
def test_each_full_screen_fits_the_terminal(
    running: LiveHome, tmp_path: Path, command: str, shows: tuple[str, ...], leave: str, size: Size
) -> None:
    terminal = Terminal(tmp_path / "s", running.environ, *command.split(), size=size)
    with closing(terminal):
        screen = terminal.await_screen(*shows)
        assert all(len(line) <= size[0] for line in screen.splitlines())
        terminal.keys(leave)
        terminal.await_screen("[left with 0]")
        assert "Traceback" not in terminal.screen()
