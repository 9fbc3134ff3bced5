"""The due times of triggers, and the handling of missed times."""

import math
from dataclasses import dataclass
from itertools import islice, takewhile

from agiraph.triggers.records import (
    CronSchedule,
    DelaySchedule,
    EventSchedule,
    HeartbeatSchedule,
    IdleSchedule,
    MissedPolicy,
    Schedule,
    TimeSchedule,
    Trigger,
)
from agiraph.triggers.timetable import cron_times

MOST_AT_ONCE = 100
LOOK_BACK_SECONDS = 7 * 86400.0
"""The part of a long absence for which cron times are computed, if the job was due in it at all."""


def first_due(schedule: Schedule, anchor: float) -> float | None:
    """Return the first due time of a schedule that counts from `anchor`; None if not fixed."""
    match schedule:
        case CronSchedule() | HeartbeatSchedule():
            return _recurring(schedule, anchor, anchor)
        case DelaySchedule():
            return anchor + schedule.delay_seconds
        case TimeSchedule():
            return schedule.moment
        case IdleSchedule():
            return anchor + schedule.idle_seconds
        case EventSchedule():
            return None


def first_times(schedule: Schedule, now: float, most: int) -> tuple[float, ...]:
    """Return the first due times of a schedule that begins now, at most `most`; () if none is set.

    The times of an idle time and of an event are not known before.
    """
    match schedule:
        case CronSchedule():
            times = cron_times(schedule.cron, schedule.time_zone, now)
            return tuple(islice(times, most))
        case HeartbeatSchedule(interval_seconds=interval):
            return tuple(now + number * interval for number in range(1, most + 1))
        case DelaySchedule() | TimeSchedule():
            moment = first_due(schedule, now)
            return () if moment is None else (moment,)
        case IdleSchedule() | EventSchedule():
            return ()


def next_due(trigger: Trigger, after: float) -> float | None:
    """Return the first due time of a recurring trigger after `after`, else None."""
    if isinstance(trigger.schedule, CronSchedule | HeartbeatSchedule):
        return _recurring(trigger.schedule, trigger.anchor, after)
    return None


def _recurring(
    schedule: CronSchedule | HeartbeatSchedule, anchor: float, after: float
) -> float | None:
    """Return the first due time after `after`; of a heartbeat `anchor` + k * interval, k > 0."""
    if isinstance(schedule, CronSchedule):
        return next(cron_times(schedule.cron, schedule.time_zone, after), None)
    interval = schedule.interval_seconds
    number = max(1, math.floor((after - anchor) / interval) + 1)
    while anchor + number * interval <= after:
        number += 1
    return anchor + number * interval


@dataclass(frozen=True, slots=True)
class DueFirings:
    """The decision on a due trigger: the due times to fire for, and the number of skipped ones."""

    fire: tuple[float, ...]
    let_go: int


def judge(trigger: Trigger, now: float, late_seconds: float) -> DueFirings:
    """Return the due times up to `now` for which a trigger fires, by its policy.

    `once`: for the last of them. `skip`: for the last one unless it is over `late_seconds` old.
    `all`: for each, the last MOST_AT_ONCE of them.
    """
    times, count = _times_until(trigger, now)
    if not times:
        return DueFirings((), 0)
    fire = _kept(times, trigger.missed, now, late_seconds)
    return DueFirings(fire, count - len(fire))


def _kept(
    times: tuple[float, ...], policy: MissedPolicy, now: float, late_seconds: float
) -> tuple[float, ...]:
    match policy:
        case "all":
            return times
        case "once":
            return times[-1:]
        case "skip":
            return times[-1:] if now - times[-1] <= late_seconds else ()


def _times_until(trigger: Trigger, now: float) -> tuple[tuple[float, ...], int]:
    """Return the last due times up to `now`, oldest first, and the number of all."""
    first = trigger.next_due
    if first is None or first > now:
        return (), 0
    match trigger.schedule:
        case CronSchedule() as schedule:
            found = _cron_until(schedule, max(first, now - LOOK_BACK_SECONDS), now)
            found = [first, *(found or _cron_until(schedule, first, now))]
            return tuple(found[-MOST_AT_ONCE:]), len(found)
        case HeartbeatSchedule(interval_seconds=interval):
            count = 1 + math.floor((now - first) / interval)
            kept = range(max(0, count - MOST_AT_ONCE), count)
            return tuple(first + number * interval for number in kept), count
        case _:
            return (first,), 1


def _cron_until(schedule: CronSchedule, after: float, now: float) -> list[float]:
    times = cron_times(schedule.cron, schedule.time_zone, after)
    return list(takewhile(lambda moment: moment <= now, times))
