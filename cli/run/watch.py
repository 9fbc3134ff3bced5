"""Watching one run: shows events, prompts for answers, waits for the end."""

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agiraph.board.failure_class import suspended_by
from agiraph.core.ids import abbreviated
from agiraph.core.models import ENDED_AGENT, Event, ServiceOutage
from agiraph.http.api import AgentView, ApiError, EventView, NotReachable, QuestionView
from agiraph.http.discovery import why_unreachable
from agiraph.logs.event_text import AUTORUN
from agiraph.storage.disk_space import has_room
from agiraph.storage.files import is_file
from agiraph.storage.home import Home, input_at_start
from cli.console.event_text import EventLine
from cli.options.everywhere import is_verbose
from cli.options.remote import is_elsewhere
from cli.run.progress import RunProgress
from cli.run.target import RunTarget, home_option_of

if TYPE_CHECKING:
    from agiraph.http.event_follower import EventFollower

REFRESH_SECONDS: Final = 1.0
POLL_SECONDS: Final = 0.2
RECORD_WITHIN_SECONDS: Final = 3.0
LAST_EVENTS: Final = 1000
LINES_BEFORE: Final = 10
"""The number of past events that are shown when a run is watched later."""
AWAY_SECONDS: Final = 60.0
WORKERS_SECONDS: Final = 10.0


class RunWatcher:
    """Watches one agent until its run has ended; `agent` is its last known record."""

    def __init__(self, target: RunTarget, agent: AgentView, *, can_prompt: bool) -> None:
        self.target = target
        self.agent = agent
        self._run = agent.run
        self.progress = RunProgress(is_verbose(), agent.has_roles)
        self._screen = target.screen
        self._can_prompt = can_prompt
        self._answer_command = _answer_command(target.home)
        self.outage: ServiceOutage | None = None
        """The service whose repeated failure suspends the run, as last seen."""
        self._is_full = False
        self._questions: dict[str, QuestionView] = {}
        self._shown: set[str] = set()
        self._asked: str | None = None
        self._refreshed_at = float("-inf")
        self._away_since: float | None = None
        self._ended_at: float | None = None

    def catch_up(self) -> None:
        """Read the past events of the run, and show the last lines."""
        client, lines, after = self.target.client, deque[EventLine](maxlen=LINES_BEFORE), 0
        while (page := client.events(self.agent.id, after=after, audience="team")).next > after:
            after = page.next
            mine = (event for event in page.events if not self._is_of_another_run(event))
            lines.extend(line for event in mine if (line := self.progress.see(event)) is not None)
        for line in lines:
            self._screen.line(line)
        self.agent = self.agent.model_copy(update={"last_event": max(after, self.agent.last_event)})
        if self.agent.outage is None:  # the broker itself may be the failed service
            with contextlib.suppress(ApiError, NotReachable):
                self.progress.usage = client.usage(agent=self.agent.id).total

    def until_the_end(self, started_at: float, timeout_seconds: float | None) -> bool:
        """Watch until the run has ended; return False at the timeout or a lasting outage.

        The timeout is `timeout_seconds` after `started_at`; the outage is of a service that the run
        needs (`outage`). Times are those of the monotonic clock.
        """
        after = self.agent.last_event
        with self.target.client.follow_events(self.agent.id, after=after) as follower:
            while True:
                event = follower.next(POLL_SECONDS)
                if event is not None and not self._is_of_another_run(event):
                    self._show(event)
                if self._has_ended(event):
                    self._show_last(follower)
                    self.show_input_news()
                    return True
                if self.outage is not None and self.outage.is_lasting:
                    return False
                elapsed = time.monotonic() - started_at
                if timeout_seconds is not None and elapsed >= timeout_seconds:
                    return False
                self._take_answer()
                status = self.progress.status(elapsed, self.agent.doing)
                self._screen.status(status, self.progress.talk())

    def _is_of_another_run(self, event: EventView) -> bool:
        return event.run_id not in (None, self._run)

    def _show(self, event: EventView) -> None:
        line = self.progress.see(event)
        if line is not None:
            self._screen.line(line)

    def _show_last(self, follower: "EventFollower") -> None:
        """Show the events that arrive after the end of the run."""
        for _ in range(LAST_EVENTS):
            event = follower.next(POLL_SECONDS)
            if event is None:
                return
            if not self._is_of_another_run(event):
                self._show(event)

    def show_input_news(self) -> None:
        """Print the autorun files in the input folder of this machine that no event has named.

        The event of a command that ended with the run, or was stopped, may come too late to be
        shown.
        """
        run = Home(self.target.home).agent(self.agent.id).run(self._run or "").path
        if is_elsewhere() or self._run is None or not is_file(input_at_start(run)):
            return
        from agiraph.tools.sandbox.input_guard import known_guard_of  # few runs may write an input
        from agiraph.tools.sandbox.input_news import unreported

        with contextlib.suppress(ApiError, NotReachable):
            self._until_no_worker_runs()
        if (guard := known_guard_of(run)) is None:
            return
        for data in unreported(guard, lambda: self.progress.autorun):
            event = Event(type=AUTORUN, agent_id=self.agent.id, ts=time.time(), data=data)
            self._show(EventView.of(event))

    def _until_no_worker_runs(self) -> None:
        """Wait until no worker of the agent has a process, at most WORKERS_SECONDS."""
        team, deadline = f"{self.agent.id}/", time.monotonic() + WORKERS_SECONDS
        while time.monotonic() < deadline:
            rows = self.target.client.entities()
            if not any(r.pid and r.kind == "worker" and r.address.startswith(team) for r in rows):
                return
            time.sleep(POLL_SECONDS)

    def _has_ended(self, event: EventView | None) -> bool:
        """Whether the run has ended: asks when an event may have changed that, and every second."""
        now = time.monotonic()
        is_notable = event is not None and event.type.startswith(("agent.", "run.", "human."))
        if not is_notable and now - self._refreshed_at < REFRESH_SECONDS:
            return False
        self._refreshed_at = now
        self._check_disk()
        try:
            self._refresh()
            self._away_since = None
        except NotReachable:
            self._wait_for_gateway(now)
        if self.agent.status not in ENDED_AGENT:
            self._apply_ending(now)
        return self.agent.status in ENDED_AGENT

    def _check_disk(self) -> None:
        """Report that the team waits because its disk is full, and later that it continues."""
        is_full = not (is_elsewhere() or has_room(self.target.home))
        if is_full and not self._is_full:
            self._screen.note(
                f"the disk of {self.target.home} is full: the team waits until there is room", "bad"
            )
        elif self._is_full and not is_full:
            self._screen.note("there is room on the disk again: the team continues")
        self._is_full = is_full

    def _apply_ending(self, now: float) -> None:
        """Use the status of the ending event if the record is not updated.

        A coordinator that failed permanently can no longer write its record.
        """
        ended_as = self.progress.ended_as
        if ended_as is None:
            return
        self._ended_at = now if self._ended_at is None else self._ended_at
        if now - self._ended_at >= RECORD_WITHIN_SECONDS:
            self.agent = self.agent.model_copy(update={"status": ended_as})

    def _refresh(self) -> None:
        agent = self.target.client.agent(self.agent.id)
        self.agent = agent if agent.run == self._run else self._as_it_ended(agent)
        self._note_outage(self.agent.outage)
        if self.agent.open_questions or self._questions:
            mine = [
                q for q in self.target.client.questions(status="open") if q.agent == self.agent.id
            ]
            self._questions = {question.id: question for question in mine}
            self._show_questions()

    def _note_outage(self, outage: ServiceOutage | None) -> None:
        """Report that the run is suspended because a service fails repeatedly."""
        if outage is not None and self.outage is None:
            self._screen.note(suspended_by(outage), "bad")
            self._screen.note("it continues by itself when the service is ready again")
        self.outage = outage

    def _as_it_ended(self, agent: AgentView) -> AgentView:
        """Return the agent as it was at the end of our run: by now it is in another run."""
        ours = next(run for run in self.target.client.runs(agent.id) if run.id == self._run)
        ended = {"run": ours.id, "status": ours.status, "result": ours.result}
        return agent.model_copy(update=ended | {"reason": ours.reason})

    def _wait_for_gateway(self, now: float) -> None:
        """Wait for a gateway that restarts, for at most AWAY_SECONDS with room on its disk."""
        if self._away_since is None or self._is_full:
            self._away_since = now
        if now - self._away_since > AWAY_SECONDS:
            if is_elsewhere():
                raise NotReachable(f"the gateway has been away for {AWAY_SECONDS:.0f} seconds")
            raise why_unreachable(self.target.home)
        with contextlib.suppress(NotReachable):
            self.target.reconnect()

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

    def _answer_text(self, question: str, typed: str) -> str:
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
            self._screen.note(f"not answered; answer later with: {command}")
            return
        if answer is None:
            return
        self._asked = None
        try:
            self.target.client.answer(question, self._answer_text(question, answer))
            self._questions.pop(question, None)
        except ApiError as error:
            self._screen.note(str(error), "bad")
        except NotReachable as error:
            self._shown.discard(question)
            self._screen.note(f"not delivered: {error}", "bad")
        self._refreshed_at = float("-inf")


def ready_answer(options: Sequence[str], typed: str) -> str:
    """Return the option whose number was typed, else the typed text."""
    number = typed.strip()
    is_one = number.isdecimal() and 1 <= int(number) <= len(options)
    return options[int(number) - 1] if is_one else typed


def _answer_command(home: Path) -> str:
    """Return a command that answers a question; it contains `{question}` for the id."""
    where = home_option_of(home).replace("{", "{{").replace("}", "}}")
    return f"agiraph respond {{question}} 'your answer'{where}"
