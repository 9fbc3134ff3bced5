"""The recorder: every event and every text on disk once, numbered, whatever is delivered twice."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from actors.recorder.recorder import Recorder, name_of, serve
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent, Event
from agiraph.messages.event import EventAppended, ReportEvents
from agiraph.messages.text import TextMessage
from agiraph.readmodel.message_log import JOURNAL, MessageLog, read_messages
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from tests.fakes.fake_runtime import FakeRuntime, SilentLog, arrived, events_of
from transport.endpoint import Received


@pytest.fixture
def home(tmp_path: Path) -> Home:
    agent = Agent(
        id=AgentId("survey-abc123"),
        name="survey",
        goal="g",
        model="script/survey",
        worker_model="script/survey",
        run=RunId("r1"),
        created_at=1.0,
        updated_at=1.0,
    )
    home = Home(tmp_path)
    record = home.agent(agent.id).record
    record.parent.mkdir(parents=True)
    record.write_text(agent.model_dump_json())
    return home


def lines(home: Home, agent: str = "survey-abc123") -> list[dict[str, object]]:
    return [json.loads(line) for line in home.agent(agent).events.read_text().splitlines()]


def opened(home: Home, log: SilentLog | None = None) -> Recorder:
    return Recorder(home, log or SilentLog(), load_config().retention, lambda: 7.0)


def recorded(home: Home, *batch: Received, log: SilentLog | None = None) -> list[Event]:
    """Have a recorder of its own write a batch; return the events that are new."""
    recorder = opened(home, log)
    new = recorder.record(batch)
    recorder.close()
    return new


def report(*types: str, agent: str = "survey-abc123", by: str = "x") -> Received:
    return arrived(ReportEvents(events=events_of(agent, types)), by)


def text(
    content: str, sender: str, to: str, from_name: str = "Alice", to_name: str = "Bob"
) -> Received:
    body = TextMessage(content=content, from_name=from_name, to_name=to_name)
    return arrived(body, sender, to=f"survey-abc123/{to}", is_tap=True)


def numbered(home: Home) -> list[tuple[object, object]]:
    return [(line["seq"], line["type"]) for line in lines(home)]


def test_events_are_numbered_by_their_line_over_all_reports_and_restarts(home: Home) -> None:
    recorded(home, report("a", "b"), report("c", by="y"))
    assert [event.seq for event in recorded(home, report("d"))] == [4]
    assert numbered(home) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_redelivered_report_is_written_once(home: Home) -> None:
    message = report("a", "b")
    recorder = opened(home)
    recorder.record([message])
    assert recorder.record([message]) == []
    recorder.close()
    assert recorded(home, message) == []
    assert len(lines(home)) == 2


def test_a_report_of_which_a_crash_wrote_only_a_part_is_completed(home: Home) -> None:
    message = report("a", "b", "c")
    recorded(home, message)
    path = home.agent("survey-abc123").events
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(whole[0] + whole[1][:20])
    assert [event.seq for event in recorded(home, message)] == [2, 3]
    assert numbered(home) == [(1, "a"), (2, "b"), (3, "c")]


def test_secrets_in_events_are_redacted(home: Home) -> None:
    command = "curl -H 'Authorization: Bearer abcdefgh12345678'"
    data = {"arguments": {"command": command}}
    event = Event(type="tool.called", agent_id=AgentId("survey-abc123"), ts=1.0, data=data)
    recorded(home, arrived(ReportEvents(events=(event,)), "x"))
    assert "abcdefgh12345678" not in home.agent("survey-abc123").events.read_text()


@pytest.mark.parametrize("odd", ["../evil", ".archive", "", "a/b"])
def test_agent_id_that_is_not_a_folder_name_is_refused(home: Home, odd: str) -> None:
    assert recorded(home, report("a", agent=odd)) == []
    assert sorted(path.name for path in home.path.rglob("*.jsonl")) == []


def test_event_with_a_key_is_written_once_however_often_it_is_reported(home: Home) -> None:
    one = Event(type="node.completed", agent_id=AgentId("a-1"), ts=1.0, key="board:r:1:0")
    other = one.model_copy(update={"key": "board:r:2:0"})
    with_key = [
        arrived(ReportEvents(events=events), "a-1/coordinator") for events in ((one,), (one, other))
    ]
    assert [event.seq for event in recorded(home, with_key[0])] == [1]
    new = recorded(home, *with_key)
    assert [(event.seq, event.key) for event in new] == [(2, "board:r:2:0")]


def test_late_events_of_an_archived_agent_are_written_to_the_archive(home: Home) -> None:
    archive = home.agents / ".archive"
    archive.mkdir()
    home.agent("survey-abc123").path.rename(archive / "survey-abc123")
    recorded(home, report("a"))
    assert (archive / "survey-abc123" / "events.jsonl").exists()
    assert not home.agent("survey-abc123").path.exists()


def test_a_damaged_log_of_one_agent_does_not_stop_the_others(home: Home) -> None:
    damaged = home.agent("broken-1").events
    damaged.parent.mkdir()
    damaged.write_text("rubbish\nmore rubbish\n")
    log = SilentLog()
    new = recorded(home, report("a", agent="broken-1"), report("b"), log=log)
    assert [event.type for event in new] == ["b"]
    assert "broken-1" in log.lines[0]
    aside = next(damaged.parent.glob("events.jsonl.corrupt-*"))
    assert aside.read_text() == "rubbish\nmore rubbish\n"


def put_in_place(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path.parent / "elsewhere")


@pytest.mark.parametrize("kind", ["folder", "link", "device", "pipe"])
def test_agent_with_an_irregular_log_is_quarantined_until_repaired(home: Home, kind: str) -> None:
    log = SilentLog()
    odd = home.agent("odd-1").events
    put_in_place(odd, kind)
    recorder = opened(home, log)
    batch = [report("a", "b", agent="odd-1"), report("c")]
    assert [event.type for event in recorder.record(batch)] == ["c"]
    assert "odd-1" in log.lines[0]
    odd.rename(odd.with_name("away"))
    new = recorder.record([report("d", agent="odd-1", by="y")])
    recorder.close()
    assert [(event.type, event.data.get("lost")) for event in new] == [
        ("agent.quarantined", 2),
        ("d", None),
    ]


@pytest.mark.parametrize("kind", ["folder", "link", "device", "pipe"])
def test_irregular_message_log_is_not_read_and_is_reported(
    home: Home, kind: str, tmp_path: Path
) -> None:
    messages = home.agent("survey-abc123").run("r1").messages
    secret = messages / "elsewhere"
    put_in_place(messages / JOURNAL, kind)
    secret.write_text("no newline, and secret")
    recorder = opened(home)
    assert recorder.record([text("Hello", "survey-abc123/alice-0", "bob-1")]) == []
    [told] = recorder.record([report("b", by="y")])[:1]
    recorder.close()
    assert told.type == "agent.quarantined"
    assert str(messages / JOURNAL) in told.data["reason"]
    assert secret.read_text() == "no newline, and secret"
    assert not list(messages.glob("*.corrupt-*"))


def test_texts_between_entities_become_numbered_files_with_names(home: Home) -> None:
    recorded(
        home,
        text("Hello Bob", "survey-abc123/alice-0a1b2c", "bob-112233", to_name=""),
        text("Go", "human", "coordinator", "human", "coordinator"),
    )
    folder = home.agent("survey-abc123").run("r1").messages
    first = folder / "0001_alice_to_bob.md"
    assert first.read_text() == "FROM: Alice\nTO: bob\nTIME: 1970-01-01T00:16:40Z\n\nHello Bob\n"
    assert (folder / "0002_human_to_coordinator.md").exists()


def test_redelivered_text_is_written_once_and_numbers_continue(home: Home) -> None:
    again, other = (text(content, "survey-abc123/a-1", "b-2") for content in ("one", "two"))
    recorded(home, again, again)
    recorded(home, again, other)
    folder = home.agent("survey-abc123").run("r1").messages
    assert [message.content for message in read_messages(folder)] == ["one", "two"]
    assert len(list(folder.glob("*.md"))) == 2


def test_message_file_missing_after_a_crash_is_written_at_the_next_start(tmp_path: Path) -> None:
    log = MessageLog(tmp_path)
    log.add("id1", "Alice", "Bob", "hello", 1.0)
    log.close()
    (tmp_path / "0001_alice_to_bob.md").unlink()
    MessageLog(tmp_path).close()
    assert (tmp_path / "0001_alice_to_bob.md").read_text().endswith("hello\n")


def test_name_with_unusual_characters_stays_inside_the_folder(tmp_path: Path) -> None:
    log = MessageLog(tmp_path)
    log.add("id1", "../../etc\nTO: root", "*", "x", 1.0)
    log.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [JOURNAL, "0001_etc-to-root_to_x.md"]
    assert "FROM: ../../etc TO: root\n" in (tmp_path / names[1]).read_text()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("a-1/coordinator", "coordinator"),
        ("a-1/mary-ann-0a1b2c", "mary-ann"),
        ("human", "human"),
        ("console/1", "human"),
        ("supervisor", "supervisor"),
    ],
)
def test_addresses_are_shown_by_name(address: str, name: str) -> None:
    assert name_of(address) == name


async def test_message_is_acknowledged_after_the_write_and_the_gateway_is_notified(
    home: Home,
) -> None:
    line = FakeRuntime(home.path)
    serving = asyncio.create_task(serve(line))  # type: ignore[arg-type]
    messages = [report("a"), report("b")]
    for message in messages:
        line.put(message)
    await line.until(lambda: len(line.finished) == 2)
    assert [line["type"] for line in lines(home)] == ["a", "b"]
    told = [body for body in line.sent_to("human") if isinstance(body, EventAppended)]
    assert [body.event.seq for body in told] == [2]
    serving.cancel()
    await asyncio.wait([serving])
