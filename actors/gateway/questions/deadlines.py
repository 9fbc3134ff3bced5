"""QuestionDeadlines: notices that a question was not answered in time, also one that passed
meanwhile.

A deadline is a time of day in the question's own record, so it survives every restart; that it
has passed is one record in the book of questions, and the postman tells the asker.
"""

import asyncio
from contextlib import suppress

from actors.gateway.questions.answer_delivery import AnswerDelivery
from actors.gateway.questions.questions import QuestionStore
from agiraph.core.clock import Clock

LONGEST_SLEEP_SECONDS = 60.0
"""A clock that was set forward, or a machine that slept, is noticed within this time."""


class QuestionDeadlines:
    """One task that expires what is due, now and whenever the next deadline comes."""

    def __init__(
        self, questions: QuestionStore, answer_delivery: AnswerDelivery, clock: Clock
    ) -> None:
        """Watch `questions`; the caller runs `run` as a task."""
        self._questions = questions
        self._postman = answer_delivery
        self._clock = clock
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """There is a new question."""
        self._bell.set()

    async def run(self) -> None:
        """Watch for ever; who has nothing to watch sleeps until it is rung."""
        while True:
            self._bell.clear()
            if self._questions.expire(self._clock.now()):
                self._postman.ring()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sleep_seconds()):
                    await self._bell.wait()

    def _sleep_seconds(self) -> float | None:
        due = self._questions.next_deadline()
        if due is None:
            return None
        return min(max(0.0, due - self._clock.now()), LONGEST_SLEEP_SECONDS)
