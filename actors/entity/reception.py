"""Reception: takes each message that reaches an entity to the place where it belongs."""

import asyncio
from collections.abc import Awaitable, Callable

from actors.entity.mind import BrokerMind
from actors.entity.questions import ASK_HUMAN, Answers, question_id
from actors.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import Inbox, Incoming
from agiraph.agent.loop import Gate
from agiraph.agent.records import Noted
from agiraph.ids import HUMAN_NAME
from agiraph.messages import ModelDelta, Pause, QuestionAnswered, Resume, Text
from transport.endpoint import Received

Handler = Callable[[Received], Awaitable[None]]


class Reception:
    """The front desk of one entity; `handler` takes what is particular to its kind."""

    def __init__(
        self,
        runtime: Runtime,
        conversation: Conversation,
        inbox: Inbox,
        gate: Gate,
        mind: BrokerMind,
        answers: Answers,
        handler: Handler,
    ) -> None:
        """Put the parts together; `run` starts it."""
        self._runtime = runtime
        self._conversation = conversation
        self._inbox = inbox
        self._gate = gate
        self._mind = mind
        self._answers = answers
        self._handler = handler

    async def run(self) -> None:
        """Receive for as long as the process lives."""
        while True:
            await self._take(await self._runtime.receive())

    async def _take(self, received: Received) -> None:
        if self._conversation.transcript.has_seen(received.header.id.hex()):
            self._runtime.done(received)
            return
        match received.body:
            case ModelDelta() as delta:
                self._mind.hear_delta(delta)
            case Text() as text:
                self._inbox.put(self._incoming(received, text))
            case QuestionAnswered() as answered:
                self._take_answer(received, answered)
            case Pause():
                self._note(received, "paused")
                self._gate.shut()
                self._runtime.status("paused")
            case Resume():
                self._note(received, "resumed")
                self._gate.open()
                self._runtime.status("idle")
            case _:
                await self._handler(received)

    def _take_answer(self, received: Received, answered: QuestionAnswered) -> None:
        """Give an answer to the call that waits for it; if that was cut off, it is a message."""
        waiting = {
            question_id(self._runtime.address, opened.key)
            for opened in self._conversation.transcript.open_calls
            if opened.call.name == ASK_HUMAN
        }
        if answered.question_id in waiting:
            self._answers.put(answered, lambda: self._runtime.done(received))
            return
        text = Text(
            content=f"(answer to your question {answered.question_id}) {answered.answer}",
            from_name=HUMAN_NAME,
        )
        self._inbox.put(self._incoming(received, text))

    def _incoming(self, received: Received, text: Text) -> Incoming:
        return Incoming(
            id=received.header.id.hex(),
            from_name=text.from_name,
            content=text.content,
            mode=text.mode,
            done=lambda: self._runtime.done(received),
        )

    def _note(self, received: Received, what: str) -> None:
        note = {"what": what, "message": received.header.id.hex(), "ts": self._runtime.clock.now()}
        self._conversation.append(Noted.model_validate(note))
        self._runtime.done(received)


async def first_to_end(*works: Awaitable[object]) -> None:
    """Run all until one returns or raises; cancel and await the others; raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
