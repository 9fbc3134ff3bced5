"""A second implementation of cron, for comparison: slow and simple, minute by minute.

It does not use the library. A job at fixed times is checked at every minute of the local calendar:
a time in a gap is moved to the end of the gap, a time that occurs twice runs the first time. A job
with `*` in minute or hour is checked at every minute of real time.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MINUTE = timedelta(minutes=1)


def allowed(field: str, low: int, high: int) -> set[int]:
    """Return the values that one field allows: `*`, numbers, ranges, steps, lists."""
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (int(end) for end in span.split("-"))
        else:
            first = int(span)
            last = high if step else first
        values.update(range(first, last + 1, int(step or 1)))
    return values


class SecondCron:
    """One expression in one zone."""

    def __init__(self, cron: str, zone: str) -> None:
        self.fields = cron.split()
        self.zone = ZoneInfo(zone)
        ranges = zip(self.fields, RANGES, strict=True)
        sets = [allowed(field, *bounds) for field, bounds in ranges]
        self.minutes, self.hours, self.days, self.months, weekdays = sets
        self.weekdays = {day % 7 for day in weekdays}
        self.is_by_real_time = self.fields[0].startswith("*") or self.fields[1].startswith("*")

    def is_day(self, day: date) -> bool:
        """Whether the expression allows this day: by both fields if one is a star, else by any."""
        by_month = day.day in self.days
        by_week = (day.weekday() + 1) % 7 in self.weekdays
        is_star = self.fields[2].startswith("*") or self.fields[4].startswith("*")
        fits = (by_month and by_week) if is_star else (by_month or by_week)
        return day.month in self.months and fits

    def between(self, after: float, until: float) -> list[float]:
        """Return all times after `after` and up to `until`."""
        found = self._real(after, until) if self.is_by_real_time else self._fixed(after, until)
        return sorted({moment for moment in found if after < moment <= until})

    def _real(self, after: float, until: float) -> Iterator[float]:
        moment = datetime.fromtimestamp(after // 60 * 60, UTC)
        while moment.timestamp() <= until:
            local = moment.astimezone(self.zone)
            if local.minute in self.minutes and local.hour in self.hours and self.is_day(local):
                yield moment.timestamp()
            moment += MINUTE

    def _fixed(self, after: float, until: float) -> Iterator[float]:
        day = datetime.fromtimestamp(after, self.zone).date() - timedelta(days=1)
        last = datetime.fromtimestamp(until, self.zone).date()
        while day <= last:
            if self.is_day(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        yield self._first(datetime(day.year, day.month, day.day, hour, minute))
            day += timedelta(days=1)

    def _first(self, wall: datetime) -> float:
        """Return when the local clock first shows this time, or the first time after a gap."""
        while True:
            moment = wall.replace(tzinfo=self.zone, fold=0)
            back = moment.astimezone(UTC).astimezone(self.zone)
            if back.replace(tzinfo=None) == wall:
                return moment.timestamp()
            wall += MINUTE
