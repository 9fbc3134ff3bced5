"""An audience: each event once to each member in order, however it joins, lags and comes back."""

import asyncio
import json
from pathlib import Path

import pytest
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from actors.gateway.events.event_subscribers import EventSubscriber, EventSubscribers, text_frame
from actors.recorder.event_log import EVERYTHING, EventLog
from agiraph.core.event_filter import EventFilter
from agiraph.core.ids import AgentId
from agiraph.core.models import Event


class Wire:
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        self.data = b""
        self.takes_more = True

    def write(self, frames: bytes) -> None:
        self.data += frames

    def seqs(self) -> list[int]:
        """Return the seq of each event that was sent."""
        return [json.loads(text)["seq"] for text in texts(self.data)]


def texts(data: bytes) -> list[str]:
    """Return the texts of a server's frames, as a client reads them."""
    reader = StreamReader()
    reader.feed_data(data)
    found = []
    while len(reader.buffer):
        parsing = Frame.parse(reader.read_exact, mask=False, max_size=None)
        try:
            next(parsing)
        except StopIteration as done:
            frame = done.value
        found.append((frame.opcode, bytes(frame.data).decode()))
    assert {opcode for opcode, _ in found} <= {Opcode.TEXT}
    return [text for _, text in found]


class Log:
    """A log that tests append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = EventLog(path)
        self.count = 0

    def add(self, *types: str) -> None:
        """Append one event of each type."""
        with open(self.path, "ab") as file:
            for type in types:
                self.count += 1
                event = Event(type=type, agent_id=AgentId("a"), ts=1.0, seq=self.count)
                file.write(event.model_dump_json().encode() + b"\n")


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "events.jsonl")


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 70000])
def test_a_frame_is_read_back_by_a_client(size: int) -> None:
    assert texts(text_frame(b"x" * size)) == ["x" * size]


def test_all_members_are_shown_what_comes_and_a_filter_narrows_it(log: Log) -> None:
    log.add("a", "b")
    audience = EventSubscribers(log.reader)
    one, other = Wire(), Wire()
    assert audience.join(EventSubscriber(one, 2, EVERYTHING))
    assert audience.join(EventSubscriber(other, 2, EventFilter(types=frozenset({"d"}))))
    log.add("c", "d")
    audience.show()
    assert (one.seqs(), other.seqs()) == ([3, 4], [4])


def test_who_is_behind_the_others_is_not_let_in_and_who_is_ahead_gets_nothing_twice(
    log: Log,
) -> None:
    log.add("a", "b", "c")
    audience = EventSubscribers(log.reader)
    first, ahead = Wire(), Wire()
    audience.join(EventSubscriber(first, 2, EVERYTHING))
    assert not audience.join(EventSubscriber(Wire(), 1, EVERYTHING))
    assert audience.join(EventSubscriber(ahead, 3, EVERYTHING))
    log.add("d")
    audience.show()
    assert (first.seqs(), ahead.seqs()) == ([3, 4], [4])


def test_a_member_that_takes_nothing_is_let_out_with_its_cursor(log: Log) -> None:
    audience = EventSubscribers(log.reader)
    slow, quick = Wire(), Wire()
    member = EventSubscriber(slow, 0, EVERYTHING)
    audience.join(member)
    audience.join(EventSubscriber(quick, 0, EVERYTHING))
    log.add("a")
    audience.show()
    slow.takes_more = False
    log.add("b")
    audience.show()
    assert (member.is_out.is_set(), member.cursor) == (True, 1)
    assert (slow.seqs(), quick.seqs()) == ([1], [1, 2])


def test_rings_that_come_together_are_answered_once_and_a_broken_log_lets_all_out(
    log: Log,
) -> None:
    async def run() -> None:
        audience = EventSubscribers(log.reader)
        wire = Wire()
        member = EventSubscriber(wire, 0, EVERYTHING)
        audience.join(member)
        log.add(*"abc")
        for _ in range(3):
            audience.ring()
        await asyncio.sleep(0)
        assert wire.seqs() == [1, 2, 3]
        with open(log.path, "ab") as file:
            file.write(b"no json\n")
        audience.ring()
        await asyncio.sleep(0)
        assert member.is_out.is_set()

    asyncio.run(run())
