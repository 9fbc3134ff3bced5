"""An agent's log in segments: numbers, repeats, cursors and retention, across crashes."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from actors.recorder import event_file, recorder
from actors.recorder.event_file import EventFile
from agiraph.api.live.event_feed import LogSignals, follow
from agiraph.api.live.feeds import FeedEnd
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.logs.event_filter import EventFilter
from agiraph.logs.event_log import DELETED, EventLog
from agiraph.messages.event import ReportEvents
from agiraph.readmodel import message_log
from agiraph.readmodel.message_log import JOURNAL, MessageLog, read_messages
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from agiraph.storage.journal import Journal
from agiraph.storage.segments import segments_of
from tests.fakes.fake_runtime import SilentLog, arrived

BYTES = 2_000
DAY = 86_400.0


def event(number: int, agent: str = "a-1", ts: float | None = None) -> Event:
    when = float(number) if ts is None else ts
    return Event(type="node.started", agent_id=AgentId(agent), ts=when, key=f"k{number}")


def pairs(first: int, last: int) -> list[tuple[str, Event]]:
    return [(f"k{number}", event(number)) for number in range(first, last + 1)]


def filled(path: Path, last: int) -> EventFile:
    file = EventFile(path, BYTES)
    for number in range(1, last + 1):
        file.append_events(pairs(number, number))
    return file


def seqs(log: EventLog, after: int = 0) -> list[int]:
    return [one.seq for one in log.page(after, 10_000)]


def opened(home: Home, now: float = 0.0, **retention: Any) -> recorder.Recorder:
    kept = load_config().retention.model_copy(update={"segment_bytes": BYTES, **retention})
    return recorder.Recorder(home, SilentLog(), kept, lambda: now)


def reported(*numbers: int, agent: str = "a-1", ts: float | None = None) -> Any:
    return arrived(ReportEvents(events=tuple(event(n, agent, ts) for n in numbers)), "x")


def test_the_newest_events_are_always_in_the_file_of_the_old_name(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    filled(path, 100).close()
    assert json.loads(path.read_text().splitlines()[-1])["seq"] == 100
    full = segments_of(path)
    assert [one.first for one in full] == [1, *(one.last + 1 for one in full[:-1])]
    assert all(json.loads(one.path.read_text().splitlines()[0])["seq"] == one.first for one in full)
    assert all(one.size <= 2 * BYTES for one in full)


def test_repeated_event_is_recognized_regardless_of_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_file, "REMEMBERED", 10)
    path = tmp_path / "events.jsonl"
    file = filled(path, 300)
    assert file.append_events(pairs(1, 300)) == []
    before = file.shut()
    for again in (EventFile(path, BYTES), EventFile(path, BYTES, before)):
        assert again.append_events(pairs(1, 300)) == []
        late = event(150).model_copy(update={"key": "late"})
        again.close()
    again = EventFile(path, BYTES, before)
    assert [one.seq for one in again.append_events([("late", late)])] == [301], (
        "it is new, though old"
    )
    assert len(again._sources) <= 10
    again.close()


def test_data_of_an_event_is_not_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_file, "REMEMBERED", 5)
    file = EventFile(tmp_path / "events.jsonl", BYTES)
    forged = event(1).model_copy(update={"data": {"source": "board:1", "x": {"source": "board:1"}}})
    file.append_events([("k1", forged)])
    file.append_events(pairs(2, 50))
    assert [one.seq for one in file.append_events([("board:1", event(1))])] == [51]
    assert file.append_events([("board:1", event(1)), ("k1", forged)]) == []
    file.close()


def test_cost_of_opening_does_not_grow_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def journal(path: Path, *since: Any) -> Any:
        found = Journal(path, *since)
        read.extend(str(one["seq"]) for one in found.records)
        return found

    path = tmp_path / "events.jsonl"
    before = filled(path, 400).shut()
    monkeypatch.setattr("agiraph.storage.segments.Journal", journal)
    EventFile(path, BYTES).close()
    assert 0 < len(read) < 20, "the active file alone"
    read.clear()
    EventFile(path, BYTES, before).close()
    assert read == []


def test_more_agents_than_open_files_cost_no_second_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "OPEN_EVENTS", 2)
    home = Home(tmp_path)
    for agent in "abcd":
        home.agent(agent).path.mkdir(parents=True)
    written = opened(home)
    for number in range(1, 60):
        for agent in "abcd":
            written.record([reported(number, agent=agent), reported(number, agent=agent)])
    assert len(written._events) == 2
    written.close()
    for agent in "abcd":
        assert seqs(EventLog(home.agent(agent).events)) == list(range(1, 60))


def test_old_segments_are_deleted_and_the_deletion_is_an_event(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.agent("a-1").events
    path.parent.mkdir(parents=True)
    filled(path, 100).close()
    full = segments_of(path)
    cursor = EventLog(path)
    assert cursor.page(3, 1)[0].seq == 4
    kept = opened(home, now=full[2].last + 5 * DAY, events_days=5)
    [told] = kept.tidy()
    assert (told.type, told.seq) == (DELETED, 101)
    assert (told.data["first"], told.data["last"]) == (1, full[1].last)
    assert [one.first for one in segments_of(path)] == [one.first for one in full[2:]]
    assert kept.tidy() == []
    kept.close()
    for log in (cursor, EventLog(path)):
        first, second, *_ = log.page(3, 10)
        assert (first.type, first.seq, first.data) == (
            DELETED,
            full[1].last,
            {"first": 4, "last": full[1].last},
        )
        assert second.seq == first.seq + 1 == full[2].first
        picked, _ = log.pick(3, 10, EventFilter(types=frozenset({"node.failed"})))
        assert [one.seq for one in picked] == [first.seq], "whatever was asked for"
        assert seqs(log, first.seq) == list(range(full[2].first, 102))
        for before in (full[2].first + 1, first.seq + 1):
            [gone, *kept_of], start, to = log.pick_before(before, 5)
            assert (gone.seq, gone.data["first"], start) == (first.seq, 1, 0)
            assert [one.seq for one in kept_of] == list(range(full[2].first, before))
            assert to == before - 1
        assert log.pick_before(first.seq, 5) == ([], 0, first.seq - 1)


def test_log_is_bounded_in_bytes_and_keeps_the_newest_events(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.agent("a-1").events
    path.parent.mkdir(parents=True)
    kept = opened(home, events_bytes=5_000)
    told = [one for n in range(1, 200) for one in kept.record([reported(n, ts=1.0 * n)])]
    kept.close()
    assert sum(one.size for one in segments_of(path)) <= 5_000 + 2 * BYTES
    deleted = [one for one in told if one.type == DELETED]
    assert [one.seq for one in told] == list(range(1, len(told) + 1))
    assert deleted[0].data["first"] == 1
    assert segments_of(path)[0].first == deleted[-1].data["last"] + 1


def test_interrupted_deletion_is_completed_and_reported_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.agent("a-1").events
    path.parent.mkdir(parents=True)
    filled(path, 100).close()
    now = segments_of(path)[3].last + DAY
    copies = {one.path: one.path.read_bytes() for one in segments_of(path)}
    kept = opened(home, now=now, events_days=1)
    assert len(kept.tidy()) == 1
    kept.close()
    for file, content in copies.items():
        file.write_bytes(content)
    again = opened(home, now=now, events_days=1)
    assert again.tidy() == []
    again.close()
    assert segments_of(path)[0].first > 1


def test_a_message_log_in_segments_is_paged_and_repeats_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for begin in (0, 30):
        log = MessageLog(tmp_path, BYTES)
        added = [
            log.add(f"id{n}", "Ada", "Bob" if n % 2 else "Cyd", "x" * 50, 1.0) for n in range(60)
        ]
        assert added == [begin == 0] * 60
        log.close()
    assert len(segments_of(tmp_path / JOURNAL)) == 3
    assert [one.seq for one in read_messages(tmp_path)] == list(range(1, 61))
    assert [one.seq for one in read_messages(tmp_path, 20, 3, "bob")] == [22, 24, 26]
    monkeypatch.setattr(message_log, "PAGE", 7)

    def back(before: int, limit: int, after: int = 0, **named: str) -> list[int]:
        return [one.seq for one in read_messages(tmp_path, after, limit, before=before, **named)]

    assert back(2**53, 3) == [58, 59, 60]
    assert back(20, 12) == list(range(8, 20))
    assert back(20, 9, after=15, entity="bob") == [16, 18]
    assert back(2**53, 3, entity="bob", other="Ada") == [56, 58, 60]
    assert back(9, 99, entity="bob", other="bob") == back(9, 99, entity="bob")
    assert back(2**53, 3, entity="bob", other="nobody") == []


def _write_for_ever(path: Path) -> None:
    known = EventLog(path).last()
    file = EventFile(path, BYTES)
    number = max(0, known - 30)  # events on their way are reported again
    while True:
        file.append_events(pairs(number + 1, number + 3))
        number += 3


def test_a_follower_misses_and_repeats_nothing_while_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log, seen, keys = EventLog(path), 0, []
    fork = multiprocessing.get_context("fork")
    for _ in range(12):
        writer = fork.Process(target=_write_for_ever, args=(path,))
        writer.start()
        assert writer.pid is not None
        aim, deadline = seen + 40, time.monotonic() + 30
        while seen < aim:
            assert time.monotonic() < deadline, f"stuck after event {seen}"
            for one in log.page(seen, 7):
                assert one.seq == seen + 1
                seen = one.seq
                keys.append(one.key)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    while found := log.page(seen, 500):
        keys += [one.key for one in found]
        seen = found[-1].seq
    assert keys == [f"k{number}" for number in range(1, seen + 1)]
    assert len(segments_of(path)) > 10
    again = EventLog(path)
    assert [one.key for one in again.page(0, seen)] == keys


def test_full_log_continues_in_the_archive(tmp_path: Path) -> None:
    home = Home(tmp_path)
    agent = home.agent("a-1").path
    agent.mkdir(parents=True)
    written = opened(home)
    for number in range(1, 15):
        written.record([reported(number)])
    archived = home.agents / ".archive" / "a-1"
    archived.parent.mkdir()
    agent.rename(archived)
    for number in range(15, 60):
        assert [one.seq for one in written.record([reported(number)])] == [number]
    written.close()
    assert not agent.exists()
    assert len(segments_of(archived / "events.jsonl")) > 2
    assert seqs(EventLog(archived / "events.jsonl")) == list(range(1, 60))


async def test_follower_receives_deleted_events_and_the_cause_of_its_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events.jsonl"
    filled(path, 60).close()
    full = segments_of(path)
    full[0].path.unlink()
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rindex(b"\n") + 1
    path.write_bytes(whole[:last] + whole[last:].replace(b"node.started", b"node.stopped"))
    *pages, goodbye = [
        item async for item in follow(EventLog(path), LogSignals(), AgentId("a-1"), 2)
    ]
    sent = [event.seq for page in pages if isinstance(page, list) for event in page]
    damaged = EventLog(path).last()
    assert sent == [full[0].last, *range(full[1].first, sent[-1] + 1)]
    assert goodbye == FeedEnd(1011, f"{path}: event {damaged} is damaged"[-100:])
