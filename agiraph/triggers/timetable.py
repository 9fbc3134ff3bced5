"""Time zones, alarm times and cron expressions; daylight saving as in Debian's cron.

A job at a fixed time in the hour that is skipped in spring runs right after it; a job in the hour
that occurs twice in autumn runs the first time only. A job whose minute or hour is `*` follows
elapsed time: it runs in every real hour.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from agiraph.core.errors import InvalidInput

FIELDS = 5
LOCALTIME = Path("/etc/localtime")
ZONES = "zoneinfo/"
MARGIN = timedelta(hours=3)
MINUTE = timedelta(minutes=1)


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo:
    """Return the IANA time zone of that name. Raises InvalidInput if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"unknown time zone '{name}' (an IANA name is wanted, as Europe/Berlin or UTC)"
        ) from None


def machine_zone(environ: dict[str, str] | None = None, localtime: Path = LOCALTIME) -> str:
    """Return the IANA name of the machine's own time zone, UTC if it has none."""
    named = (dict(os.environ) if environ is None else environ).get("TZ", "").lstrip(":")
    if not named:
        _, found, named = os.path.realpath(localtime).partition(ZONES)
        named = named if found else ""
    try:
        zone_named(named)
    except InvalidInput:
        return "UTC"
    return named


def check_cron(cron: str) -> None:
    """Raise InvalidInput unless `cron` is an expression of five fields that ever matches."""
    fields = cron.split()
    if len(fields) != FIELDS:
        raise InvalidInput(
            f"cron '{cron}' has {len(fields)} fields, not {FIELDS} "
            "(minute hour day-of-month month day-of-week, as '0 9 * * MON')"
        )
    try:
        next(CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC)))
    except (CronSimError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"cron '{cron}': {error} (minute hour day-of-month month day-of-week)"
        ) from None
    except StopIteration:
        raise InvalidInput(f"cron '{cron}' never comes true") from None


def cron_times(cron: str, time_zone: str, after: float) -> Iterator[float]:
    """Yield, in order, the times after `after` at which an expression matches.

    The library only walks the calendar without clock changes; the meaning of a local time is
    determined here. (Walked in a zone, version 2.8 loses half an hour where clocks change by half
    an hour.) The walk begins before `after`: a local time that occurs twice may have occurred once.
    """
    zone, fields = zone_named(time_zone), cron.split()
    find = _every if fields[0].startswith("*") or fields[1].startswith("*") else _once
    wall = datetime.fromtimestamp(after, zone).replace(tzinfo=None)
    last, held = after, list[float]()
    for shown in CronSim(cron, wall - MARGIN):
        first = shown.replace(tzinfo=zone).timestamp()
        while held and held[0] < first:
            if (moment := heappop(held)) > last:
                last = moment
                yield moment
        for moment in find(shown, zone):
            heappush(held, moment)
    yield from sorted({moment for moment in held if moment > last})


def _every(shown: datetime, zone: ZoneInfo) -> Iterator[float]:
    """Yield each time at which the local time is `shown`: none in spring's gap, two in autumn."""
    for fold in (0, 1):
        moment = shown.replace(tzinfo=zone, fold=fold)
        if _on_wall(moment, zone) == shown and (fold == 0 or moment.timestamp() != _first(moment)):
            yield moment.timestamp()


def _once(shown: datetime, zone: ZoneInfo) -> Iterator[float]:
    """Yield the first time at which the local time is `shown`.

    In spring's gap, the end of the gap.
    """
    while _on_wall(shown.replace(tzinfo=zone), zone) != shown:
        shown += MINUTE
    yield shown.replace(tzinfo=zone).timestamp()


def _on_wall(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(UTC).astimezone(zone).replace(tzinfo=None)


def _first(moment: datetime) -> float:
    return moment.replace(fold=0).timestamp()


def moment_of(at: str, time_zone: str) -> float:
    """Return an ISO 8601 time as seconds since the epoch; without an offset it is in `time_zone`.

    A time that the clocks skip means the same distance after the change. Raises InvalidInput.
    """
    try:
        moment = datetime.fromisoformat(at.strip())
    except ValueError:
        raise InvalidInput(f"at '{at}' is no ISO 8601 time (as 2026-02-12T09:00)") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone_named(time_zone))
    return moment.timestamp()
