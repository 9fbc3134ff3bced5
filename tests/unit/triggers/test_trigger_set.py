"""A book of triggers: when they fire, when not, and that none of them wakes itself."""

import pytest

from agiraph.core.errors import Corrupt, IllegalTransition, InvalidInput
from agiraph.triggers.trigger_set import TriggerSet
from tests.unit.triggers.triggered_agent import AGENT, BOUNDS, START, TriggeredAgent

HOUR = 3600.0


@pytest.fixture
def agent() -> TriggeredAgent:
    return TriggeredAgent()


# --- time ----------------------------------------------------------------------------------------


def test_a_delayed_trigger_fires_once_and_is_done(agent: TriggeredAgent) -> None:
    trigger = agent.add("delayed", delay_seconds=60)
    assert agent.passes(59) == []
    [firing] = agent.passes(1)
    assert (firing.trigger_id, firing.due, firing.missed) == (trigger.id, START + 60, 0)
    assert agent.now_is(trigger).status == "done"
    assert agent.passes(1e6) == []


def test_missed_alarm_fires_late_unless_it_skips(agent: TriggeredAgent) -> None:
    late = agent.add("at_time", at="2025-06-15T16:00:00Z")
    skipped = agent.add("at_time", at="2025-06-15T16:00:00Z", missed="skip")
    [firing] = agent.passes(24 * HOUR)
    assert firing.trigger_id == late.id
    assert agent.now_is(skipped).status == "done"
    assert agent.now_is(skipped).reason == "its time was missed"


def test_a_cron_job_fires_at_each_due_time(agent: TriggeredAgent) -> None:
    agent.add("scheduled", cron="0 * * * *")
    for _ in range(5):
        [firing] = agent.passes(HOUR)
        assert firing.due % HOUR == 0
        agent.thinks_about(firing)


def test_trigger_with_an_undelivered_firing_does_not_accumulate(agent: TriggeredAgent) -> None:
    trigger = agent.add("scheduled", cron="* * * * *")
    [firing] = agent.passes(60)
    assert agent.passes(60) == []
    assert agent.now_is(trigger).skipped == 1
    agent.hears(firing)
    assert len(agent.passes(60)) == 1


def test_all_missed_times_fire_if_configured(agent: TriggeredAgent) -> None:
    agent.add("scheduled", cron="0 * * * *", missed="all")
    assert len(agent.passes(5 * HOUR)) == 5


def test_one_firing_counts_the_missed_times(agent: TriggeredAgent) -> None:
    agent.add("scheduled", cron="0 * * * *")
    [firing] = agent.passes(5 * HOUR)
    assert firing.missed == 4


# --- heartbeats ----------------------------------------------------------------------------------


def test_a_heartbeat_is_silent_when_nothing_happened(agent: TriggeredAgent) -> None:
    beat = agent.add("heartbeat", interval_seconds="30m")
    for _ in range(480):
        assert agent.passes(1800) == []
    assert agent.now_is(beat).skipped == 480


def test_heartbeat_fires_once_for_an_event(agent: TriggeredAgent) -> None:
    agent.add("heartbeat", interval_seconds=60)
    agent.happens("human.nudge", entity="human")
    [firing] = agent.passes(60)
    agent.thinks_about(firing)
    assert [agent.passes(60) for _ in range(10)] == [[]] * 10


def test_events_caused_by_a_heartbeat_do_not_fire_it_again(agent: TriggeredAgent) -> None:
    agent.add("heartbeat", interval_seconds=60)
    agent.happens("human.nudge", entity="human")
    [firing] = agent.passes(60)
    agent.hears(firing)
    agent.happens("model.answered", calls=["create_work_node"])
    agent.happens("node.created", node="n1")
    agent.happens("model.answered", calls=[])
    assert agent.passes(60) == []
    agent.happens("node.started", node="n1")
    agent.happens("tool.called", entity="bob", node="n1", tool="create_work_node")
    agent.happens("node.created", node="n2", parent_node="n1")
    agent.happens("tool.called", entity="eve", node="n2", tool="bash")
    agent.happens("node.completed", node="n1")
    agent.happens("worker.idle", worker="bob")
    agent.answers("read_file")
    agent.happens("model.answered", calls=[])
    assert agent.passes(60) == []
    agent.happens("message.received", **{"from": "human"})
    assert len(agent.passes(60)) == 1


# --- events --------------------------------------------------------------------------------------


def test_event_fires_only_matching_triggers(agent: TriggeredAgent) -> None:
    wanted = agent.add("on_event", event_pattern="node.completed", filter={"node_id": "alpha"})
    agent.add("on_event", event_pattern="node.failed")
    agent.happens("node.completed", node="n2", name="beta")
    assert agent.fired() == []
    agent.happens("node.completed", node="n1", name="alpha")
    [firing] = agent.fired()
    assert firing.trigger_id == wanted.id
    assert "node.completed" in firing.about


def test_processed_event_does_not_fire_again(agent: TriggeredAgent) -> None:
    agent.add("on_event", event_pattern="*")
    event = agent.happens("node.completed", node="n1")
    assert len(agent.fired()) == 1
    agent.book.apply([event], agent.now)
    assert agent.fired() == []


def test_trigger_does_not_fire_on_events_of_its_own_firing(agent: TriggeredAgent) -> None:
    agent.add("on_event", event_pattern="*")
    agent.happens("human.nudge", entity="human")
    [firing] = agent.fired()
    agent.thinks_about(firing)
    assert agent.fired() == []
    agent.happens("human.nudge", entity="human")
    assert len(agent.fired()) == 1


def test_events_over_the_rate_are_counted_and_skipped(agent: TriggeredAgent) -> None:
    trigger = agent.add("on_event", event_pattern="node.completed")
    for number in range(25):
        agent.happens("node.completed", node=f"n{number}")
    assert len(agent.fired()) == BOUNDS.per_minute
    assert agent.now_is(trigger).skipped == 15
    agent.passes(61)
    agent.happens("node.completed", node="later")
    assert len(agent.fired()) == 1


# --- silence -------------------------------------------------------------------------------------


def test_idle_trigger_fires_once_until_another_event(agent: TriggeredAgent) -> None:
    agent.add("on_idle", idle_seconds="1h")
    agent.passes(1800)
    agent.happens("tool.called", entity="bob", node="n1")
    assert agent.passes(1801) == []
    [firing] = agent.passes(1800)
    agent.thinks_about(firing)
    assert [agent.passes(HOUR) for _ in range(100)] == [[]] * 100
    agent.happens("human.nudge", entity="human")
    assert len(agent.passes(HOUR)) == 1


# --- acts ----------------------------------------------------------------------------------------


def test_paused_trigger_is_silent_and_continues_when_resumed(agent: TriggeredAgent) -> None:
    trigger = agent.add("scheduled", cron="0 * * * *", missed="all")
    agent.book.act(trigger.id, "pause", agent.now, cause="m1")
    assert agent.passes(10 * HOUR) == []
    agent.book.act(trigger.id, "resume", agent.now, cause="m2")
    assert len(agent.passes(HOUR)) == 1


def test_manual_firing_happens_once_per_request(agent: TriggeredAgent) -> None:
    trigger = agent.add("scheduled", cron="0 0 1 1 *")
    agent.book.act(trigger.id, "fire", agent.now, cause="m1")
    agent.book.act(trigger.id, "fire", agent.now, cause="m1")
    assert len(agent.fired()) == 1
    assert agent.now_is(trigger).status == "active"


def test_cancelled_trigger_stays_cancelled(agent: TriggeredAgent) -> None:
    trigger = agent.add("heartbeat", interval_seconds=60)
    agent.book.act(trigger.id, "cancel", agent.now, cause="m1")
    agent.book.act(trigger.id, "cancel", agent.now, cause="m2")
    with pytest.raises(IllegalTransition, match="is cancelled already"):
        agent.book.act(trigger.id, "resume", agent.now, cause="m3")
    agent.happens("human.nudge", entity="human")
    assert agent.passes(HOUR) == []


def test_trigger_is_found_by_its_name(agent: TriggeredAgent) -> None:
    trigger = agent.add("heartbeat", interval_seconds=60, name="pulse")
    assert agent.book.find("pulse") == trigger
    with pytest.raises(InvalidInput, match=r"known: t-1 \(pulse\)"):
        agent.book.find("other")


def test_ended_triggers_are_forgotten_after_a_while(agent: TriggeredAgent) -> None:
    for _ in range(50):
        agent.add("delayed", delay_seconds=1)
        agent.passes(2)
    assert len(agent.book.triggers) <= 21


# --- on disk -------------------------------------------------------------------------------------


def test_trigger_set_reads_what_it_wrote(agent: TriggeredAgent) -> None:
    for type_, config in (
        ("scheduled", {"cron": "0 9 * * *"}),
        ("on_event", {"event_pattern": "node.*", "filter": {"name": ["a", "b"]}}),
        ("on_idle", {"idle_seconds": 60}),
        ("delayed", {"delay_seconds": 1}),
    ):
        agent.add(type_, **config)
    agent.happens("node.created", node="n1")
    agent.now += 2
    agent.book.tick(agent.now)
    assert agent.book.outbox
    assert TriggerSet.read(AGENT, agent.book.write(), BOUNDS) == agent.book


def test_trigger_list_of_an_older_home_is_empty() -> None:
    assert TriggerSet.read(AGENT, "[]\n", BOUNDS).triggers == {}


def test_damaged_trigger_set_is_reported() -> None:
    with pytest.raises(Corrupt, match="the triggers of agent 'ada-1' cannot be read"):
        TriggerSet.read(AGENT, '{"triggers": 7}', BOUNDS)
