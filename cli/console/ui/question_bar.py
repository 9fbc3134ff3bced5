"""The questions on top: the team's questions to the person; one key chooses an option."""

import time
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from agiraph.http.api import QuestionView
from cli.console.ui.theme import BOLD, QUIET, TONES
from cli.output.formats import format_age
from cli.sanitize import one_line

ARMED_SECONDS: Final = 0.7
QUESTION_LIMIT: Final = 400
OPTION_LIMIT: Final = 60
MOST_OPTIONS: Final = 9


class QuestionBar(Static, can_focus=True):
    """Shows one open question at a time, the oldest urgent one first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "previous question", show=False),
        Binding("right", "turn(1)", "next question"),
    ]

    @dataclass
    class Answered(Message):
        """An option was chosen."""

        question: str
        answer: str

    @dataclass
    class FreeTextRequested(Message):
        """The person wants to answer with text; `first` is the text typed so far."""

        question: str
        first: str

    def __init__(self, *, id: str) -> None:
        super().__init__("", id=id)
        self._questions: tuple[QuestionView, ...] = ()
        self._chosen: str | None = None
        self._armed_at = self._now = 0.0

    @property
    def current(self) -> QuestionView | None:
        """The displayed question."""
        found = [one for one in self._questions if one.id == self._chosen]
        return found[0] if found else next(iter(self._questions), None)

    def show(self, questions: tuple[QuestionView, ...], now: float) -> None:
        """Show the open questions; hide the bar if there are none."""
        self._now = now
        self._questions = tuple(sorted(questions, key=lambda one: one.urgency != "urgent"))
        self.set_class(not questions, "is-hidden")
        question = self.current
        if question is not None:
            self.update(self._text_of(question, now))

    def arm(self, last_key_at: float) -> None:
        """Focus a new question; ignore digits for ARMED_SECONDS after the last key (monotonic).

        A key that is typed then was meant for the input line.
        """
        self._armed_at = last_key_at + ARMED_SECONDS
        self.focus()

    def action_turn(self, by: int) -> None:
        """Show the next or previous question."""
        ids = [str(question.id) for question in self._questions]
        if self.current is not None and ids:
            self._chosen = ids[(ids.index(str(self.current.id)) + by) % len(ids)]
            self.show(self._questions, self._now)

    def choose(self, number: int) -> bool:
        """Answer with the option `number`; return whether the question has that option."""
        question = self.current
        if question is None or not 1 <= number <= min(MOST_OPTIONS, len(question.options)):
            return False
        self.post_message(self.Answered(question.id, question.options[number - 1]))
        return True

    def on_key(self, event: events.Key) -> None:
        """Choose an option by a digit; any other printable key begins an answer with text."""
        question = self.current
        if question is None:
            return
        if event.key in ("enter", "a"):
            self.post_message(self.FreeTextRequested(question.id, ""))
        elif event.is_printable and event.character:
            is_armed = time.monotonic() >= self._armed_at
            if event.character.isdigit() and is_armed and self.choose(int(event.character)):
                event.stop()
                return
            self.post_message(self.FreeTextRequested(question.id, event.character))
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Begin an answer with the pasted text."""
        if self.current is not None:
            event.stop()
            self.post_message(self.FreeTextRequested(self.current.id, " ".join(event.text.split())))

    def on_click(self) -> None:
        if self.current is not None:
            self.post_message(self.FreeTextRequested(self.current.id, ""))

    def _text_of(self, question: QuestionView, now: float) -> Text:
        urgent = "‼ " if question.urgency == "urgent" else "? "
        verb = "wants to" if question.kind == "approval" else "asks"
        text = Text.assemble((f"{urgent}{one_line(question.sender)} {verb}: ", TONES["ask"]))
        text.append(one_line(question.question, QUESTION_LIMIT), BOLD)
        facts = []
        if len(self._questions) > 1:
            at = [one.id for one in self._questions].index(question.id) + 1
            facts.append(f"{at} of {len(self._questions)} (left, right)")
        facts.append(f"{format_age(now - question.asked_at)} ago")
        if question.deadline_at is not None:
            left = format_age(question.deadline_at - now)
            default = f": then '{one_line(question.default, 30)}'" if question.default else ""
            facts.append(f"{left} left{default}")
        text.append(f"  {', '.join(facts)}", QUIET)
        text.append("\n")
        for number, option in enumerate(question.options[:MOST_OPTIONS], start=1):
            text.append(f" {number} ", "reverse bold")
            text.append(f" {one_line(option, OPTION_LIMIT)}   ")
        text.append("type to answer in words" if question.options else "type your answer", QUIET)
        return text
