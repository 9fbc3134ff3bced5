"""Questions answered right where the run is watched."""

import io
import time
from pathlib import Path
from typing import Any

import pytest

from cli.run_target import RunTarget
from cli.screen import TerminalScreen
from cli.watch import RunWatcher
from tests.unit.cli.fakes import FakeClient, event, question


class Typist(TerminalScreen):
    """A screen on which answers are typed as soon as they are asked for."""

    def __init__(self, *answers: str | None) -> None:
        self.out = io.StringIO()
        super().__init__(self.out, is_live=True)
        self.answers = list(answers)

    def typed(self) -> str | None:
        if not self.is_prompting or not self.answers:
            return None
        self.end_prompt()
        answer = self.answers.pop(0)
        if answer is None:
            raise EOFError
        return answer


def watch(client: FakeClient, screen: TerminalScreen) -> RunWatcher:
    """Watch until the run has ended."""
    fake: Any = client
    watcher = RunWatcher(RunTarget(Path("."), fake, None, screen), client.record, can_prompt=True)
    assert watcher.until_the_end(time.monotonic(), None)
    return watcher


def test_an_answer_typed_at_the_prompt_reaches_the_asker() -> None:
    client = FakeClient()
    client.script += [
        client.ask(question()),
        event("human.question"),
        client.end("completed"),
        event("agent.completed"),
    ]
    assert watch(client, Typist("SQLite")).agent.status == "completed"
    assert client.did == [("answer", "q-1", "SQLite")]


def test_two_questions_are_asked_one_after_the_other() -> None:
    client = FakeClient()
    client.script += [
        client.ask(question("q-1")),
        client.ask(question("q-2", question="Which colour?")),
        event("human.question"),
        event("human.response"),
        client.end("completed"),
        event("agent.completed"),
    ]
    watch(client, Typist("SQLite", "blue"))
    assert client.did == [("answer", "q-1", "SQLite"), ("answer", "q-2", "blue")]


def test_a_closed_input_leaves_the_question_open_and_says_how_to_answer() -> None:
    client = FakeClient()
    client.script += [
        client.ask(question()),
        event("human.question"),
        client.end("completed"),
        event("agent.completed"),
    ]
    screen = Typist(None)
    watch(client, screen)
    assert client.did == []
    assert "agiraph respond q-1" in screen.out.getvalue()


def test_a_question_answered_elsewhere_takes_the_prompt_away() -> None:
    client = FakeClient()

    def answer_elsewhere() -> None:
        client.answer("q-1", "by phone")

    client.script += [
        client.ask(question()),
        event("human.question"),
        answer_elsewhere,
        event("human.response"),
        client.end("completed"),
        event("agent.completed"),
    ]
    screen = Typist()
    watch(client, screen)
    assert not screen.is_prompting


def test_an_answer_that_comes_too_late_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient()

    def answer_first() -> None:
        client.answer("q-1", "by phone")

    class Slow(Typist):
        def typed(self) -> str | None:
            answer = super().typed()
            if answer is not None:
                answer_first()
            return answer

    client.script += [
        client.ask(question()),
        event("human.question"),
        client.end("completed"),
        event("agent.completed"),
    ]
    screen = Slow("late")
    watch(client, screen)
    assert "answered before by anna" in screen.out.getvalue()
