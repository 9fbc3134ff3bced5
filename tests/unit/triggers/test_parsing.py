"""Triggers as people and models write them: parsed as meant, or refused with a reason."""

from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.triggers.due import first_times
from agiraph.triggers.parsing import parse_trigger
from agiraph.triggers.records import CronSchedule, EventSchedule, HeartbeatSchedule, TimeSchedule
from agiraph.triggers.timetable import machine_zone

ZONE = "Europe/Berlin"
NOW = 1_767_225_600.0  # 2026-01-01T00:00Z


def parse(type_: str, config: dict[str, Any], action: Any = "look", **more: Any) -> Any:
    given: dict[str, Any] = {"now": NOW, "time_zone": ZONE, "callbacks": ("backup",)} | more
    return parse_trigger(type_, config, action, **given)


def test_a_plain_text_wakes_the_agent_with_that_task() -> None:
    new = parse("heartbeat", {"interval_seconds": "30m"}, "Check the inbox. Then sleep.")
    assert new.schedule == HeartbeatSchedule(interval_seconds=1800)
    assert (new.action.type, new.action.payload) == (
        "wake_agent",
        {"task": "Check the inbox. Then sleep."},
    )
    assert new.name == "Check the inbox. Then sleep."


def test_an_action_may_be_an_object_or_its_json() -> None:
    said = '{"type": "send_message", "payload": {"to": "human", "content": "hello"}}'
    new = parse("delayed", {"delay_seconds": 5, "missed": "skip", "name": "hi"}, said)
    assert (new.action.type, new.action.payload["to"], new.missed) == (
        "send_message",
        "human",
        "skip",
    )
    assert new.name == "hi"


def test_times_without_a_zone_are_in_the_default_one() -> None:
    assert parse("scheduled", {"cron": "0 9 * * MON"}).schedule == CronSchedule(
        cron="0 9 * * MON", time_zone=ZONE
    )
    at = parse("at_time", {"at": "2026-07-01T09:00"}).schedule
    assert isinstance(at, TimeSchedule)
    assert at.moment == parse("at_time", {"at": "2026-07-01T07:00:00Z"}).schedule.moment
    there = parse("at_time", {"at": "2026-07-01T09:00", "time_zone": "Asia/Tokyo"}).schedule
    assert there.moment == at.moment - 7 * 3600


def test_an_event_trigger_has_a_pattern_and_a_filter() -> None:
    new = parse("on_event", {"event_pattern": "node.*", "filter": {"name": "alpha"}})
    assert new.schedule == EventSchedule(event_pattern="node.*", filter={"name": "alpha"})


@pytest.mark.parametrize(
    ("type_", "config", "action", "expected"),
    [
        ("hourly", {}, "x", "unknown trigger type 'hourly' (known: at_time, delayed"),
        ("delayed", {}, "x", "config needs 'delay_seconds'"),
        ("delayed", {"delay_seconds": "soon"}, "x", "'soon' is no length of time"),
        ("delayed", {"delay_seconds": 0}, "x", "between 1 second and ten years"),
        ("delayed", {"delay_seconds": float("nan")}, "x", "is no length of time"),
        ("delayed", {"delay_second": 5}, "x", "unknown key in the config of a 'delayed' trigger"),
        ("scheduled", {"cron": "* * *"}, "x", "has 3 fields, not 5"),
        ("scheduled", {"cron": "61 * * * *"}, "x", "cron '61 * * * *': Bad minute"),
        ("scheduled", {"cron": "0 0 30 2 *"}, "x", "Bad day-of-month"),
        ("scheduled", {"cron": "0 9 * * *", "time_zone": "Mars"}, "x", "unknown time zone 'Mars'"),
        ("scheduled", {"cron": "0 9 * * *", "time_zone": "../etc"}, "x", "unknown time zone"),
        ("at_time", {"at": "tomorrow"}, "x", "is no ISO 8601 time"),
        (
            "at_time",
            {"at": "2020-01-01T00:00"},
            "x",
            "at '2020-01-01T00:00' is over: it is 2026-01-01T01:00:00+01:00 now (Europe/Berlin)",
        ),
        ("at_time", {"at": "2026-01-01T01:00"}, "x", "is over"),
        ("on_event", {"event_pattern": "trigger.fired"}, "x", "cannot wait for triggers"),
        ("on_idle", {"idle_seconds": 60, "missed": "twice"}, "x", "unknown policy for missed"),
        ("on_idle", {"idle_seconds": 60}, {"type": "dance"}, "unknown action 'dance'"),
        ("on_idle", {"idle_seconds": 60}, "", "action 'wake_agent' needs 'task'"),
        ("on_idle", {"idle_seconds": 60}, {"type": "run_node"}, "needs 'node_id'"),
        (
            "on_idle",
            {"idle_seconds": 60},
            {"type": "run_callback", "payload": {"callback": "rm"}},
            "unknown callback 'rm' (known: backup)",
        ),
        ("on_idle", {"idle_seconds": 60}, 7, "action is a text, or an object"),
    ],
)
def test_invalid_trigger_is_refused_with_the_reason(
    type_: str, config: dict[str, Any], action: Any, expected: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(type_, config, action)
    assert expected in str(refused.value)


def test_the_machine_names_its_zone() -> None:
    assert machine_zone({"TZ": "Asia/Tokyo"}) == "Asia/Tokyo"
    assert machine_zone({"TZ": "nonsense"}) == "UTC"


@pytest.mark.parametrize(
    ("type_", "config", "times"),
    [
        ("heartbeat", {"interval_seconds": 60}, (60.0, 120.0, 180.0)),
        ("delayed", {"delay_seconds": "5m"}, (300.0,)),
        ("scheduled", {"cron": "0 * * * *"}, (3600.0, 7200.0, 10800.0)),
        ("at_time", {"at": "2026-01-01T01:00Z"}, (3600.0,)),
        ("on_event", {"event_pattern": "node.*"}, ()),
        ("on_idle", {"idle_seconds": 60}, ()),
    ],
)
def test_the_first_times_are_known_before_a_trigger_is_made(
    type_: str, config: dict[str, Any], times: tuple[float, ...]
) -> None:
    found = first_times(parse(type_, config).schedule, NOW, 3)
    assert tuple(moment - NOW for moment in found) == times
