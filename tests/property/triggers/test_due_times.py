"""Due times: equal to a second, independent implementation of cron, over clock changes."""

from itertools import takewhile

from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.triggers.due import MOST_AT_ONCE, first_due, judge, next_due
from agiraph.triggers.records import (
    CronSchedule,
    HeartbeatSchedule,
    MissedPolicy,
    Trigger,
    TriggerAction,
)
from agiraph.triggers.timetable import cron_times
from tests.property.triggers.second_cron import RANGES, SecondCron

DAY = 86400.0
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"),
    *("America/Sao_Paulo", "Africa/Casablanca", "Pacific/Apia"),
)
# Days around which clocks change in some of these zones, or that are leap days.
CHANGES = (1711846800.0, 1729990800.0, 1710054000.0, 1730610000.0, 1712415600.0, 1709164800.0)


def field(low: int, high: int, *, star: bool = True) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    numbers = st.lists(number, min_size=1, max_size=3).map(lambda v: ",".join(map(str, sorted(v))))
    spans = st.tuples(number, number).map(lambda v: f"{min(v)}-{max(v)}")
    steps = st.integers(1, max(2, high // 2)).map(lambda v: f"*/{v}")
    return st.one_of(numbers, spans, *((st.just("*"), steps) if star else ()))


fixed_or_not = st.booleans().flatmap(
    lambda star: st.tuples(field(*RANGES[0], star=star), field(*RANGES[1], star=star))
)
days = st.tuples(
    st.one_of(st.just("*"), field(*RANGES[2])),
    st.one_of(st.just("*"), field(*RANGES[3])),
    st.one_of(st.just("*"), field(*RANGES[4])),
)
crons = st.tuples(fixed_or_not, days).map(lambda parts: " ".join((*parts[0], *parts[1])))
starts = st.builds(
    lambda near, off: near + off, st.sampled_from(CHANGES), st.floats(-2 * DAY, 2 * DAY)
)


def never(cron: str) -> bool:
    """Whether day and month can never occur together, as in 30 February."""
    fields = cron.split()
    if not fields[4].startswith("*") and not fields[2].startswith("*"):
        return False
    plain = SecondCron(cron, "UTC")
    longest = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
    return all(min(plain.days) > longest.get(month, 31) for month in plain.months)


@given(cron=crons, zone=st.sampled_from(ZONES), after=starts)
@example(cron="30 2 * * *", zone="Europe/Berlin", after=1711846800.0 - DAY)
@example(cron="30 2 * * *", zone="Europe/Berlin", after=1729990800.0 - DAY)
@example(cron="45 2 * * *", zone="Europe/Berlin", after=1729990800.0 - 1200)
@example(cron="*/15 * * * *", zone="Australia/Lord_Howe", after=1712415600.0 - DAY)
def test_cron_times_match_a_second_implementation(cron: str, zone: str, after: float) -> None:
    if never(cron):
        return
    until = after + 3 * DAY
    found = list(takewhile(lambda moment: moment <= until, cron_times(cron, zone, after)))
    assert found == SecondCron(cron, zone).between(after, until)


def trigger(
    schedule: CronSchedule | HeartbeatSchedule, anchor: float, missed: MissedPolicy
) -> Trigger:
    return Trigger(
        id="t",
        agent_id="a",
        name="t",
        schedule=schedule,
        action=TriggerAction(type="wake_agent"),
        missed=missed,
        created_at=anchor,
        anchor=anchor,
        next_due=first_due(schedule, anchor),
    )


policies = st.sampled_from(["once", "skip", "all"])


@given(
    interval=st.floats(1, 1e6),
    anchor=st.floats(1e9, 2e9),
    away=st.floats(0, 1e7),
    missed=policies,
    late=st.floats(0, 1e5),
)
def test_a_heartbeat_misses_and_fires_by_its_policy(
    interval: float, anchor: float, away: float, missed: MissedPolicy, late: float
) -> None:
    beat, now = trigger(HeartbeatSchedule(interval_seconds=interval), anchor, missed), anchor + away
    verdict = judge(beat, now, late)
    following = next_due(beat, now)
    assert following is not None
    assert now < following <= now + interval * 1.0001
    assert all(due <= now for due in verdict.fire)
    assert list(verdict.fire) == sorted(set(verdict.fire))
    count = len(verdict.fire) + verdict.let_go
    assert abs(count - away / interval) <= 1.0001
    match missed:
        case "all":
            assert len(verdict.fire) == min(count, MOST_AT_ONCE)
        case "once":
            assert len(verdict.fire) == min(count, 1)
        case "skip":
            assert all(now - due <= late for due in verdict.fire)


@given(zone=st.sampled_from(ZONES), anchor=starts, away=st.floats(0, 2 * DAY), missed=policies)
def test_a_cron_job_misses_and_fires_by_its_policy(
    zone: str, anchor: float, away: float, missed: MissedPolicy
) -> None:
    schedule, now = CronSchedule(cron="17 */3 * * *", time_zone=zone), anchor + away
    verdict = judge(trigger(schedule, anchor, missed), now, 60.0)
    due = SecondCron(schedule.cron, zone).between(anchor, now)
    assert len(verdict.fire) + verdict.let_go == len(due)
    if missed == "all":
        assert list(verdict.fire) == due
    elif missed == "once":
        assert list(verdict.fire) == due[-1:]
    else:
        assert list(verdict.fire) == [moment for moment in due[-1:] if now - moment <= 60]
