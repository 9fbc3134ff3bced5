"""Questions answered right where the run is watched."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agiraph.http.api import EventView
from cli.run.screen import TerminalScreen
from cli.run.target import RunTarget
from cli.run.watch import RunWatcher
from tests.unit.cli.fakes import FakeClient, event, question


class Typist(TerminalScreen):
    """A screen on which each question is answered at once."""

    def __init__(self, *answers: str | None) -> None:
        self.out = io.StringIO()
        super().__init__(self.out, is_live=True)
        self.answers = list(answers)

    def typed(self, within_seconds: float = 0) -> str | None:
        if not self.is_prompting or not self.answers:
            return None
        self.end_prompt()
        answer = self.answers.pop(0)
        if answer is None:
            raise EOFError
        return answer


def watch(
    client: FakeClient, screen: TerminalScreen, *steps: EventView | Callable[[], None]
) -> None:
    """Watch a run of these steps until it has ended."""
    client.script += [*steps, client.end("completed"), event("agent.completed")]
    fake: Any = client
    watcher = RunWatcher(RunTarget(Path("."), fake, None, screen), client.record, can_prompt=True)
    assert watcher.until_the_end(time.monotonic(), None)
    assert watcher.agent.status == "completed"


def test_events_after_a_page_without_any_for_the_team_are_shown() -> None:
    client, screen = FakeClient(), Typist()
    late = event("node.created", 1001, name="late", task="x")
    client.log = [*(event("tool.result", number) for number in range(1, 1001)), late]
    fake: Any = client
    watcher = RunWatcher(RunTarget(Path("."), fake, None, screen), client.record, can_prompt=True)
    watcher.catch_up()
    assert "new node late: x" in screen.out.getvalue()


def test_an_answer_typed_at_the_prompt_reaches_the_asker() -> None:
    client = FakeClient()
    watch(client, Typist("SQLite"), client.ask(question()), event("human.question"))
    assert client.did == [("answer", "q-1", "SQLite")]


def test_two_questions_are_asked_one_after_the_other() -> None:
    client = FakeClient()
    both = (client.ask(question("q-1")), client.ask(question("q-2", question="Which colour?")))
    told = (event("human.question"), event("human.response"))
    watch(client, Typist("SQLite", "blue"), *both, *told)
    assert client.did == [("answer", "q-1", "SQLite"), ("answer", "q-2", "blue")]


def test_closed_input_keeps_the_question_open_and_shows_the_answer_command() -> None:
    client, screen = FakeClient(), Typist(None)
    watch(client, screen, client.ask(question()), event("human.question"))
    assert client.did == []
    assert "agiraph respond q-1" in screen.out.getvalue()


def test_question_answered_by_another_channel_ends_the_prompt() -> None:
    client, screen = FakeClient(), Typist()

    def answer_elsewhere() -> None:
        client.answer("q-1", "by phone")

    asked = (client.ask(question()), event("human.question"))
    watch(client, screen, *asked, answer_elsewhere, event("human.response"))
    assert not screen.is_prompting


def test_late_answer_is_reported() -> None:
    client = FakeClient()

    class SlowTypist(Typist):
        def typed(self, within_seconds: float = 0) -> str | None:
            answer = super().typed(within_seconds)
            if answer is not None:
                client.answer("q-1", "by phone")
            return answer

    screen = SlowTypist("late")
    watch(client, screen, client.ask(question()), event("human.question"))
    assert "answered before by anna" in screen.out.getvalue()
