"""The state of the console: what a coordinator says stands there once."""

import pytest

from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.http.api import EventView, MessageView
from cli.console.ui.state import ConsoleState
from tests.unit.cli.console.ui.fakes import happened
from tests.unit.cli.fakes import AGENT, summary

LONG = "I look at the tables first. " * 40


def answered(seq: int, text: str, *calls: str, message: str = "") -> EventView:
    data = {"text": text[:500], "calls": list(calls), "message": message}
    return EventView.of(Event(
        type="model.answered", agent_id=AgentId(AGENT), ts=float(seq), seq=seq,
        entity="coordinator", data=data,
    ))  # fmt: skip


def said(seq: int, text: str, to: str = "human", copy_of: str | None = None) -> MessageView:
    return MessageView(
        seq=seq,
        id=f"m{seq}",
        sender="coordinator",
        to=to,
        content=text,
        ts=float(seq),
        copy_of=copy_of,
    )


def shown(state: ConsoleState) -> list[tuple[str, str]]:
    return [(entry.kind, entry.body) for entry in state.shown]


@pytest.mark.parametrize("text", ["A word.", LONG])
def test_what_is_said_stands_there_once_in_whichever_order_it_comes(text: str) -> None:
    message, event = said(1, text), answered(2, text, message="m1")
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
    events = [answered(number, "Go on.", message=f"m{number}") for number in (1, 2)]
    state.add_events([*events, answered(3, "Go on.", "bash")])
    state.add_messages([said(1, "Go on."), said(2, "Go on.")])
    assert [kind for kind, _ in shown(state)] == ["text", "text", "thought"]


@pytest.mark.parametrize("is_event_first", [True, False])
def test_what_an_entity_says_and_sends_in_the_same_words_is_shown_once_each(
    is_event_first: bool,
) -> None:
    state, event = ConsoleState(summary()), answered(1, "Go on.", message="m2")
    if is_event_first:
        state.add_events([event])
    state.add_messages([said(1, "Go on."), said(2, "Go on."), said(3, "Go on.", to="ada")])
    state.add_events([event])
    state.select("*")
    assert [(entry.kind, entry.to) for entry in state.shown] == [
        ("text", ("human",)),
        ("text", ("human",)),
        ("text", ("ada",)),
    ]


def test_a_text_to_several_is_one_entry_and_two_texts_in_the_same_words_are_two() -> None:
    state = ConsoleState(summary())
    copies = [said(1, "Go on.", to="ada"), said(2, "Go on.", to="bob", copy_of="m1")]
    state.add_messages([*copies, said(3, "Go on.", to="cyd"), *copies])
    state.select("*")
    assert [entry.to for entry in state.shown] == [("ada", "bob"), ("cyd",)]


def test_why_a_run_failed_is_marked() -> None:
    state, why = ConsoleState(summary()), "the model cannot be asked (bad_key): no"
    failed = happened("agent.failed", 2, "coordinator", reason=why)
    state.add_events([failed, failed])
    [entry] = state.shown
    assert (entry.kind, entry.title, entry.tone, entry.body) == ("result", "failed", "bad", why)


def test_the_retries_of_a_model_call_stand_there_once() -> None:
    def retried(seq: int, entity: str = "coordinator") -> EventView:
        told = happened("model.retry", seq, entity, message=f"busy {seq}", wait_seconds=4.0)
        return told.model_copy(update={"ts": float(seq)})

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
