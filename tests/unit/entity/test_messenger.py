"""Talking: to a worker spawned a moment ago, and to a human with an early answer."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from actors.entity import context as context_module
from actors.entity.messenger import Messenger
from actors.entity.questions import ArrivedAnswer, ArrivedAnswers
from agiraph.core.errors import Refused
from agiraph.core.ids import AgentId, QuestionId, WorkerId
from agiraph.core.models import TeamMember, TeamRoster
from agiraph.messages.question import AskQuestion, QuestionAnswered
from tests.fakes.fake_runtime import FakeRuntime
from tests.unit.entity.contexts import entity_context
from transport.errors import Nacked

TEAM = TeamRoster(version=1, members=(TeamMember(id=WorkerId("ada-1"), name="ada"),))


class RefusingRuntime(FakeRuntime):
    """A bus that refuses messages, for these reasons in turn, and then accepts all."""

    def __init__(self, home: Path, *reasons: str) -> None:
        super().__init__(home)
        self.reasons = list(reasons)
        self.tried: list[tuple[str, str, bytes | None]] = []

    async def send(
        self, to: str, body: Any, *, id: bytes | None = None, reply_to: bytes | None = None
    ) -> bytes:
        self.tried.append((to, body.content, id))
        if self.reasons:
            raise Nacked(cast(Any, self.reasons.pop(0)))
        return await super().send(to, body, id=id)


def messenger(bus: FakeRuntime, answers: ArrivedAnswers | None = None) -> Messenger:
    context, _ = entity_context(bus.home.path, "shop-1/coordinator", bus)
    context.roster.update(TEAM)
    return Messenger(context, answers or ArrivedAnswers())


async def send(bus: RefusingRuntime) -> list[str]:
    """Send a text to ada; return the events that were reported."""
    await messenger(bus).send_message("call-1", "ada", "Begin", "steer")
    return [event.type for event in bus.reported]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_module, "KNOWN_WITHIN_SECONDS", 0.003)
    monkeypatch.setattr(context_module, "TRY_AGAIN_SECONDS", 0.001)


async def test_message_is_retried_until_the_router_knows_a_new_worker(tmp_path: Path) -> None:
    bus = RefusingRuntime(tmp_path, "unknown_recipient", "unknown_recipient")
    assert await send(bus) == ["message.sent"]
    assert len(bus.tried) == 3
    assert len(set(bus.tried)) == 1, "it is the same message each time"


@pytest.mark.parametrize(
    ("reason", "least", "most"), [("unknown_recipient", 3, 5), ("mailbox_full", 1, 1)]
)
async def test_undeliverable_message_is_refused_with_the_name_of_its_receiver(
    tmp_path: Path, reason: str, least: int, most: int
) -> None:
    bus = RefusingRuntime(tmp_path, *[reason] * 50)
    with pytest.raises(Refused, match="ada did not get it"):
        await send(bus)
    assert least <= len(bus.tried) <= most


async def test_answer_that_arrives_while_its_question_is_sent_is_used(tmp_path: Path) -> None:
    answers = ArrivedAnswers()
    told = QuestionAnswered(question_id=QuestionId("a-1"), answer="allow once", by="rule")

    class Gateway(FakeRuntime):
        async def send(
            self, to: str, body: Any, *, id: bytes | None = None, reply_to: bytes | None = None
        ) -> bytes:
            """Answer like a stored permission; an unexpected answer is dropped."""
            if answers.is_awaited(told):
                answers.put(ArrivedAnswer(told, "m-1", lambda: None))
            await asyncio.sleep(0)
            return await super().send(to, body, id=id)

    body = AskQuestion(
        question_id=QuestionId("a-1"), agent=AgentId("shop-1"), from_name="ada", question="May I?"
    )
    async with asyncio.timeout(5):
        asking = messenger(Gateway(tmp_path), answers).ask_with_others(body, "may I spend")
        assert (await asking).answer == "allow once"
    assert not answers.is_awaited(told)


@pytest.mark.parametrize(
    ("who", "to", "meant"),
    [
        ("ada-1", "@Human", ["human"]),
        ("ada-1", "coordinator", ["shop-1/coordinator"]),
        ("ada-1", "*", ["shop-1/coordinator"]),
        ("coordinator", "*", ["shop-1/ada-1"]),
        ("coordinator", "ada-1", ["shop-1/ada-1"]),
        ("ada-1", "ada", []),
        ("coordinator", "zoe", []),
    ],
)
async def test_broadcast_reaches_everyone_but_its_sender(
    tmp_path: Path, who: str, to: str, meant: list[str]
) -> None:
    context, _ = entity_context(tmp_path, f"shop-1/{who}")
    context.roster.update(TEAM)
    assert [address for _, address in await context.recipients(to)] == meant
