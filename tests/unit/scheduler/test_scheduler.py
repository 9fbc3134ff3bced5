"""The scheduler: requests, firings, and that a crash at any point fires nothing twice."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from actors.runtime.runtime import Runtime
from actors.scheduler.scheduler import Scheduler, TimeSource
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.messages.control import RefusedReply
from agiraph.messages.event import EventsGrew
from agiraph.messages.trigger import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerFailed,
    TriggerFired,
    TriggerState,
    TriggerTable,
)
from agiraph.storage.journal import Journal
from tests.fakes.fake_runtime import FakeRuntime, arrived
from transport.endpoint import Received
from transport.envelope import Flag
from transport.errors import LinkDown

ADA = AgentId("ada-1")
COORDINATOR = "ada-1/coordinator"


class ManualTime(TimeSource):
    """A time that changes only when the test sets it."""

    def __init__(self) -> None:
        self._now = 1_750_000_000.0
        self._turned = asyncio.Event()

    def now(self) -> float:
        return self._now

    def turn(self, seconds: float) -> None:
        self._now += seconds
        self._turned.set()

    async def wait(self, until: float | None, bell: asyncio.Event) -> None:
        self._turned.clear()
        if until is not None and until <= self._now:
            return
        waits = [asyncio.ensure_future(one.wait()) for one in (bell, self._turned)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class SchedulerHome:
    """One agent's home, its bus and its scheduler, which may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.runtime = FakeRuntime(folder)
        self.time = ManualTime()
        self.home = self.runtime.home.agent(ADA)
        self.home.path.mkdir(parents=True)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        clock = Scheduler(cast(Runtime, self.runtime), self.time)
        self._task = asyncio.ensure_future(clock.run())

    async def kill(self) -> None:
        """End it as a crash would: nothing is written any more."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])
        assert self._task.cancelled(), self._task.exception()

    async def ask(self, body: Any, sender: str = "human") -> Any:
        header = arrived(body, sender, to="clock").header
        asked = Received(replace(header, flags=header.flags | Flag.ASK), body)
        self.runtime.put(asked)

        def answers() -> list[Any]:
            return [sent.body for sent in self.runtime.sent if sent.reply_to == asked.header.id]

        await self.runtime.until(lambda: bool(answers()))
        return answers()[0]

    async def add(self, type_: str, action: Any = "look", **config: Any) -> str:
        body = CreateTrigger(agent=ADA, type=type_, config=config, action=action)
        state = await self.ask(body)
        assert isinstance(state, TriggerState), state
        return str(state.trigger["id"])

    def fired(self) -> list[TriggerFired]:
        """Return the messages to the coordinator."""
        return [one for one in self.runtime.sent_to(COORDINATOR) if isinstance(one, TriggerFired)]

    def log(self, *types: str) -> None:
        """Append events to the agent's log, and notify the scheduler."""
        with Journal(self.home.events) as journal:
            for type_ in types:
                event = Event(type=type_, agent_id=ADA, ts=self.time.now(), entity="bob")
                seq = journal.count + 1
                journal.append(event.model_copy(update={"seq": seq}).model_dump(mode="json"))
        self.runtime.put(arrived(EventsGrew(agents=(ADA,)), "recorder", to="clock"))


@pytest.fixture
async def scheduled(tmp_path: Path) -> AsyncIterator[SchedulerHome]:
    """Yield a home whose scheduler runs; it must not have failed by the end."""
    scheduled = SchedulerHome(tmp_path)
    scheduled.start()
    yield scheduled
    await scheduled.kill()


async def test_trigger_fires_at_its_time_and_is_stored(scheduled: SchedulerHome) -> None:
    id = await scheduled.add("delayed", delay_seconds=60)
    scheduled.time.turn(60)
    await scheduled.runtime.until(lambda: len(scheduled.fired()) == 1)
    [fired] = scheduled.fired()
    assert (fired.trigger_id, fired.action, fired.payload) == (
        id,
        "wake_agent",
        {"task": "look"},
    )
    table = await scheduled.ask(ListTriggers(agent=ADA))
    assert isinstance(table, TriggerTable)
    assert [row["status"] for row in table.triggers] == ["done"]
    assert [e.type for e in scheduled.runtime.events()] == ["trigger.fired"]
    assert [e.type for e in scheduled.runtime.reported] == ["trigger.created"]


async def test_a_firing_that_was_not_delivered_is_delivered_by_the_next_life(
    scheduled: SchedulerHome,
) -> None:
    await scheduled.add("delayed", delay_seconds=60)
    scheduled.runtime.refusals[COORDINATOR] = LinkDown("the router is away")
    scheduled.time.turn(60)
    await scheduled.runtime.until_logged("a firing waits")
    await scheduled.kill()
    scheduled.runtime.refusals.clear()
    scheduled.start()
    await scheduled.runtime.until(lambda: len(scheduled.fired()) == 1)


async def test_undelivered_firing_is_repeated_under_the_same_id(
    scheduled: SchedulerHome,
) -> None:
    await scheduled.add("scheduled", cron="0 * * * *", time_zone="UTC")
    scheduled.runtime.refusals[COORDINATOR] = LinkDown("the router is away")
    scheduled.time.turn(3600)
    await scheduled.runtime.until_logged("a firing waits")
    written = scheduled.home.triggers.read_text()
    assert json.loads(written)["outbox"]
    await scheduled.kill()
    scheduled.runtime.refusals.clear()
    for _ in range(3):
        scheduled.home.triggers.write_text(written)
        scheduled.start()
        await scheduled.runtime.until(lambda: len(scheduled.fired()) == 1)
        await scheduled.ask(ListTriggers(agent=ADA))
        await scheduled.kill()
    scheduled.start()
    assert len(scheduled.fired()) == 1
    assert len([e for e in scheduled.runtime.events() if e.type == "trigger.fired"]) == 1


async def test_events_during_downtime_fire_their_trigger(scheduled: SchedulerHome) -> None:
    await scheduled.add("on_event", event_pattern="node.failed")
    await scheduled.kill()
    scheduled.log("node.completed", "node.failed")
    scheduled.start()
    await scheduled.runtime.until(lambda: len(scheduled.fired()) == 1)
    scheduled.log("node.started")
    await scheduled.ask(ListTriggers(agent=ADA))
    assert len(scheduled.fired()) == 1


async def test_earlier_events_do_not_fire_a_new_trigger(
    scheduled: SchedulerHome,
) -> None:
    scheduled.log("node.failed", "node.failed")
    await scheduled.add("on_event", event_pattern="node.failed")
    scheduled.log("node.failed")
    await scheduled.runtime.until(lambda: len(scheduled.fired()) == 1)
    assert len(scheduled.fired()) == 1


async def test_redelivered_message_creates_one_trigger(scheduled: SchedulerHome) -> None:
    body = CreateTrigger(agent=ADA, type="heartbeat", config={"interval_seconds": 60}, action="x")
    for _ in range(2):
        scheduled.runtime.put(arrived(body, COORDINATOR, to="clock", id=b"7" * 16))
    table = await scheduled.ask(ListTriggers(agent=ADA))
    assert len(table.triggers) == 1


@pytest.mark.parametrize(
    ("body", "sender", "expected"),
    [
        (CreateTrigger(agent=ADA, type="hourly", action="x"), "human", "unknown trigger type"),
        (CreateTrigger(agent=AgentId("x"), type="delayed", action="x"), "human", "no agent 'x'"),
        (CreateTrigger(agent=AgentId("../x"), type="delayed", action="x"), "human", "no agent"),
        (ChangeTrigger(agent=ADA, trigger_id="t-1", act="fire"), "human", "unknown trigger 't-1'"),
    ],
)
async def test_invalid_request_is_refused_with_the_reason(
    scheduled: SchedulerHome, body: Any, sender: str, expected: str
) -> None:
    answer = await scheduled.ask(body, sender)
    assert isinstance(answer, RefusedReply)
    assert expected in answer.reason


async def test_worker_may_change_only_its_own_triggers(scheduled: SchedulerHome) -> None:
    mallory = "ada-1/mallory-7f3c1a"

    def new(by: str) -> CreateTrigger:
        config = {"interval_seconds": 60}
        return CreateTrigger(agent=ADA, type="heartbeat", config=config, action="x", created_by=by)

    makers = {
        "coordinator": COORDINATOR,
        "bob": "ada-1/bob-1c2d3e",
        "human": "human",
        "mallory": mallory,
    }
    for by, sender in makers.items():
        made = await scheduled.ask(new(by), sender)
        assert isinstance(made, TriggerState)
        change = ChangeTrigger(agent=ADA, trigger_id=made.trigger["id"], act="cancel")
        answer = await scheduled.ask(change, mallory)
        assert isinstance(answer, TriggerState if sender == mallory else RefusedReply)
    named = await scheduled.ask(new("coordinator"), mallory)
    assert isinstance(named, TriggerState)
    assert named.trigger["created_by"] == mallory, "it cannot say that another one made it"


async def test_trigger_is_paused_if_the_model_of_its_coordinator_cannot_be_called(
    scheduled: SchedulerHome,
) -> None:
    id = await scheduled.add("heartbeat", interval_seconds=60)
    failed = TriggerFailed(agent=ADA, trigger_id=id, reason="the key is refused")
    scheduled.runtime.put(arrived(failed, COORDINATOR, to="clock"))
    table = await scheduled.ask(ListTriggers(agent=ADA))
    [row] = table.triggers
    assert (row["status"], row["reason"]) == ("paused", "the key is refused")


async def test_damaged_triggers_are_reported_and_kept(scheduled: SchedulerHome) -> None:
    await scheduled.kill()
    scheduled.home.triggers.write_text("{ not JSON")
    scheduled.start()
    answer = await scheduled.ask(ListTriggers(agent=ADA))
    assert isinstance(answer, RefusedReply)
    assert "cannot be read" in answer.reason
    assert scheduled.home.triggers.read_text() == "{ not JSON"


@pytest.mark.parametrize("kind", ["folder", "link"])
async def test_agent_with_an_irregular_trigger_file_is_set_aside_alone(
    scheduled: SchedulerHome, kind: str
) -> None:
    await scheduled.kill()
    triggers = scheduled.home.triggers
    triggers.unlink(missing_ok=True)
    if kind == "folder":
        triggers.mkdir()
    else:
        triggers.symlink_to("/etc/hostname")
    scheduled.start()
    answer = await scheduled.ask(ListTriggers(agent=ADA))
    assert isinstance(answer, RefusedReply)
    assert str(triggers) in answer.reason
    triggers.rename(triggers.with_name("away"))
    assert isinstance(await scheduled.ask(ListTriggers(agent=ADA)), TriggerTable)
