"""Questions to the human: asked once, answered whenever, also after a restart of everything."""

import asyncio
from collections.abc import Callable

from actors.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.ids import HUMAN, AgentId, QuestionId, derived_id, derived_message_id
from agiraph.messages import AskQuestion, QuestionAnswered

ASK_HUMAN = "ask_human"


def question_id(address: str, key: str) -> QuestionId:
    """Return the id of the question that step `key` of an entity asks: always the same."""
    return QuestionId(f"q-{derived_id(address, key)}")


class Answers:
    """Answers that have arrived, until the one who asked takes them."""

    def __init__(self) -> None:
        """Make an empty store."""
        self._arrived: dict[QuestionId, tuple[str, Callable[[], None]]] = {}
        self._changed = asyncio.Event()

    def put(self, answered: QuestionAnswered, done: Callable[[], None]) -> None:
        """Keep an answer; `done` tells the bus that its effect is recorded."""
        self._arrived[answered.question_id] = (answered.answer, done)
        self._changed.set()

    async def take(self, question: QuestionId) -> tuple[str, Callable[[], None]]:
        """Wait for the answer to `question`."""
        while question not in self._arrived:
            self._changed.clear()
            await self._changed.wait()
        return self._arrived.pop(question)


async def ask_human(
    runtime: Runtime,
    conversation: Conversation,
    answers: Answers,
    *,
    agent: AgentId,
    from_name: str,
    key: str,
    question: str,
    channel: str,
) -> str:
    """Ask and wait; asked again after a crash, it is the same question."""
    identity = question_id(runtime.address, key)
    body = AskQuestion(
        question_id=identity,
        agent=agent,
        from_name=from_name,
        question=question,
        channel=channel,
    )
    await runtime.send(HUMAN, body, id=derived_message_id(runtime.address, key))
    answer, done = await answers.take(identity)
    conversation.when_recorded(done)
    return answer
