"""Talking: to one who was spawned a moment ago, and to a human who has answered already."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.entity import messenger as talk_module
from actors.entity.messenger import EntityContext, Messenger
from actors.entity.questions import ArrivedAnswer, ArrivedAnswers
from agiraph.agent.transcript import Transcript
from agiraph.core.errors import Refused
from agiraph.core.ids import AgentId, QuestionId
from agiraph.messages import AskQuestion, QuestionAnswered, TextMessage
from transport.errors import Nacked

ADA = "shop-1/ada-1"


class Bus:
    """A bus that refuses what is sent, for these reasons in turn, and then takes all."""

    address = "shop-1/coordinator"

    def __init__(self, *reasons: str) -> None:
        self.reasons = list(reasons)
        self.tried: list[tuple[str, str, bytes]] = []

    async def send(self, to: str, body: TextMessage, *, id: bytes) -> bytes:
        self.tried.append((to, body.content, id))
        if self.reasons:
            raise Nacked(cast(Any, self.reasons.pop(0)))
        return id


def say(bus: Bus) -> list[str]:
    """Send a text to ada; return the events that were reported."""
    events: list[str] = []

    async def roster() -> dict[str, str]:
        return {"ada": ADA}

    entity_context = SimpleNamespace(
        name="coordinator",
        agent=AgentId("shop-1"),
        runtime=bus,
        inbox=None,
        conversation=None,
        transcript=Transcript(),
        roster=roster,
        report=lambda event, data, key: events.append(event),
    )

    async def main() -> None:
        messenger = Messenger(cast(EntityContext, entity_context), ArrivedAnswers())
        await messenger.send_message("call-1", "ada", "Begin", "steer")

    asyncio.run(main())
    return events


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talk_module, "BORN_WITHIN_SECONDS", 0.003)
    monkeypatch.setattr(talk_module, "LOOK_AGAIN_SECONDS", 0.001)


def test_a_text_waits_until_the_router_knows_who_was_just_spawned() -> None:
    bus = Bus("unknown_recipient", "unknown_recipient")
    assert say(bus) == ["message.sent"]
    assert len(bus.tried) == 3
    assert len(set(bus.tried)) == 1, "it is the same message each time"


def test_one_whom_nobody_comes_to_know_is_told_to_the_sender() -> None:
    bus = Bus(*["unknown_recipient"] * 50)
    with pytest.raises(Refused, match="ada did not get it"):
        say(bus)
    assert 3 <= len(bus.tried) <= 5


def test_any_other_refusal_is_told_at_once() -> None:
    bus = Bus("mailbox_full")
    with pytest.raises(Refused, match="ada did not get it"):
        say(bus)
    assert len(bus.tried) == 1


def test_a_question_that_is_answered_while_it_is_put_is_heard() -> None:
    answers = ArrivedAnswers()

    async def answer(to: str, body: AskQuestion, *, id: bytes) -> bytes:
        """Answer as what was allowed for always does; reception drops what nobody awaits."""
        told = QuestionAnswered(question_id=body.question_id, answer="allow once", by="rule")
        if answers.is_awaited(told):
            answers.put(ArrivedAnswer(told, "m-1", lambda: None))
        await asyncio.sleep(0)
        return id

    async def first_of(wait: Any) -> list["asyncio.Future[Any]"]:
        task = asyncio.ensure_future(wait)
        await task
        return [task]

    entity_context = SimpleNamespace(
        runtime=SimpleNamespace(address="shop-1/coordinator", send=answer, take_up=len),
        inbox=None,
        conversation=SimpleNamespace(when_recorded=lambda done: None),
        patience=SimpleNamespace(first_of=first_of),
        show=lambda state, step: None,
        standing_still=nullcontext,
    )
    body = AskQuestion(
        question_id=QuestionId("a-1"), agent=AgentId("shop-1"), from_name="ada", question="May I?"
    )

    async def main() -> QuestionAnswered:
        async with asyncio.timeout(5):
            return await Messenger(cast(EntityContext, entity_context), answers).ask_with_others(
                body, "may I spend"
            )

    assert asyncio.run(main()).answer == "allow once"
    assert not answers.is_awaited(
        QuestionAnswered(question_id=QuestionId("a-1"), answer="allow once", by="rule")
    )
