"""A book of triggers: when they fire, when not, and that none of them wakes itself."""

import pytest

from agiraph.core.errors import Corrupt, IllegalTransition, InvalidInput
from agiraph.triggers.trigger_set import TriggerSet
from tests.unit.triggers.triggered_agent import AGENT, BOUNDS, START, TriggeredAgent

HOUR = 3600.0


@pytest.fixture
def life() -> TriggeredAgent:
    return TriggeredAgent()


# --- time ----------------------------------------------------------------------------------------


def test_a_delayed_trigger_fires_once_and_is_done(life: TriggeredAgent) -> None:
    trigger = life.add("delayed", delay_seconds=60)
    assert life.passes(59) == []
    [firing] = life.passes(1)
    assert (firing.trigger_id, firing.due, firing.missed) == (trigger.id, START + 60, 0)
    assert life.now_is(trigger).status == "done"
    assert life.passes(1e6) == []


def test_missed_alarm_fires_late_unless_it_skips(life: TriggeredAgent) -> None:
    late = life.add("at_time", at="2025-06-15T16:00:00Z")
    skipped = life.add("at_time", at="2025-06-15T16:00:00Z", missed="skip")
    [firing] = life.passes(24 * HOUR)
    assert firing.trigger_id == late.id
    assert life.now_is(skipped).status == "done"
    assert life.now_is(skipped).reason == "its time was missed"


def test_a_cron_job_fires_at_each_due_time(life: TriggeredAgent) -> None:
    life.add("scheduled", cron="0 * * * *")
    for _ in range(5):
        [firing] = life.passes(HOUR)
        assert firing.due % HOUR == 0
        life.thinks_about(firing)


def test_trigger_with_an_undelivered_firing_does_not_accumulate(life: TriggeredAgent) -> None:
    trigger = life.add("scheduled", cron="* * * * *")
    [firing] = life.passes(60)
    assert life.passes(60) == []
    assert life.now_is(trigger).skipped == 1
    life.hears(firing)
    assert len(life.passes(60)) == 1


def test_all_missed_times_fire_if_configured(life: TriggeredAgent) -> None:
    life.add("scheduled", cron="0 * * * *", missed="all")
    assert len(life.passes(5 * HOUR)) == 5


def test_one_firing_counts_the_missed_times(life: TriggeredAgent) -> None:
    life.add("scheduled", cron="0 * * * *")
    [firing] = life.passes(5 * HOUR)
    assert firing.missed == 4


# --- heartbeats ----------------------------------------------------------------------------------


def test_a_heartbeat_is_silent_when_nothing_happened(life: TriggeredAgent) -> None:
    beat = life.add("heartbeat", interval_seconds="30m")
    for _ in range(480):
        assert life.passes(1800) == []
    assert life.now_is(beat).skipped == 480


def test_heartbeat_fires_once_for_an_event(life: TriggeredAgent) -> None:
    life.add("heartbeat", interval_seconds=60)
    life.happens("human.nudge", entity="human")
    [firing] = life.passes(60)
    life.thinks_about(firing)
    assert [life.passes(60) for _ in range(10)] == [[]] * 10


def test_events_caused_by_a_heartbeat_do_not_fire_it_again(life: TriggeredAgent) -> None:
    life.add("heartbeat", interval_seconds=60)
    life.happens("human.nudge", entity="human")
    [firing] = life.passes(60)
    life.hears(firing)
    life.happens("model.answered", calls=["create_work_node"])
    life.happens("node.created", node="n1")
    life.happens("model.answered", calls=[])
    assert life.passes(60) == []
    life.happens("node.started", node="n1")
    life.happens("tool.called", entity="bob", node="n1", tool="create_work_node")
    life.happens("node.created", node="n2", parent_node="n1")
    life.happens("tool.called", entity="eve", node="n2", tool="bash")
    life.happens("node.completed", node="n1")
    life.happens("worker.idle", worker="bob")
    life.answers("read_file")
    life.happens("model.answered", calls=[])
    assert life.passes(60) == []
    life.happens("message.received", **{"from": "human"})
    assert len(life.passes(60)) == 1


# --- events --------------------------------------------------------------------------------------


def test_event_fires_only_matching_triggers(life: TriggeredAgent) -> None:
    wanted = life.add("on_event", event_pattern="node.completed", filter={"node_id": "alpha"})
    life.add("on_event", event_pattern="node.failed")
    life.happens("node.completed", node="n2", name="beta")
    assert life.fired() == []
    life.happens("node.completed", node="n1", name="alpha")
    [firing] = life.fired()
    assert firing.trigger_id == wanted.id
    assert "node.completed" in firing.about


def test_processed_event_does_not_fire_again(life: TriggeredAgent) -> None:
    life.add("on_event", event_pattern="*")
    event = life.happens("node.completed", node="n1")
    assert len(life.fired()) == 1
    life.book.apply([event], life.now)
    assert life.fired() == []


def test_trigger_does_not_fire_on_events_of_its_own_firing(life: TriggeredAgent) -> None:
    life.add("on_event", event_pattern="*")
    life.happens("human.nudge", entity="human")
    [firing] = life.fired()
    life.thinks_about(firing)
    assert life.fired() == []
    life.happens("human.nudge", entity="human")
    assert len(life.fired()) == 1


def test_events_over_the_rate_are_counted_and_skipped(life: TriggeredAgent) -> None:
    trigger = life.add("on_event", event_pattern="node.completed")
    for number in range(25):
        life.happens("node.completed", node=f"n{number}")
    assert len(life.fired()) == BOUNDS.per_minute
    assert life.now_is(trigger).skipped == 15
    life.passes(61)
    life.happens("node.completed", node="later")
    assert len(life.fired()) == 1


# --- silence -------------------------------------------------------------------------------------


def test_idle_trigger_fires_once_until_another_event(life: TriggeredAgent) -> None:
    life.add("on_idle", idle_seconds="1h")
    life.passes(1800)
    life.happens("tool.called", entity="bob", node="n1")
    assert life.passes(1801) == []
    [firing] = life.passes(1800)
    life.thinks_about(firing)
    assert [life.passes(HOUR) for _ in range(100)] == [[]] * 100
    life.happens("human.nudge", entity="human")
    assert len(life.passes(HOUR)) == 1


# --- acts ----------------------------------------------------------------------------------------


def test_paused_trigger_is_silent_and_continues_when_resumed(life: TriggeredAgent) -> None:
    trigger = life.add("scheduled", cron="0 * * * *", missed="all")
    life.book.act(trigger.id, "pause", life.now, cause="m1")
    assert life.passes(10 * HOUR) == []
    life.book.act(trigger.id, "resume", life.now, cause="m2")
    assert len(life.passes(HOUR)) == 1


def test_manual_firing_happens_once_per_request(life: TriggeredAgent) -> None:
    trigger = life.add("scheduled", cron="0 0 1 1 *")
    life.book.act(trigger.id, "fire", life.now, cause="m1")
    life.book.act(trigger.id, "fire", life.now, cause="m1")
    assert len(life.fired()) == 1
    assert life.now_is(trigger).status == "active"


def test_cancelled_trigger_stays_cancelled(life: TriggeredAgent) -> None:
    trigger = life.add("heartbeat", interval_seconds=60)
    life.book.act(trigger.id, "cancel", life.now, cause="m1")
    life.book.act(trigger.id, "cancel", life.now, cause="m2")
    with pytest.raises(IllegalTransition, match="is cancelled already"):
        life.book.act(trigger.id, "resume", life.now, cause="m3")
    life.happens("human.nudge", entity="human")
    assert life.passes(HOUR) == []


def test_trigger_is_found_by_its_name(life: TriggeredAgent) -> None:
    trigger = life.add("heartbeat", interval_seconds=60, name="pulse")
    assert life.book.find("pulse") == trigger
    with pytest.raises(InvalidInput, match=r"known: t-1 \(pulse\)"):
        life.book.find("other")


def test_ended_triggers_are_forgotten_after_a_while(life: TriggeredAgent) -> None:
    for _ in range(50):
        life.add("delayed", delay_seconds=1)
        life.passes(2)
    assert len(life.book.triggers) <= 21


# --- on disk -------------------------------------------------------------------------------------


def test_trigger_set_reads_what_it_wrote(life: TriggeredAgent) -> None:
    for type_, config in (
        ("scheduled", {"cron": "0 9 * * *"}),
        ("on_event", {"event_pattern": "node.*", "filter": {"name": ["a", "b"]}}),
        ("on_idle", {"idle_seconds": 60}),
        ("delayed", {"delay_seconds": 1}),
    ):
        life.add(type_, **config)
    life.happens("node.created", node="n1")
    life.now += 2
    life.book.tick(life.now)
    assert life.book.outbox
    assert TriggerSet.read(AGENT, life.book.write(), BOUNDS) == life.book


def test_trigger_list_of_an_older_home_is_empty() -> None:
    assert TriggerSet.read(AGENT, "[]\n", BOUNDS).triggers == {}


def test_damaged_trigger_set_is_reported() -> None:
    with pytest.raises(Corrupt, match="the triggers of agent 'ada-1' cannot be read"):
        TriggerSet.read(AGENT, '{"triggers": 7}', BOUNDS)
