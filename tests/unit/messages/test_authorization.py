"""Permission to send: the router vouches for an address, not for a name or a claim."""

from typing import Any

import pytest

from agiraph.core.ids import Address, AgentId, NodeId, QuestionId
from agiraph.core.models import BUDGET, Event, ProposedAction
from agiraph.core.money import BudgetState, Shortage
from agiraph.core.turns import ModelRequest
from agiraph.messages.authorization import is_name_of, refusal, shown_name
from agiraph.messages.body import MessageBody
from agiraph.messages.child import (
    AttachConsole,
    ChildFailed,
    ChildReady,
    ChildSpec,
    ListChildren,
    StartChild,
    StopChild,
    WakeChild,
)
from agiraph.messages.control import Ok, Pause, Resume, Stop
from agiraph.messages.event import EventsGrew, ReportEvents
from agiraph.messages.llm_proxy import ProxyBudgetLow, ProxyCallFailed
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    CallModel,
    ListModels,
    ModelDelta,
    StreamDelta,
    SubscribeToStream,
)
from agiraph.messages.node import CancelNodeMessage, FailNodeMessage
from agiraph.messages.question import AskQuestion, QuestionAnswered
from agiraph.messages.run import BeginRun
from agiraph.messages.shared_values import ReadSharedValue
from agiraph.messages.text import TextMessage
from agiraph.messages.tool import ToolProgress
from agiraph.messages.trigger import ListTriggers, TriggerFailed

AGENT, OTHER = AgentId("survey-1"), AgentId("other-2")
LEAD, ADA, BOB = "survey-1/coordinator", "survey-1/ada-7f3c1a", "survey-1/bob-91c0aa"
STRANGER, STRANGE_LEAD = "other-2/ada-7f3c1a", "other-2/coordinator"
SERVICES = ("supervisor", "router", "recorder", "broker", "clock", "tracer", "human", "tools/web")
SHORTAGE = Shortage(budget=BudgetState(scope="node", key="r/n/1", calls=1), unit="calls", needs=1)
EVERYONE = (*SERVICES, "console/1", LEAD, ADA, BOB, STRANGER, STRANGE_LEAD)


def senders(body: MessageBody, to: str = "human") -> list[str]:
    return [sender for sender in EVERYONE if refusal(sender, to, body) is None]


@pytest.mark.parametrize(
    ("body", "to", "believed"),
    [
        (Stop(), ADA, ["supervisor"]),
        (Pause(), ADA, ["human"]),
        (Resume(), ADA, ["human"]),
        (BeginRun(goal="x"), LEAD, ["human"]),
        (ListModels(), "broker", ["human", LEAD, STRANGE_LEAD]),
        (ModelDelta(call=b"x", text="y"), ADA, ["broker"]),
        (ProxyCallFailed(kind="out_of_budget", message="all is spent"), ADA, ["broker"]),
        (ProxyBudgetLow(shortage=SHORTAGE), ADA, ["broker"]),
        (ToolProgress(call=b"x", text="y"), ADA, ["tools/web"]),
        (QuestionAnswered(question_id=QuestionId("q"), answer="yes", by="me"), ADA, ["human"]),
        (CancelNodeMessage(node_id=NodeId("n")), ADA, [LEAD]),
        (FailNodeMessage(node_id=NodeId("n"), attempt=1, reason="x"), LEAD, [LEAD, ADA, BOB]),
        (ReadSharedValue(key="k"), ADA, []),
        (ChildFailed(address=Address(ADA), incarnation=1, cause="x"), LEAD, ["supervisor"]),
        (ChildReady(address=Address(ADA), incarnation=1, pid=7), "supervisor", [ADA]),
        (WakeChild(address=Address(ADA)), "supervisor", ["router"]),
        (StopChild(address=Address(ADA)), "supervisor", ["human", LEAD]),
        (StopChild(address=Address("broker")), "supervisor", ["human"]),
        (AttachConsole(), "supervisor", ["human"]),
        (ListChildren(), "supervisor", ["human"]),
        (AskUsage(), "broker", ["human"]),
        (AskUsage(agent=AGENT), "broker", ["human", LEAD, ADA, BOB]),
        (AskUsage(agent=AGENT, budgets_of=OTHER), "broker", ["human"]),
        (AskUsage(agent=AGENT, runs=("r",)), "broker", ["human"]),
        (AskBudgets(keys=()), "broker", ["human"]),
        (SubscribeToStream(agent=AGENT), "broker", ["human", "console/1"]),
        (StreamDelta(entity=ADA, call=b"x", text="y"), "broker", ["broker", ADA]),
        (StreamDelta(entity=ADA, call=b"x", text="y"), "console/1", ["broker"]),
        (ListTriggers(agent=AGENT), "clock", ["human", LEAD, ADA, BOB]),
        (TriggerFailed(agent=AGENT, trigger_id="t", reason="x"), "clock", [LEAD]),
        (EventsGrew(agents=(AGENT,)), "clock", ["recorder"]),
        (Ok(), ADA, []),
    ],
    ids=lambda value: value.TYPE if isinstance(value, MessageBody) else None,
)
def test_message_is_accepted_only_from_its_senders(
    body: MessageBody, to: str, believed: list[str]
) -> None:
    assert senders(body, to) == believed


def test_an_entity_asks_and_spends_for_itself() -> None:
    call = CallModel(request=ModelRequest(model="x", system="", turns=(), entity=ADA))
    assert senders(call, "broker") == [ADA]
    question: dict[str, Any] = {
        "question_id": "q",
        "agent": AGENT,
        "from_name": "ada",
        "question": "May I?",
    }
    assert senders(AskQuestion(**question)) == [LEAD, ADA, BOB]


@pytest.mark.parametrize(
    ("shortage", "is_its"),
    [
        ("agent:survey-1::usd:0", True),
        ("trigger:survey-1/t-1:2026-01-01:tokens:0", True),
        ("run:20260101-1:x", False),
        ("run:20260101-1::usd:0", True),  # whose run it is, the gateway knows
        ("agent:other-2::usd:0", False),
        ("trigger:other-2/t-1::usd:0", False),
        ("", False),
    ],
)
def test_budget_question_is_accepted_only_from_the_entity_that_lacks_money(
    shortage: str, is_its: bool
) -> None:
    about = ProposedAction(tool=BUDGET, subject="usd", shortage=shortage)
    body = AskQuestion(
        question_id=QuestionId("q"),
        agent=AGENT,
        from_name="ada",
        question="More?",
        kind=BUDGET,
        about=about,
    )
    assert (refusal(ADA, "human", body) is None) is is_its


@pytest.mark.parametrize(
    ("type_", "entity", "data", "agent", "believed"),
    [
        ("tool.called", "ada", {}, AGENT, [LEAD, ADA]),
        ("tool.called", ADA, {}, AGENT, [LEAD, ADA]),
        ("tool.called", "ada", {}, OTHER, [STRANGER, STRANGE_LEAD]),
        ("tool.called", "coordinator", {}, AGENT, [LEAD]),
        ("node.checked", "ada", {}, AGENT, [ADA]),
        ("node.failed", "ada", {}, AGENT, [LEAD]),
        ("agent.completed", "coordinator", {}, AGENT, [LEAD]),
        ("message.sent", "ada", {"from": "ada"}, AGENT, [LEAD, ADA]),
        ("message.sent", "ada", {"from": "human"}, AGENT, [LEAD]),
        ("human.response", "human", {}, AGENT, []),
        ("no.such.type", "ada", {}, AGENT, []),
    ],
)
def test_entity_may_report_only_its_own_events(
    type_: str, entity: str, data: dict[str, str], agent: AgentId, believed: list[str]
) -> None:
    event = Event(type=type_, agent_id=agent, ts=1.0, entity=entity, data=data)
    services = list(SERVICES)
    assert senders(ReportEvents(events=(event,)), "recorder") == services + believed


def test_coordinator_may_start_only_its_own_workers() -> None:
    def spec(**changes: Any) -> StartChild:
        values = {"address": ADA, "kind": "worker", "owner": LEAD, "args": {"agent": AGENT}}
        return StartChild(spec=ChildSpec.model_validate(values | changes))

    assert senders(spec(), "supervisor") == ["human", LEAD]
    for changes in (
        {"owner": STRANGE_LEAD},
        {"kind": "coordinator"},
        {"address": STRANGER},
        {"address": LEAD},
        {"args": {"agent": OTHER}},
    ):
        assert senders(spec(**changes), "supervisor") == ["human"]


def test_text_is_accepted_only_from_the_team_and_the_human() -> None:
    text = TextMessage(content="hello", from_name="ada")
    assert senders(text, ADA) == ["human", "console/1", LEAD, ADA, BOB]
    assert senders(text, "recorder") == []
    assert set(senders(text, "human")) == {
        "human",
        "console/1",
        LEAD,
        ADA,
        BOB,
        STRANGER,
        STRANGE_LEAD,
    }


def test_false_name_is_replaced_by_the_address() -> None:
    assert shown_name(ADA, "human") == ADA
    assert shown_name(ADA, "coordinator") == ADA
    assert shown_name(ADA, "bob") == ADA
    assert shown_name(ADA, "Ada") == "Ada"
    assert shown_name("console/3", "root") == "human"
    assert shown_name(LEAD, "human") == "coordinator"
    assert shown_name("survey-1/ada-lovelace-7f3c1a", "ada") == "survey-1/ada-lovelace-7f3c1a"
    assert is_name_of("survey-1/worker-7f3c1a", "\u674e"), "a name without Latin letters"
