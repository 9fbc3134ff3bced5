"""The state of the console: what a coordinator says stands there once."""

import pytest

from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.http.api import MessageView
from cli.console.ui.state import ConsoleState
from tests.unit.cli.fakes import AGENT, summary

LONG = "I look at the tables first. " * 40


def answered(seq: int, text: str, *calls: str) -> Event:
    data = {"text": text[:500], "calls": list(calls)}
    return Event(
        type="model.answered", agent_id=AgentId(AGENT), ts=float(seq), seq=seq,
        entity="coordinator", data=data,
    )  # fmt: skip


def said(seq: int, text: str) -> MessageView:
    return MessageView(
        seq=seq, id=f"m{seq}", sender="coordinator", to="human", content=text, ts=float(seq)
    )


def shown(state: ConsoleState) -> list[tuple[str, str]]:
    return [(entry.kind, entry.body) for entry in state.shown]


@pytest.mark.parametrize("text", ["A word.", LONG])
def test_what_is_said_stands_there_once_in_whichever_order_it_comes(text: str) -> None:
    message, event = said(1, text), answered(2, text)
    first, second, third = (ConsoleState(summary()) for _ in range(3))
    first.add_events([event])
    first.add_messages([message])
    second.add_messages([message])
    second.add_events([event])
    third.stream("coordinator", b"1", text)
    third.add_messages([message])
    assert third.streaming == []
    third.add_events([event])
    for state in (first, second, third):
        assert shown(state) == [("text", text)]


def test_the_same_word_said_twice_stands_there_twice_and_a_thought_with_a_call_stays() -> None:
    state = ConsoleState(summary())
    state.add_events([answered(1, "Go on."), answered(2, "Go on."), answered(3, "Go on.", "bash")])
    state.add_messages([said(1, "Go on."), said(2, "Go on.")])
    assert [kind for kind, _ in shown(state)] == ["text", "text", "thought"]


@pytest.mark.parametrize("is_event_first", [True, False])
def test_why_a_run_failed_stands_there_once_and_is_marked(is_event_first: bool) -> None:
    state, why = ConsoleState(summary()), "the model cannot be asked (bad_key): no"
    failed = answered(2, "").model_copy(update={"type": "agent.failed", "data": {"reason": why}})
    if is_event_first:
        state.add_events([failed])
    state.add_messages([said(1, why)])
    state.add_events([failed])
    [entry] = state.shown
    assert (entry.kind, entry.title, entry.tone, entry.body) == ("result", "failed", "bad", why)


def test_the_retries_of_a_model_call_stand_there_once() -> None:
    def retried(seq: int, entity: str = "coordinator") -> Event:
        data = {"message": f"busy {seq}", "wait_seconds": 4.0}
        told = answered(seq, "").model_copy(update={"type": "model.retry", "data": data})
        return told.model_copy(update={"entity": entity})

    state = ConsoleState(summary())
    state.add_events([retried(1), retried(2, "ada"), retried(3), retried(3)])
    state.add_events([answered(4, "I try.", "bash"), retried(5)])
    state.select("*")
    told = [(entry.kind, entry.who, entry.title[-6:]) for entry in state.shown]
    assert told == [
        ("retry", "ada", "busy 2"),
        ("retry", "coordinator", "busy 3"),
        ("thought", "coordinator", ""),
        ("retry", "coordinator", "busy 5"),
    ]


def test_a_tool_call_stays_whatever_is_said_beside_it() -> None:
    state = ConsoleState(summary())
    state.add_messages([said(1, "")])
    call = answered(2, "").model_copy(update={"type": "tool.called", "data": {"tool": "bash"}})
    state.add_events([call])
    assert [kind for kind, _ in shown(state)] == ["text", "tool"]


def test_what_is_being_said_next_stays_when_a_message_comes() -> None:
    state = ConsoleState(summary())
    state.stream("coordinator", b"2", "And")
    state.add_messages([said(1, "And another thing.")])
    assert state.streaming == [("coordinator", "And")]
