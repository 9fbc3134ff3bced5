"""The console on a real terminal, with a real team: its display, input, answers, and kills."""

import re
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import pytest

from cli.output.formats import format_short_count
from tests.fakes.model_server import Reply, SeenRequest
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import MODEL
from tests.scenarios.steps import (
    WAIT,
    ask,
    bash,
    finish,
    held,
    node,
    one_worker,
    publish,
    spawn,
    write,
)
from tests.scenarios.terminal import Terminal, Terminals, needs_tmux

NO_MORE: Final[Mapping[str, str]] = MappingProxyType({})
DONE = publish("done")
FACT = write("fact.md", "a fact")

pytestmark = needs_tmux


@pytest.fixture
def live_home(killable_home: LiveHome) -> LiveHome:
    """Return the running home whose services may be killed."""
    return killable_home


@pytest.fixture
def terminal(live_home: LiveHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminals]:
    """Return a function that creates terminals, which are closed after the test."""
    made: list[Terminal] = []

    def make(*args: str, environ: Mapping[str, str] = NO_MORE, **options: Any) -> Terminal:
        socket = tmp_path_factory.mktemp("t") / "s"
        made.append(Terminal(socket, {**live_home.environ, **environ}, *args, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_question_is_answered_with_one_key_on_a_small_screen(
    live_home: LiveHome, terminal: Terminals
) -> None:
    asks = ask("Which database?", options=["PostgreSQL", "SQLite"])
    live_home.plays(coordinator=one_worker("ada"), ada=[asks, FACT, DONE])
    agent = live_home.begin("asker")
    screen = terminal("console", "asker", is_program=True)
    shown = screen.await_screen("ada asks: Which database?", "1  PostgreSQL", "● live")
    assert all(len(line) <= 80 for line in shown.splitlines())
    screen.keys("2")
    assert "SQLite" in live_home.await_step("ada", 1).result("ask_human")
    screen.await_screen("completed", without="1  PostgreSQL")
    live_home.await_end(agent)
    screen.keys("C-q")
    screen.await_screen("[left with 0]")


def test_worker_is_messaged_and_its_answer_streamed(
    live_home: LiveHome, terminal: Terminals
) -> None:
    gate, heard = threading.Event(), threading.Event()
    long = Reply(text="Once upon a time there was a table.", text_gate=gate)

    def bea(seen: SeenRequest) -> Reply:
        if "only tables" in seen.said:
            heard.set()
            return long if not gate.is_set() else DONE
        return bash(f"echo {seen.step} > fact.md; sleep 1")

    live_home.plays(coordinator=one_worker("bea"), bea=[bea] * 60)
    agent = live_home.begin("listener")
    wide = terminal("console", "listener", size=(120, 40))
    wide.await_screen("● live", "● bea")
    wide.keys("C-n")
    wide.await_screen("▶ ● bea", "▸ bea bash")
    wide.type("@bea only tables, please")
    wide.await_screen("you → bea", "only tables, please")
    assert heard.wait(30)
    wide.await_screen("bea  is writing…", "Once upon")
    wide.type("/board")
    wide.await_screen("STATUS", "bea-facts")
    wide.keys("Escape")
    gate.set()
    wide.await_screen("completed")
    live_home.await_end(agent)
    wide.type("/quit")
    wide.await_screen("[left with 0]")


def test_console_continues_after_kills_of_gateway_and_router(
    live_home: LiveHome, terminal: Terminals
) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("cleo"), cleo=[held(FACT, gate), FACT, DONE])
    agent = live_home.begin("lasting")
    live_home.await_step("cleo", 0)
    one, two = (
        terminal("console", "lasting"),
        terminal("console", "lasting", environ={"NO_COLOR": "1"}),
    )
    for screen in (one, two):
        screen.await_screen("● live", "coordinator>")
    live_home.kill("agiraph: human")
    one.type("@cleo first word")
    live_home.kill("agiraph: router")
    one.type("@cleo second word")
    for screen in (one, two):
        screen.await_screen("● live", "first word", "second word")
    gate.set()
    seen = live_home.await_step("cleo", 1)
    assert seen.said.count("first word") == 1
    assert seen.said.count("second word") == 1
    for screen in (one, two):
        shown = screen.await_screen("completed", "second word")
        assert shown.count("second word") == 1
    assert not set(re.findall(r"\x1b\[[34]8;", two.raw()))
    live_home.await_end(agent)
    one.keys("C-q")
    one.await_screen("[left with 0]")


def test_the_console_finds_its_place_again_after_the_supervisor_was_killed(
    live_home: LiveHome, terminal: Terminals
) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("dora"), dora=[held(FACT, gate), DONE, DONE])
    agent = live_home.begin("phoenix")
    live_home.await_step("dora", 0)
    screen = terminal("console", "phoenix")
    screen.await_screen("● live")
    live_home.restart_supervisor()
    screen.await_screen("reconnecting")
    screen.type("@dora still there?")
    screen.await_screen("● live", "still there?")
    gate.set()
    screen.await_screen("completed")
    live_home.await_end(agent)
    seen = [
        request for request in live_home.server.seen_by("dora") if "still there?" in request.said
    ]
    assert all(request.said.count("still there?") == 1 for request in seen)
    screen.keys("C-c", "C-c")
    screen.await_screen("[left with 0]")


def test_workers_and_spending_stay_when_the_run_has_ended(
    live_home: LiveHome, terminal: Terminals
) -> None:
    live_home.plays(coordinator=one_worker("ada"), ada=[FACT, DONE])
    agent = live_home.begin("spent")
    live_home.await_end(agent)
    until(lambda: len(live_home.states(agent.name)) == 1, "the worker's process is gone")
    tokens = f"{format_short_count(live_home.json('show', 'spent')['tokens'])} tokens"
    screen = terminal("console", "spent", size=(160, 50))
    screen.await_screen("▾ 1 finished", "■ ada", tokens, "● live")
    screen.keys("C-p", "C-p")
    screen.await_screen("▶ ■ ada", "▸ ada write_file")
    screen.resize(80, 24)
    shown = screen.await_screen("▸ ada write_file", tokens, without="▾ 1 finished")
    assert all(len(line) <= 80 for line in shown.splitlines())
    screen.keys("F2")
    screen.await_screen("▾ 1 finished", "■ ada")
    terminal("top", "spent").await_screen("spent", tokens)


def test_events_and_progress_of_a_run_are_one_terminal_line_each(
    live_home: LiveHome, terminal: Terminals
) -> None:
    gate = threading.Event()
    plan = [spawn("ada"), node("facts", "ada", task="図表" * 60), WAIT, finish("図表")]
    live_home.plays(coordinator=plan, ada=[held(FACT, gate), DONE])
    screen = terminal("run", "図表" * 40, *MODEL, "--name", "wide")
    first = screen.await_screen("0 of 1 nodes · ada: facts")
    until(lambda: screen.screen() != first, "the time passes")
    for shown in (first, screen.screen()):
        assert shown.count(" tokens · ") == 1
        [new] = [line for line in shown.splitlines() if "図表図表" in line and "new node" in line]
        assert new.endswith("…")
        assert not [line for line in shown.splitlines() if line.startswith("図表")]
    gate.set()
    screen.await_screen("completed · ", "[left with 0]")
    live_home.stop("wide")


def test_top_view_pauses_kills_and_opens_entities(live_home: LiveHome, terminal: Terminals) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("eve"), eve=[held(FACT, gate), DONE, DONE])
    agent = live_home.begin("topped")
    live_home.await_step("eve", 0)
    screen = terminal("top", "topped", "--sort", "entity", "--every", "0.2")
    shown = screen.await_screen("topped/eve", "waits for", "TOKENS")
    assert all(len(line) <= 80 for line in shown.splitlines())
    screen.keys("Down", "k")
    screen.await_screen("Kill the process of topped/eve")
    screen.keys("y")
    screen.await_screen("topped/eve:")
    screen.keys("Enter")
    screen.await_screen("eve>", "● live")
    screen.keys("C-q")
    screen.await_screen("topped/eve", "agiraph top")
    gate.set()
    live_home.await_end(agent)
    screen.keys("q")
    screen.await_screen("[left with 0]")
