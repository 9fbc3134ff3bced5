"""Processes that exceed a limit, and the time that counts against no process."""

from collections.abc import Callable

from actors.supervisor.heartbeat_monitor import (
    Finding,
    HeartbeatLimits,
    HeartbeatMonitor,
    Hung,
    NotReady,
    SuspectedHang,
)

BOUNDS = HeartbeatLimits(beat_seconds=2, suspect_seconds=10, hung_seconds=30)
READY_WITHIN = 15.0


def nobody(_address: str) -> bool:
    """Excuse no address."""
    return False


def watching(*addresses: str) -> HeartbeatMonitor:
    heartbeats = HeartbeatMonitor(BOUNDS)
    for address in ("router", *addresses):
        heartbeats.began(address, 1)
    heartbeats.check(0, nobody)
    for _ in addresses:
        heartbeats.record(_, 1)
    heartbeats.record_router()
    return heartbeats


def looks(
    heartbeats: HeartbeatMonitor,
    begin: int,
    end: int,
    *beating: str,
    is_excused: Callable[[str], bool] = nobody,
) -> list[Finding]:
    """Check every two seconds, while the named addresses keep sending heartbeats."""
    found = []
    for now in range(begin, end, 2):
        for address in beating:
            heartbeats.record_router() if address == "router" else heartbeats.record(address, 1)
        found += heartbeats.check(float(now), is_excused)
    return found


def test_a_silent_process_is_suspect_once_then_hung_once() -> None:
    heartbeats = watching("shop/ada", "shop/bob")
    found = looks(heartbeats, 2, 60, "router", "shop/bob")
    assert found == [SuspectedHang("shop/ada", 1, 10), Hung("shop/ada", 1, 30)]


def test_process_that_beats_again_is_not_suspect() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 14, "router") == [SuspectedHang("shop/ada", 1, 10)]
    assert heartbeats.record("shop/ada", 1)
    assert not heartbeats.record("shop/ada", 1)
    assert looks(heartbeats, 14, 24, "router") == [SuspectedHang("shop/ada", 1, 10)]


def test_restarted_router_resets_the_silence_of_all_processes() -> None:
    heartbeats = watching("shop/ada")
    looks(heartbeats, 2, 10, "router")
    heartbeats.ended("router")
    assert looks(heartbeats, 10, 40) == []
    heartbeats.began("router", 2)
    assert looks(heartbeats, 40, 48, "router") == []


def test_suspended_supervisor_suspects_no_process() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 6, "router", "shop/ada") == []
    assert heartbeats.check(10_000, nobody) == []


def test_heartbeats_of_another_incarnation_are_ignored() -> None:
    heartbeats = watching("shop/ada")
    heartbeats.began("shop/ada", 2)
    assert looks(heartbeats, 2, 14, "router", "shop/ada") == [SuspectedHang("shop/ada", 2, 10)]


def test_ended_process_is_not_watched() -> None:
    heartbeats = watching("shop/ada")
    heartbeats.ended("shop/ada")
    assert not heartbeats.record("shop/ada", 1)
    assert looks(heartbeats, 2, 60, "router") == []


def test_excused_process_gets_its_full_time_again() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 14, "router") == [SuspectedHang("shop/ada", 1, 10)]
    assert looks(heartbeats, 14, 200, "router", is_excused=lambda at: at == "shop/ada") == []
    assert looks(heartbeats, 200, 230, "router") == [
        SuspectedHang("shop/ada", 1, 10),
        Hung("shop/ada", 1, 30),
    ]


def test_a_process_that_is_not_ready_in_time_is_found_once() -> None:
    heartbeats = watching()
    heartbeats.started("shop/ada", 1, READY_WITHIN)
    found = looks(heartbeats, 2, 100, "router", "shop/ada")  # beats before it is ready do not count
    assert found == [NotReady("shop/ada", 1, READY_WITHIN)]


def test_a_process_that_becomes_ready_in_time_is_watched_by_its_beats() -> None:
    heartbeats = watching()
    heartbeats.started("shop/ada", 1, READY_WITHIN)
    assert looks(heartbeats, 2, 16, "router") == []
    heartbeats.began("shop/ada", 1)
    assert looks(heartbeats, 16, 100, "router", "shop/ada") == []


def test_a_start_that_is_excused_has_its_whole_time_afterwards() -> None:
    heartbeats = watching()
    heartbeats.started("shop/ada", 1, READY_WITHIN)
    assert looks(heartbeats, 2, 200, "router", is_excused=lambda at: at == "shop/ada") == []
    assert looks(heartbeats, 200, 214, "router") == []
    assert looks(heartbeats, 214, 230, "router") == [NotReady("shop/ada", 1, READY_WITHIN)]


def test_start_time_does_not_pass_without_a_router_or_a_running_supervisor() -> None:
    heartbeats = watching()
    heartbeats.ended("router")
    heartbeats.started("router", 2, 100.0)
    heartbeats.started("shop/ada", 1, READY_WITHIN)
    assert looks(heartbeats, 2, 90) == []
    heartbeats.began("router", 2)
    assert looks(heartbeats, 90, 94, "router") == []
    assert heartbeats.check(10_000, nobody) == []


def test_a_router_that_does_not_become_ready_is_found() -> None:
    heartbeats = HeartbeatMonitor(BOUNDS)
    heartbeats.started("router", 1, READY_WITHIN)
    assert looks(heartbeats, 0, 60) == [NotReady("router", 1, READY_WITHIN)]
