"""The bus loop of the human: effects once, in any crash between journal and done."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from actors.gateway.bus_handlers import attend, handle
from actors.gateway.context_requests import ContextRequestHandler
from actors.gateway.gateway import Gateway
from actors.runtime.runtime import Runtime
from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import BUDGET, ProposedAction
from agiraph.messages.child import ChildFailed
from agiraph.messages.control import Ok
from agiraph.messages.model import RaiseBudget
from agiraph.messages.question import AskQuestion
from agiraph.messages.text import TextMessage
from tests.fakes.accounts import begin_run
from tests.fakes.line import FakeLine, arrived
from transport.endpoint import Received
from transport.errors import LinkDown

ASK = AskQuestion(
    question_id=QuestionId("q1"), agent=AgentId("a-1"), from_name="Ada", question="Which?"
)
MESSAGES = [
    arrived(TextMessage(content="hello", from_name="Ada"), "a-1/ada-1"),
    arrived(ASK, "a-1/ada-1"),
    arrived(ChildFailed(address="a-1/coordinator", incarnation=1, cause="x"), "supervisor"),
]


class Crash(BaseException):
    """Stands for kill -9."""


def opened(line: FakeLine) -> Gateway:
    return Gateway(cast(Runtime, line))


@pytest.fixture
def line(tmp_path: Path) -> FakeLine:
    return FakeLine(tmp_path)


def kinds(gateway: Gateway) -> list[tuple[str, str]]:
    return [(m.kind, m.content) for m in gateway.messages.page("a-1", 0, 99).messages]


@pytest.mark.parametrize("received", MESSAGES, ids=lambda received: received.header.type)
@pytest.mark.parametrize("crash_at", ["messages", "reporter", "done"])
async def test_a_message_whose_handling_was_cut_off_has_its_effect_once(
    line: FakeLine, received: Received, crash_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*args: object, **named: object) -> None:
        raise Crash

    gateway = opened(line)
    if crash_at == "messages":
        monkeypatch.setattr(gateway.messages, "add", crash)
    elif crash_at == "reporter":
        monkeypatch.setattr(gateway.reporter, "report", crash)
    else:
        monkeypatch.setattr(line, "done", crash)
    line.put(received)
    with pytest.raises(Crash):
        await attend(gateway, ContextRequestHandler(gateway))
    assert line.finished == []
    gateway.close()
    monkeypatch.undo()

    again = opened(line)
    await handle(again, received)
    await handle(again, received)
    assert len(kinds(again)) == 1
    assert len(line.events()) == 1
    assert len(again.questions.listed(99)) == (1 if received.body == ASK else 0)
    again.close()


async def test_an_event_that_the_router_cannot_take_now_follows_in_the_background(
    line: FakeLine,
) -> None:
    line.refusals["recorder"] = LinkDown("away")
    gateway = opened(line)
    await handle(gateway, MESSAGES[0])
    assert [event.type for event in line.reported] == ["message.received"]
    gateway.close()


async def test_a_message_without_a_handler_is_logged_and_done(line: FakeLine) -> None:
    gateway = opened(line)
    await handle(gateway, arrived(Ok(), "a-1/ada-1"))
    assert "control.ok" in line.log.lines[0]
    gateway.close()


async def test_more_money_is_raised_by_the_gateway_alone_and_for_the_asking_agent(
    line: FakeLine,
) -> None:
    begin_run(line.home.path, "run-1", "a-1")
    begin_run(line.home.path, "run-2", "b-2")
    line.answers[RaiseBudget] = lambda body: Ok()

    def wanted(id: str, run: str) -> AskQuestion:
        about = ProposedAction(tool=BUDGET, subject="usd", shortage=f"run:{run}::usd:0")
        return ASK.model_copy(update={"question_id": id, "kind": BUDGET, "about": about})

    async def scene(gateway: Gateway) -> None:
        for id, run in (("q-own", "run-1"), ("q-others", "run-2"), ("q-none", "../run-1")):
            await handle(gateway, arrived(wanted(id, run), "a-1/ada-1"))
        assert [question.id for question in gateway.questions.listed(99)] == ["q-own"]
        gateway.questions.answer("q-own", "raise by $5.00", "human", 2000.0)
        delivering = asyncio.create_task(gateway.answer_delivery.run())
        gateway.answer_delivery.notify()
        await line.until(lambda: bool(line.sent_to("a-1/ada-1")))
        delivering.cancel()

    await scene(opened(line))
    [(to, order)] = [(to, body) for to, body in line.asked if isinstance(body, RaiseBudget)]
    assert (to, order.usd, order.cause) == ("broker", 5.0, "q-own")
    assert (order.budget.scope, order.budget.key) == ("run", "run-1")
