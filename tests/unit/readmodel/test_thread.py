"""The thread: each thing that was said or done is one entry, with one id and one place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.http.api import ThreadEntryView
from agiraph.logs.event_log import EventLog
from agiraph.readmodel.thread import Thread, ThreadFilter, thread_page
from agiraph.storage.segments import SegmentedJournal

AGENT = AgentId("shop-1")
LATEST = 2**53


def event(type: str, entity: str = "coordinator", key: str = "", **data: Any) -> Event:
    sender = {"from": data.pop("sender")} if "sender" in data else {}
    name = f"{AGENT}/{entity}:{type}:{key}" if key else ""
    return Event(type=type, agent_id=AGENT, ts=1.0, entity=entity, data=sender | data, key=name)


def sent(id: str, content: str, to: str = "human", sender: str = "coordinator") -> Event:
    return event("message.sent", sender, sender=sender, to=to, content=content, id=id)


def received(id: str, content: str) -> Event:
    return event(
        "message.received", "human", sender="coordinator", to="human", content=content, id=id
    )


def answered(text: str, message: str = "", **data: Any) -> Event:
    return event("model.answered", text=text, message=message, **data)


def called(place: str, tool: str = "bash", **data: Any) -> tuple[Event, Event]:
    return (
        event("tool.called", key=place, tool=tool, arguments={"command": "ls"}),
        event("tool.result", key=place, tool=tool, preview="a.txt", characters=5, **data),
    )


def numbered(events: Sequence[Event]) -> list[Event]:
    return [one.model_copy(update={"seq": seq}) for seq, one in enumerate(events, start=1)]


def thread_of(*events: Event) -> list[ThreadEntryView]:
    thread = Thread()
    thread.add_all(numbered(events))
    return sorted(thread.entries.values(), key=lambda entry: entry.seq)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_answer_that_becomes_a_message_is_one_entry(order: tuple[int, ...]) -> None:
    events = [answered("Hello.", "a1", call="c1"), sent("a1", "Hello."), received("a1", "Hello.")]
    [entry] = thread_of(*(events[place] for place in order))
    assert (entry.kind, entry.id, entry.content, entry.seq) == ("message", "a1", "Hello.", 1)
    assert (entry.to, entry.answer) == (("human",), "c1")


def test_equal_texts_are_one_entry_each() -> None:
    entries = thread_of(
        sent("b1", "Go on.", "ada"),
        sent("b2", "Go on.", "bob"),
        answered("Go on.", "b3"),
        sent("b3", "Go on."),
        sent("b4", "Go on."),
    )
    assert [(entry.id, entry.to) for entry in entries] == [
        ("b1", ("ada",)),
        ("b2", ("bob",)),
        ("b3", ("human",)),
        ("b4", ("human",)),
    ]


def test_copies_of_a_text_are_one_entry_to_all_receivers() -> None:
    copy = event("message.sent", sender="ada", to="bob", content="Look.", id="c2", copy_of="c1")
    [entry] = thread_of(sent("c1", "Look.", "coordinator", "ada"), copy, copy)
    assert (entry.id, entry.to) == ("c1", ("coordinator", "bob"))


def test_tool_call_and_its_end_are_one_entry() -> None:
    begin, end = called("7.0", exit_code=2)
    entry, said = thread_of(begin, answered("meanwhile"), end)
    assert said.kind == "said"
    assert (entry.seq, entry.changed) == (1, 3)
    assert entry.call is not None
    assert (entry.call.arguments, entry.call.output) == ({"command": "ls"}, "a.txt")
    assert (entry.call.outcome, entry.call.exit_code) == ("failed", 2)


def test_tool_whose_effect_is_an_entry_is_shown_only_if_it_failed() -> None:
    assert thread_of(*called("1.0", "send_message")) == []
    [entry] = thread_of(*called("1.0", "send_message", is_error=True))
    assert entry.call is not None
    assert entry.call.arguments == {"command": "ls"}


def test_retries_of_one_call_are_one_entry() -> None:
    def retried(why: str, entity: str = "coordinator") -> Event:
        return event("model.retry", entity, message=why)

    entries = thread_of(
        retried("busy 1"),
        retried("busy 2", "ada"),
        retried("busy 3"),
        answered("I try."),
        retried("busy 5"),
    )
    told = [(entry.sender, entry.event and entry.event.data["message"]) for entry in entries]
    assert told == [
        ("coordinator", "busy 3"),
        ("ada", "busy 2"),
        ("coordinator", None),
        ("coordinator", "busy 5"),
    ]


def test_question_and_answer_have_the_ids_of_the_inbox() -> None:
    asked = event("human.question", "ada", sender="ada", question_id="q1", question="Which?")
    given = event("human.response", "human", question_id="q1", answer="This.", to="ada")
    entries = thread_of(asked, given)
    assert [(e.id, e.kind, e.sender, e.to, e.content) for e in entries] == [
        ("question:q1", "question", "ada", ("human",), "Which?"),
        ("answer:q1", "answer", "human", ("ada",), "This."),
    ]


def test_conversation_with_one_entity_has_its_messages_work_and_notices() -> None:
    events = (
        sent("d1", "To ada.", "ada", "human"),
        sent("d2", "To bob.", "bob", "human"),
        sent("d3", "To all.", "*", "human"),
        event("model.answered", "ada", text="I think."),
        event("node.started", worker="ada-7f3a91", name="tables"),
        event("child.ready", "shop-1/ada-7f3a91", was_restarted=False),
    )
    everything = thread_of(*events)

    def shown(name: str) -> list[str]:
        return [entry.id for entry in everything if ThreadFilter(entity=name).takes(entry)]

    assert shown("Ada") == ["d1", "d3", "event:4", "event:5"]
    assert shown("bob") == ["d2", "d3"]
    assert shown("coordinator") == ["d3", "event:5"]


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    """Return a log with tool calls across every border of pages."""
    journal = SegmentedJournal(tmp_path / "events.jsonl", 1 << 20)
    one, two = called("1.0"), called("2.0")
    events = [one[0], two[0], sent("e1", "Hi.", "ada"), one[1], answered("Done.", "e2"), two[1]]
    for each in numbered([*events, sent("e2", "Done.")]):
        journal.append(each.model_dump(mode="json"))
    journal.close()
    return EventLog(tmp_path / "events.jsonl")


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_backwards_have_each_whole_entry_once(log: EventLog, limit: int) -> None:
    found: list[ThreadEntryView] = []
    before: int | None = LATEST
    while before is not None:
        page = thread_page(log, 0, limit, before, ThreadFilter())
        found[:0] = page.entries
        before = page.previous
    assert [(entry.seq, entry.kind) for entry in found] == [
        (1, "tool"),
        (2, "tool"),
        (3, "message"),
        (5, "message"),
    ]
    assert [entry.call.outcome for entry in found if entry.call] == ["done", "done"]


def test_forward_pages_contain_changed_entries(log: EventLog) -> None:
    page = thread_page(log, 3, 100, None, ThreadFilter())
    assert [(entry.seq, entry.changed) for entry in page.entries] == [(1, 4), (5, 7), (2, 6)]
    assert page.next == 7
    assert thread_page(log, 7, 100, None, ThreadFilter()).entries == ()


def test_search_finds_texts_and_arguments_of_calls(log: EventLog) -> None:
    def found(words: str) -> list[int]:
        page = thread_page(log, 0, 100, LATEST, ThreadFilter(search=words))
        return [entry.seq for entry in page.entries]

    assert (found("dONE"), found("a.txt"), found("nowhere")) == ([5], [1, 2], [])


def test_notice_of_the_runtime_belongs_to_the_conversation_of_its_receiver_alone() -> None:
    [entry] = thread_of(event("message.notice", "ada", content="One call is left."))
    assert (entry.kind, entry.event and entry.event.text) == (
        "note",
        "gets a notice of the runtime",
    )
    assert ThreadFilter(entity="ada").takes(entry)
    assert not ThreadFilter(entity="coordinator").takes(entry)
    assert ThreadFilter(search="one CALL").takes(entry)


def test_arguments_that_are_not_json_are_shown_unchanged() -> None:
    begin = event("tool.called", key="1.0", tool="bash", arguments={}, malformed='{"command": ')
    end = event("tool.result", key="1.0", tool="bash", is_error=True, preview="no JSON object")
    [entry] = thread_of(begin, end)
    assert entry.call is not None
    assert (entry.call.malformed, entry.call.step) == ('{"command": ', "1.0")
    assert ThreadFilter(search='{"command"').takes(entry)
