"""For any times of beats and checks: a beating process is never suspect, a silent process always
is.

Both limits, for a start and for heartbeats, count only time without an excuse.
"""

from hypothesis import given
from hypothesis import strategies as st

from actors.supervisor.heartbeat_monitor import (
    Finding,
    HeartbeatLimits,
    HeartbeatMonitor,
    Hung,
    NotReady,
    SuspectedHang,
)

BOUNDS = HeartbeatLimits(beat_seconds=1.0, suspect_seconds=5.0, hung_seconds=15.0)
gaps = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=80)


def watching() -> HeartbeatMonitor:
    heartbeats = HeartbeatMonitor(BOUNDS)
    for address in ("router", "shop/ada", "shop/bob"):
        heartbeats.began(address, 1)
    heartbeats.check(0.0, lambda _address: False)
    return heartbeats


def live(heartbeats: HeartbeatMonitor, gaps: list[float], *beating: str) -> list[Finding]:
    found, now = [], 0.0
    for gap in gaps:
        now += gap
        found += heartbeats.check(now, lambda _address: False)
        for address in beating:
            if address == "router":
                heartbeats.record_router()
            else:
                heartbeats.record(address, 1)
    return found


@given(gaps)
def test_process_with_heartbeats_between_checks_is_never_suspect_however_late_the_checks(
    gaps: list[float],
) -> None:
    found = live(watching(), gaps, "router", "shop/ada")
    assert all(one.address == "shop/bob" for one in found)


@given(gaps)
def test_silent_router_makes_no_process_suspect(gaps: list[float]) -> None:
    found = live(watching(), gaps)
    assert all(one.address == "router" for one in found)


@given(gaps)
def test_suspicion_precedes_the_hang_and_each_is_reported_once(gaps: list[float]) -> None:
    found = [one for one in live(watching(), gaps, "router") if one.address == "shop/ada"]
    assert [type(one) for one in found] == [SuspectedHang, Hung][: len(found)]
    counted = sum(min(gap, 2 * BOUNDS.beat_seconds) for gap in gaps)
    if abs(counted - BOUNDS.suspect_seconds) > 0.001:
        assert bool(found) == (counted > BOUNDS.suspect_seconds)


@given(st.lists(st.tuples(st.floats(0.01, 100.0), st.booleans()), min_size=1, max_size=80))
def test_excused_time_is_not_counted(checks: list[tuple[float, bool]]) -> None:
    heartbeats = watching()
    heartbeats.started("shop/cleo", 1, BOUNDS.hung_seconds)
    heartbeats.check(0.0, lambda _address: False)
    now, counted = 0.0, 0.0
    for gap, is_excused in checks:
        now += gap
        counted = 0.0 if is_excused else counted + min(gap, 2 * BOUNDS.beat_seconds)
        heartbeats.record_router()
        found = heartbeats.check(now, lambda at, is_excused=is_excused: is_excused)  # type: ignore[misc]
        # An excuse counts from the first missed beat on.
        spare = {Hung: 2 * BOUNDS.beat_seconds, NotReady: 0.0}
        over = [one for one in found if isinstance(one, Hung | NotReady)]
        assert all(counted + spare[type(one)] >= BOUNDS.hung_seconds - 0.001 for one in over)
        if any(one.address == "shop/cleo" for one in over):
            return
    assert counted < BOUNDS.hung_seconds + 0.001
