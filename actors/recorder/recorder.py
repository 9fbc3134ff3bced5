"""The process `recorder`: writes events, and the messages between entities, to disk.

It is the only writer of two things: each agent's `events.jsonl`, from the reports of all actors,
and each run's `_messages/`, from the router's copies (marked TAP) of the texts between entities.
Messages that arrive within a moment are written together: one fsync per agent and batch. A message
is acknowledged only when it is on disk, and a repeated message leaves no second trace.
"""

import asyncio
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from actors.recorder.event_file import ClosedLog, EventFile
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.core.concurrency import Signal
from agiraph.core.errors import Corrupt
from agiraph.core.ids import (
    CLOCK,
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    RECORDER,
    TRACER,
    AgentId,
    agent_of,
    is_plain_name,
)
from agiraph.core.models import Agent, Event
from agiraph.logs.event_log import DELETED
from agiraph.messages.authorization import is_person, is_worker, shown_name
from agiraph.messages.event import EventAppended, EventsGrew, ReportEvents
from agiraph.messages.text import TextMessage
from agiraph.readmodel.message_log import MessageLog
from agiraph.settings.config import RetentionConfig
from agiraph.storage.files import entries, is_folder, read_bytes, remove_file
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.journal import read_tail
from agiraph.storage.segments import Segment, outlived, segments_of
from agiraph.storage.walk import is_about_place
from transport.endpoint import Received

BATCH = 256
GATHER_SECONDS = 0.02
OPEN_EVENTS = 256
OPEN_MESSAGES = 128
SHUT_KEPT = 10_000
SYNCING = 16
"""Files that are synced at once: the file system then commits them together."""

ARCHIVE = ".archive"


def main(launch: ActorLaunch) -> int:
    """Run the recorder; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Record messages until cancelled."""
    recorder = Recorder(runtime.home, runtime.log, runtime.config.retention)
    arrived = MessageBatcher(runtime)
    reading = asyncio.create_task(arrived.read())
    try:
        tidied = recorder.tidy()
        await runtime.ready()
        await _notify(runtime, tidied)
        while True:
            batch = await arrived.receive(BATCH)
            await _notify(runtime, recorder.record(batch))
            for received in batch:
                runtime.done(received)
    finally:
        reading.cancel()
        recorder.close()


async def _notify(runtime: Runtime, new: Sequence[Event]) -> None:
    """Notify gateway, scheduler and tracer about the new events."""
    last = {event.agent_id: event for event in new}
    if not last:
        return
    counts: defaultdict[AgentId, Counter[str]] = defaultdict(Counter)
    for event in new:
        counts[event.agent_id][event.type] += 1
    for agent, event in last.items():
        await runtime.send(HUMAN, EventAppended(event=event, counts=counts[agent]))
    runtime.post(CLOCK, EventsGrew(agents=tuple(last)))
    if runtime.config.telemetry.otlp_endpoint:
        runtime.post(TRACER, EventsGrew(agents=tuple(last)))


class MessageBatcher:
    """Messages as they arrive, passed on in batches; the caller runs `read` as a task."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._waiting: deque[Received] = deque()
        self._arrived = Signal()

    async def read(self) -> None:
        """Receive messages forever."""
        while True:
            self._waiting.append(await self._runtime.receive_ahead())
            self._arrived.set()

    async def receive(self, most: int) -> list[Received]:
        """Wait for a message; return it with those that arrive soon after it, at most `most`.

        A message over which the recorder has crashed before comes alone.
        """
        await self._arrived.until(lambda: bool(self._waiting))
        if len(self._waiting) < most:
            await asyncio.sleep(GATHER_SECONDS)
        batch = list(islice(self._waiting, most))
        count = self._runtime.take_up([received.header.id.hex() for received in batch])
        return [self._waiting.popleft() for _ in range(count)]


@dataclass(frozen=True, slots=True)
class UnwritableLog:
    """Why an agent's events and messages cannot be written, and how many have been lost."""

    reason: str
    lost: int

    def event(self, agent: AgentId, now: float) -> tuple[str, Event]:
        """Return (source, event): the event that reports the gap in the log."""
        data = {"service": RECORDER, "reason": self.reason, "lost": self.lost}
        event = Event(type="agent.quarantined", agent_id=agent, ts=now, entity=RECORDER, data=data)
        return f"aside:{now}", event


class Recorder:
    """Writes batches of messages to event logs and message logs; knows no bus."""

    def __init__(
        self,
        home: Home,
        log: Any,
        retention: RetentionConfig,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._log = log
        self._retention = retention
        self._now = now
        self._aside: dict[AgentId, UnwritableLog] = {}
        self._events: OrderedDict[AgentId, EventFile] = OrderedDict()
        self._shut: OrderedDict[AgentId, ClosedLog] = OrderedDict()
        self._messages: OrderedDict[Path, MessageLog] = OrderedDict()
        self._syncing = ThreadPoolExecutor(SYNCING, "sync")

    def tidy(self) -> list[Event]:
        """Convert every agent's log to the current format, and apply the limits on its size.

        Returns the events that report the deletions.
        """
        try:
            folders = entries(self._home.agents)
        except FileNotFoundError:
            return []
        agents = [AgentId(one.name) for one in folders if one.kind == "folder"]
        new = [event for agent in agents if is_plain_name(agent) for event in self._tidied(agent)]
        self._sync()
        return new

    def _tidied(self, agent: AgentId) -> list[Event]:
        try:
            return self._delete_old(agent)
        except (Corrupt, OSError) as error:
            self._set_aside(agent, error, lost=0)
            return []

    def record(self, batch: Sequence[Received]) -> list[Event]:
        """Write a batch of messages; return the new events in order, each with its seq."""
        reported: dict[AgentId, list[tuple[str, Event]]] = {}
        for received in batch:
            if isinstance(received.body, ReportEvents):
                for number, event in enumerate(received.body.events):
                    source = _source(received, event.key, number)
                    reported.setdefault(event.agent_id, []).append((source, event))
            elif isinstance(received.body, TextMessage):
                self._record_text(received, received.body)
        new: list[Event] = []
        for agent, events in reported.items():
            new.extend(self._record_events(agent, events))
        self._sync()
        return new

    def _sync(self) -> None:
        """Wait until everything written is on disk."""
        written = [file for file in self._events.values() if file.is_behind]
        if len(written) > 1:
            list(self._syncing.map(EventFile.try_sync, written))
        for file in written:
            file.sync()  # a file without room on the disk waits for it here, one after the other

    def _record_events(self, agent: AgentId, events: list[tuple[str, Event]]) -> list[Event]:
        if not is_plain_name(agent):
            return []
        aside = self._aside.get(agent)
        reported = [aside.event(agent, self._now())] if aside else []
        try:
            new = self._written(agent, [*reported, *events])
        except (Corrupt, OSError) as error:
            self._set_aside(agent, error, len(events))
            return []
        self._aside.pop(agent, None)
        return new

    def _written(self, agent: AgentId, events: list[tuple[str, Event]]) -> list[Event]:
        file = self._events_of(agent)
        try:
            new = file.write_events(events)
        except FileNotFoundError:  # its folder is in the archive now; the log continues there
            self._drop(agent)
            file = self._events_of(agent)
            new = file.write_events(events)
        return new + self._delete_old(agent) if file.take_turn() else new

    def _drop(self, agent: AgentId) -> None:
        if agent in self._events:
            self._events.pop(agent).close()

    def _set_aside(self, agent: AgentId, error: Corrupt | OSError, lost: int) -> None:
        """Continue without one agent's log; once writable, the log gets an event about it."""
        if isinstance(error, OSError) and not is_about_place(error):
            raise error
        self._drop(agent)
        known = self._aside.get(agent)
        self._aside[agent] = UnwritableLog(str(error), lost + (known.lost if known else 0))
        if known is None or known.reason != str(error):
            self._log.error("an agent is set aside", agent=agent, lost=lost, reason=str(error))

    def _delete_old(self, agent: AgentId) -> list[Event]:
        """Delete the segments that the settings no longer keep; return the event about it."""
        kept, path = self._retention, self._folder_of(agent).events
        if kept.events_days is None and kept.events_bytes is None:
            return []
        doomed = outlived(
            segments_of(path), newest_ts, self._now(), kept.events_days, kept.events_bytes
        )
        if not doomed:
            return []
        data = {
            "first": doomed[0].first,
            "last": doomed[-1].last,
            "bytes": sum(segment.size for segment in doomed),
        }
        event = Event(type=DELETED, agent_id=agent, ts=self._now(), entity=RECORDER, data=data)
        # Reported before the deletion: after a crash in between it is reported with the same key.
        key = f"{DELETED}:{data['first']}-{data['last']}"
        new = self._events_of(agent).append_events([(key, event.model_copy(update={"key": key}))])
        for segment in doomed:
            remove_file(segment.path)
        self._log.info("deleted old events", agent=agent, **data)
        return new

    def close(self) -> None:
        """Close all files."""
        self._syncing.shutdown()
        for file in self._events.values():
            file.close()
        for log in self._messages.values():
            log.close()

    def _record_text(self, received: Received, body: TextMessage) -> None:
        header = received.header
        agent = agent_of(header.sender) or agent_of(header.to)
        home = self._folder_of(agent) if agent and is_plain_name(agent) else None
        run = _current_run(home) if home else None
        if agent is None or home is None or run is None:
            return
        try:
            log = self._messages_in(home.run(run).messages)
            sender = _named(header.sender, body.from_name)
            to = _named(header.to, body.to_name)
            log.add(
                header.id.hex(),
                sender,
                to,
                body.content,
                header.sent_at,
                body.in_reply_to,
                body.copy_of,
            )
        except (Corrupt, OSError) as error:
            self._set_aside(agent, error, lost=1)

    def _events_of(self, agent: AgentId) -> EventFile:
        if agent not in self._events:
            self._events[agent] = EventFile(
                self._folder_of(agent).events,
                self._retention.segment_bytes,
                self._shut.pop(agent, None),
            )
            if len(self._events) > OPEN_EVENTS:
                self._shut_oldest()
        self._events.move_to_end(agent)
        return self._events[agent]

    def _shut_oldest(self) -> None:
        agent, file = self._events.popitem(last=False)
        self._shut[agent] = file.shut()
        if len(self._shut) > SHUT_KEPT:
            self._shut.popitem(last=False)

    def _messages_in(self, folder: Path) -> MessageLog:
        if folder not in self._messages:
            self._messages[folder] = MessageLog(folder, self._retention.segment_bytes)
            if len(self._messages) > OPEN_MESSAGES:
                self._messages.popitem(last=False)[1].close()
        self._messages.move_to_end(folder)
        return self._messages[folder]

    def _folder_of(self, agent: AgentId) -> AgentHome:
        """Return an agent's home, which may be archived by now."""
        home = self._home.agent(agent)
        archived = self._home.agents / ARCHIVE / agent
        return AgentHome(archived) if not is_folder(home.path) and is_folder(archived) else home


def newest_ts(segment: Segment) -> float:
    """Return the time of a segment's last event; an unreadable segment counts as new."""
    records = read_tail(segment.path)
    return float(records[-1]["ts"]) if records else math.inf


def _source(received: Received, key: str, number: int) -> str:
    """Return an event's source: `key`, bound to a sending worker, or message id and number."""
    header = received.header
    if key and is_worker(header.sender) and not key.startswith(f"{header.sender}:"):
        return f"{header.sender}:{key}"
    return key or f"{header.id.hex()}:{number}"


def name_of(address: str) -> str:
    """Return the name that an address is shown by: `{agent}/{name}-{id}` is `name`."""
    if is_person(address):
        return HUMAN_NAME
    inner = address.rpartition("/")[2]
    return inner if inner == COORDINATOR_NAME else inner.rpartition("-")[0] or inner


def _named(address: str, claimed: str) -> str:
    """Return the name to log for an address: `claimed` if it is the address's own name."""
    shown = shown_name(address, claimed)
    return name_of(address) if shown == address else shown


def _current_run(home: AgentHome) -> str | None:
    try:
        return Agent.model_validate_json(read_bytes(home.record)).run
    except (OSError, ValueError):
        return None
