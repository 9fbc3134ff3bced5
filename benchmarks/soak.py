"""A soak of the recorder: a million events of 200 agents, and what they cost to write and to read.

The recorder's own code writes them to disk in batches as the router delivers them, synced before
the next one. Some reports are delivered again, and now and then the recorder is opened again, as
after a crash. At the end every log must have each event once, under one number after the other.
"""

import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from actors.recorder.recorder import BATCH, Recorder
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.logs.event_log import EventLog
from agiraph.logs.log import logger
from agiraph.messages.event import ReportEvents
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_most
from transport.endpoint import Received
from transport.envelope import VERSION, Flag, Header

EVENTS = 1_000_000
AGENTS = 200
MOST_IN_REPORT = 8
AGAIN = 0.02
DEATHS = 10
AIM_MB = 100.0
AIM_MS = 0.5
OPENINGS = 50
MEGABYTE = 1_000_000
TEXT = "git status --short && sed -n 1,80p src/prices.py  # what has changed, and where it stands"


@dataclass(slots=True)
class Traffic:
    """What a home reports: `sent` counts the events by agent, each once."""

    agents: int
    random: random.Random
    sent: dict[str, int]
    count: int = 0

    def batches(self, events: int) -> Iterator[list[Received]]:
        """Yield batches of reports until so many events were reported; some come twice."""
        last: list[Received] = []
        while self.count < events:
            again = [one for one in last if self.random.random() < AGAIN]
            last = [self._report() for _ in range(BATCH - len(again))]
            yield again + last

    def _report(self) -> Received:
        agent = AgentId(f"agent-{self.random.randrange(self.agents):04}")
        size = self.random.randint(1, MOST_IN_REPORT)
        self.sent[agent] = self.sent.get(agent, 0) + size
        self.count += size
        body = ReportEvents(events=tuple(self._event(agent, number) for number in range(size)))
        id = self.count.to_bytes(16, "big")
        now = time.time()
        header = Header(VERSION, id, body.TYPE, "recorder", agent, 1, None, now, Flag.DURABLE, None)
        return Received(header, body)

    def _event(self, agent: AgentId, number: int) -> Event:
        return Event(
            type="tool.called",
            agent_id=agent,
            ts=time.time(),
            entity="ada",
            data={"tool": "bash", "arguments": {"command": f"{TEXT} {self.count}.{number}"}},
        )


def run(options: Options) -> list[Figure]:
    """Write, read and count."""
    seen = measure(options.count(EVENTS, EVENTS // 20), AGENTS)
    count = f"{seen['events']:,.0f} events of {AGENTS} agents"
    return [
        at_most("recorder, memory at its highest", "100 MB", seen["memory_mb"] / AIM_MB, 1.0,
                f"{seen['memory_mb']:.0f} MB, {seen['growth_mb']:.0f} since it began; {count}"),
        at_most("recorder, an event on disk", "0.5 ms", seen["ms_an_event"] / AIM_MS, 1.0,
                f"{seen['ms_an_event']:.3f} ms ({seen['processor_ms_an_event']:.3f} of a core);"
                f" a log opened and paged: {seen['opening_ms']:.1f} ms"),
    ]  # fmt: skip


def measure(events: int, agents: int) -> dict[str, float]:
    """Record events of many agents; AssertionError if one is lost or doubled."""
    with tempfile.TemporaryDirectory(prefix="agiraph-soak-") as folder:
        home = Home(Path(folder))
        for number in range(agents):
            home.agent(f"agent-{number:04}").path.mkdir(parents=True)
        traffic = Traffic(agents, random.Random(1), {})
        begun = _memory()
        seconds, processor = _record(home, traffic, events)
        result = {
            "events": float(traffic.count),
            "ms_an_event": seconds * 1000 / traffic.count,
            "processor_ms_an_event": processor * 1000 / traffic.count,
            "memory_mb": _memory(),
            "growth_mb": _memory() - begun,
            "opening_ms": _opening(home) * 1000,
        }
        _check(home, traffic)
    return result


def _record(home: Home, traffic: Traffic, events: int) -> tuple[float, float]:
    """Return the seconds that writing took, and those of the processor."""
    retention, log = load_config().retention, logger()
    recorder = Recorder(home, log, retention)
    seconds = processor = 0.0
    deaths = 0
    for batch in traffic.batches(events):
        at, used = time.monotonic(), time.process_time()
        if traffic.count * (DEATHS + 1) > events * (deaths + 1):
            deaths += 1
            progress(f"{traffic.count:,} events")
            recorder.close()
            recorder = Recorder(home, log, retention)
        recorder.record(batch)
        seconds += time.monotonic() - at
        processor += time.process_time() - used
    recorder.close()
    return seconds, processor


def _memory() -> float:
    """Return the resident megabytes of this process at their highest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def _opening(home: Home) -> float:
    """Return the seconds that it takes to open a log and to read a page in its middle."""
    logs = [home.agent(name).events for name in _agents(home)[:OPENINGS]]
    at = time.monotonic()
    for path in logs:
        log = EventLog(path)
        log.page(log.last() // 2, 100)
    return (time.monotonic() - at) / len(logs)


def _agents(home: Home) -> list[str]:
    return sorted(path.name for path in home.agents.iterdir())


def _check(home: Home, traffic: Traffic) -> None:
    for agent, count in traffic.sent.items():
        log, seen = EventLog(home.agent(agent).events), 0
        commands = set()
        while events := log.page(seen, 1000):
            assert [one.seq for one in events] == list(range(seen + 1, seen + len(events) + 1))
            commands |= {one.data["arguments"]["command"] for one in events}
            seen = events[-1].seq
        assert seen == len(commands) == count, (
            f"{agent}: {seen} of {count}, {len(commands)} of them differ"
        )
