"""The tracer: sends the content of logs, loses nothing while a collector is away."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from actors.tracer.tracer import Tracer
from agiraph.core.errors import Corrupt
from agiraph.storage.home import Home
from agiraph.tracing.spans import Span
from tests.fakes.fake_runtime import SilentLog
from tests.unit.tracing.test_span_builder import Log, team


class Collector:
    """Takes spans unless it is away."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.is_away = False

    def send(self, spans: Sequence[Span]) -> bool:
        if self.is_away:
            return False
        self.spans += spans
        return True


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def collector() -> Collector:
    return Collector()


def write(home: Home, log: Log, first: int, last: int) -> None:
    """Append events to the agent's log, as the recorder would."""
    path = home.agent("shop-1").events
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(event.model_dump_json() + "\n" for event in log.events[first - 1 : last])


def tracer(home: Home, collector: Collector, since: float = 0) -> Tracer:
    return Tracer(home, collector.send, SilentLog(), with_content=False, since=since)


async def test_restart_and_unreachable_collector_neither_lose_nor_repeat_spans(
    home: Home, collector: Collector
) -> None:
    first = tracer(home, collector)
    write(home, team(), 1, 8)
    assert await first.send_pending()
    write(home, team(), 9, 12)
    collector.is_away = True
    assert not await first.send_pending()
    again = tracer(home, collector)
    write(home, team(), 13, 15)
    collector.is_away = False
    assert await again.send_pending()
    assert await again.send_pending()
    ids = [span.span_id for span in collector.spans]
    assert len(ids) == len(set(ids)) == 11
    assert collector.spans[-1].parent_id == ""


async def test_first_tracer_of_a_home_ignores_earlier_runs(
    home: Home, collector: Collector
) -> None:
    write(home, team(), 1, 15)
    assert await tracer(home, collector, since=team().events[14].ts + 1).send_pending()
    assert collector.spans == []


@pytest.mark.parametrize(("written", "since"), [(15, 15), (8, 16)])
async def test_first_tracer_exports_a_running_run_completely(
    home: Home, collector: Collector, written: int, since: int
) -> None:
    log = team()
    write(home, log, 1, written)
    first = tracer(home, collector, since=log.events[since - 2].ts)
    write(home, log, written + 1, 15)
    assert await first.send_pending()
    assert [span.parent_id for span in collector.spans].count("") == 1
    assert len(collector.spans) == 11


def test_unreadable_state_is_refused_with_advice(home: Home, collector: Collector) -> None:
    home.system.path.mkdir()
    home.system.tracing.write_text("[1]")
    with pytest.raises(Corrupt, match="delete it to start again"):
        tracer(home, collector)


async def test_irregular_agent_folders_are_skipped_and_reported_once(
    home: Home, collector: Collector
) -> None:
    write(home, team(), 1, 8)
    (home.path / "elsewhere").mkdir()
    (home.agents / "link").symlink_to(home.path / "elsewhere")
    (home.agents / "file").touch()
    home.agent("odd").events.mkdir(parents=True)
    log = SilentLog()
    one = Tracer(home, collector.send, log, with_content=False, since=0)
    assert await one.send_pending()
    assert await one.send_pending()
    assert collector.spans
    assert [line for line in log.lines if "passed over" in line] == [
        "no folder of an agent, passed over {'name': 'file', 'kind': 'file'}",
        "no folder of an agent, passed over {'name': 'link', 'kind': 'link'}",
    ]
