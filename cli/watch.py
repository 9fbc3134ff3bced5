"""Watching one run from its start to its end: events shown, questions answered, the end seen."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from agiraph.core.ids import abbreviated
from agiraph.core.models import Event
from agiraph.http.api import AgentView, ApiError, NotReachable, QuestionView
from agiraph.storage.disk_space import has_room
from cli.progress import RunProgress
from cli.screen import TerminalScreen

if TYPE_CHECKING:
    from agiraph.http.client import Client
    from agiraph.http.event_follower import EventFollower

ENDED: Final = frozenset({"completed", "failed", "stopped"})
LOOK_EVERY_SECONDS: Final = 1.0
TURN_SECONDS: Final = 0.2
RECORD_WITHIN_SECONDS: Final = 3.0
LAST_EVENTS: Final = 1000
ABSENCE_SECONDS: Final = 60.0

Bell = Callable[[], None]


@dataclass(frozen=True, slots=True)
class WatchResult:
    """How a watch ended: the run's own end, or our patience."""

    how: Literal["ended", "timed_out"]
    agent: AgentView


class RunWatcher:
    """Watches one agent. `reconnect` makes a new client when the gateway has moved."""

    def __init__(
        self,
        client: "Client",
        reconnect: "Callable[[], Client]",
        agent: AgentView,
        screen: TerminalScreen,
        *,
        can_prompt: bool,
        answer_command: str,
        still_possible: Bell,
        home: Path,
    ) -> None:
        """Watch `agent`; `still_possible` raises when there is nothing left to wait for."""
        self.client = client
        self.agent = agent
        self._run = agent.run
        self.progress = RunProgress()
        self._reconnect = reconnect
        self._screen = screen
        self._can_prompt = can_prompt
        self._answer_command = answer_command
        self._still_possible = still_possible
        self._home = home
        self._is_full = False
        self._questions: dict[str, QuestionView] = {}
        self._shown: set[str] = set()
        self._asked: str | None = None
        self._looked_at = float("-inf")
        self._absent_since: float | None = None
        self._told_at: float | None = None

    def until_the_end(self, started_at: float, timeout_seconds: float | None) -> WatchResult:
        """Watch until the run has ended or `timeout_seconds` after `started_at` (monotonic)."""
        after = self.agent.last_event
        with self.client.follow_events(self.agent.id, after=after) as follower:
            while True:
                event = follower.next(TURN_SECONDS)
                if event is not None and not self._is_of_another_run(event):
                    self._show(event)
                if self._has_ended(event):
                    self._show_the_last(follower)
                    return WatchResult("ended", self.agent)
                elapsed = time.monotonic() - started_at
                if timeout_seconds is not None and elapsed >= timeout_seconds:
                    return WatchResult("timed_out", self.agent)
                self._take_answer()
                self._screen.status(self.progress.status(elapsed))

    def _is_of_another_run(self, event: Event) -> bool:
        return event.run_id not in (None, self._run)

    def _show(self, event: Event) -> None:
        line = self.progress.see(event)
        if line is not None:
            self._screen.line(line)

    def _show_the_last(self, follower: "EventFollower") -> None:
        """Show what was already on its way when the run ended."""
        for _ in range(LAST_EVENTS):
            event = follower.next(TURN_SECONDS)
            if event is None:
                return
            if not self._is_of_another_run(event):
                self._show(event)

    def _has_ended(self, event: Event | None) -> bool:
        """Ask how the agent stands: when an event rings for it, and every second."""
        now = time.monotonic()
        rings = event is not None and event.type.startswith(("agent.", "run.", "human."))
        if not rings and now - self._looked_at < LOOK_EVERY_SECONDS:
            return False
        self._looked_at = now
        self._look_at_the_disk()
        try:
            self._look()
            self._absent_since = None
        except NotReachable:
            self._bear_absence(now)
        if self.agent.status not in ENDED:
            self._believe_the_event(now)
        return self.agent.status in ENDED

    def _look_at_the_disk(self) -> None:
        """Say that the team stands still because its disk is full, and that it goes on."""
        is_full = not has_room(self._home)
        if is_full and not self._is_full:
            self._screen.note(
                f"the disk of {self._home} is full: the team waits until there is room", "bad"
            )
        elif self._is_full and not is_full:
            self._screen.note("there is room on the disk again: the team goes on")
        self._is_full = is_full

    def _believe_the_event(self, now: float) -> None:
        """Take the status from the event that told the end, if the record stays behind.

        A coordinator that was given up cannot write its record any more.
        """
        ended_as = self.progress.ended_as
        if ended_as is None:
            return
        self._told_at = now if self._told_at is None else self._told_at
        if now - self._told_at >= RECORD_WITHIN_SECONDS:
            self.agent = self.agent.model_copy(update={"status": ended_as})

    def _look(self) -> None:
        agent = self.client.agent(self.agent.id)
        self.agent = agent if agent.run == self._run else self._as_it_ended(agent)
        if self.agent.open_questions or self._questions:
            mine = [q for q in self.client.questions(status="open") if q.agent == self.agent.id]
            self._questions = {question.id: question for question in mine}
            self._show_questions()

    def _as_it_ended(self, agent: AgentView) -> AgentView:
        """Return the agent as it stood at the end of our run: it is in another one by now."""
        ours = next(run for run in self.client.runs(agent.id) if run.id == self._run)
        ended = {"run": ours.id, "status": ours.status, "result": ours.result}
        return agent.model_copy(update=ended | {"reason": ours.reason})

    def _bear_absence(self, now: float) -> None:
        """Wait for a gateway that restarts, at its new address, but not for ever."""
        self._still_possible()
        self._absent_since = now if self._absent_since is None else self._absent_since
        if now - self._absent_since > ABSENCE_SECONDS:
            raise NotReachable(f"the gateway has been away for {ABSENCE_SECONDS:.0f} seconds")
        try:
            client = self._reconnect()
        except NotReachable:
            return
        self.client.close()
        self.client = client

    # --- questions ---

    def _show_questions(self) -> None:
        if self._asked is not None and self._asked not in self._questions:
            self._asked = None
            self._screen.end_prompt()
        for question in self._questions.values():
            if question.id in self._shown:
                continue
            if self._can_prompt and self._asked is not None:
                return
            self._shown.add(question.id)
            self._show_question(question)

    def _show_question(self, question: QuestionView) -> None:
        self._screen.note(f"\n{question.sender} asks: {question.question}", "ask")
        for number, option in enumerate(question.options, start=1):
            self._screen.note(f"  {number}: {option}", "ask")
        if self._can_prompt:
            self._asked = question.id
            self._screen.prompt("your answer> ")
        else:
            self._screen.note(
                f"answer with: {self._answer_command.format(question=abbreviated(question.id))}"
            )

    def _meant(self, question: str, typed: str) -> str:
        found = self._questions.get(question)
        return ready_answer(found.options if found is not None else (), typed)

    def _take_answer(self) -> None:
        if self._asked is None:
            return
        question = self._asked
        try:
            answer = self._screen.typed()
        except EOFError:
            self._asked, self._can_prompt = None, False
            command = self._answer_command.format(question=question)
            self._screen.note(f"not answered; later with: {command}")
            return
        if answer is None:
            return
        self._asked = None
        try:
            self.client.answer(question, self._meant(question, answer))
            self._questions.pop(question, None)
        except ApiError as error:
            self._screen.note(str(error), "bad")
        except NotReachable as error:
            self._shown.discard(question)
            self._screen.note(f"not delivered: {error}", "bad")
        self._looked_at = float("-inf")


def ready_answer(options: Sequence[str], typed: str) -> str:
    """Return the ready answer that a number means, else what was typed."""
    number = typed.strip()
    is_one = number.isdecimal() and 1 <= int(number) <= len(options)
    return options[int(number) - 1] if is_one else typed


def answer_command(home: Path, default: Path) -> str:
    """Return the command that answers a question, with `{question}` to be filled in."""
    where = "" if home == default else f" --home {str(home).replace('{', '{{').replace('}', '}}')}"
    return f"agiraph respond {{question}} 'your answer'{where}"
