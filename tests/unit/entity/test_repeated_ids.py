"""Two steps with the same id: each needs its own approval, and an approval applies only to its
action."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.entity.approval_gate import ApprovalGate
from actors.entity.messenger import Messenger
from actors.entity.questions import ArrivedAnswer, ArrivedAnswers
from agiraph.agent.loop import Permission
from agiraph.agent.transcript import OpenCall
from agiraph.core.ids import QuestionId
from agiraph.core.turns import ToolCall
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.questions import QuestionStore
from agiraph.messages.question import QuestionAnswered
from agiraph.tools.approvals.policy import ActingEntity, ApprovalPolicy, ApprovalRule
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from tests.fakes.fake_runtime import FakeRuntime
from tests.unit.entity.contexts import entity_context

ADA = "shop-1/ada-1"
ASK_ALL = ApprovalPolicy((ApprovalRule(name="all", tool=("bash",), pattern="*", action="ask"),))
LIST = ToolCall(id="c1", name="bash", arguments={"command": "ls -l"})
REMOVE = ToolCall(id="c1", name="bash", arguments={"command": "rm -rf /data"})


class Gateway(FakeRuntime):
    """The human gateway's book behind a bus that, like the router, takes each message once."""

    def __init__(self, home: Path, words: dict[str, str]) -> None:
        """Answer a question with the first of `words` whose key is in it."""
        super().__init__(home)
        self.book = QuestionStore(GatewayDatabase(home / "book.db"))
        self.words = words
        self.arrived = ArrivedAnswers()
        self.taken: set[bytes] = set()

    async def send(
        self, to: str, body: Any, *, id: bytes | None = None, reply_to: bytes | None = None
    ) -> bytes:
        assert id is not None
        if id in self.taken:
            return id
        self.taken.add(id)
        asked = self.book.ask(body, ADA, id.hex(), 1.0)
        if asked is not None:
            word = next(word for part, word in self.words.items() if part in asked.question)
            self.book.answer(asked.id, word, "human", 2.0)
        [case] = [one for one in self.book.live() if id.hex() in one.asks]
        told = QuestionAnswered(
            question_id=case.asked_as,
            answer=case.question.answer or "",
            by="human",
            kind="approval",
            about=case.question.about,
        )
        self.arrived.put(ArrivedAnswer(told, id.hex(), lambda: None))
        return id


def approval_gate(gateway: Gateway) -> ApprovalGate:
    context, _ = entity_context(gateway.home.path, ADA, gateway)

    messenger = Messenger(context, gateway.arrived)
    gate = ApprovalGate(context, messenger, lambda: ActingEntity(name="ada"))
    gate._policies = cast(ApprovalPolicyFile, SimpleNamespace(current=lambda: ASK_ALL))
    return gate


async def word_for(of: ApprovalGate, call: ToolCall, key: str) -> Permission:
    """Return the result of a call that is step `key`."""
    asking = of.approval_for(OpenCall(call, key))
    assert asking is not None
    async with asyncio.timeout(5):
        return await asking.answer()


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path, {"ls": "allow once", "rm": "deny"})


def collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all steps share one approval's id."""
    shared = QuestionId(f"a-{'0' * 32}")
    for user in ("approval_gate", "message_dispatcher"):
        monkeypatch.setattr(f"actors.entity.{user}.approval_id", lambda address, key: shared)


async def test_approval_is_not_applied_to_another_action_with_the_same_id(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    collide(monkeypatch)
    of = approval_gate(gateway)
    assert (await word_for(of, LIST, "e-2.0")).refusal == ""
    assert "denied" in (await word_for(of, REMOVE, "e-9.0")).refusal
    assert [one.answer for one in gateway.book.listed(9)] == ["allow once", "deny"]


async def test_same_step_of_a_restored_journal_with_another_action_is_asked_again(
    gateway: Gateway,
) -> None:
    assert (await word_for(approval_gate(gateway), LIST, "4.0")).refusal == ""
    assert "denied" in (await word_for(approval_gate(gateway), REMOVE, "4.0")).refusal


async def test_late_answer_does_not_allow_another_action(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    collide(monkeypatch)
    of = approval_gate(gateway)
    await word_for(of, LIST, "e-2.0")
    [known] = gateway.book.live()
    late = QuestionAnswered(
        question_id=known.asked_as,
        answer="allow once",
        by="human",
        kind="approval",
        about=known.question.about,
    )
    dropped: list[str] = []
    gateway.arrived.put(ArrivedAnswer(late, "again", lambda: dropped.append("again")))
    assert "denied" in (await word_for(of, REMOVE, "e-9.0")).refusal
    assert dropped == ["again"]


async def test_same_action_after_a_crash_reuses_its_answer(gateway: Gateway) -> None:
    assert (await word_for(approval_gate(gateway), LIST, "e-2.0")).refusal == ""
    gateway.taken.clear()
    assert (await word_for(approval_gate(gateway), LIST, "e-2.0")).refusal == ""
    assert len(gateway.book.listed(9)) == 1
