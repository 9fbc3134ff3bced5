"""Whose event loop has stopped turning, and who is never taken for it."""

from actors.supervisor.heartbeat_monitor import (
    HeartbeatLimits,
    HeartbeatMonitor,
    Hung,
    SuspectedHang,
)

BOUNDS = HeartbeatLimits(beat_seconds=2, suspect_seconds=10, hung_seconds=30)


def watching(*addresses: str) -> HeartbeatMonitor:
    heartbeats = HeartbeatMonitor(BOUNDS)
    for address in ("router", *addresses):
        heartbeats.began(address, 1)
    heartbeats.check(0)
    for _ in addresses:
        heartbeats.record(_, 1)
    heartbeats.record_router()
    return heartbeats


def looks(
    heartbeats: HeartbeatMonitor, begin: int, end: int, *beating: str
) -> list[SuspectedHang | Hung]:
    """Look every two seconds, while those named go on beating."""
    found = []
    for now in range(begin, end, 2):
        for address in beating:
            heartbeats.record_router() if address == "router" else heartbeats.record(address, 1)
        found += heartbeats.check(float(now))
    return found


def test_a_silent_process_is_suspect_once_then_hung_once() -> None:
    heartbeats = watching("shop/ada", "shop/bob")
    found = looks(heartbeats, 2, 60, "router", "shop/bob")
    assert found == [SuspectedHang("shop/ada", 1, 10), Hung("shop/ada", 1, 30)]


def test_one_that_turns_again_is_no_suspect_any_more() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 14, "router") == [SuspectedHang("shop/ada", 1, 10)]
    assert heartbeats.record("shop/ada", 1)
    assert not heartbeats.record("shop/ada", 1)
    assert looks(heartbeats, 14, 24, "router") == [SuspectedHang("shop/ada", 1, 10)]


def test_a_router_that_begins_again_sets_all_silence_back() -> None:
    heartbeats = watching("shop/ada")
    looks(heartbeats, 2, 10, "router")
    heartbeats.ended("router")
    assert looks(heartbeats, 10, 40) == []
    heartbeats.began("router", 2)
    assert looks(heartbeats, 40, 48, "router") == []


def test_a_supervisor_that_slept_blames_nobody() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 6, "router", "shop/ada") == []
    assert heartbeats.check(10_000) == []


def test_beats_of_another_incarnation_do_not_count() -> None:
    heartbeats = watching("shop/ada")
    heartbeats.began("shop/ada", 2)
    assert looks(heartbeats, 2, 14, "router", "shop/ada") == [SuspectedHang("shop/ada", 2, 10)]


def test_who_has_ended_is_not_watched() -> None:
    heartbeats = watching("shop/ada")
    heartbeats.ended("shop/ada")
    assert not heartbeats.record("shop/ada", 1)
    assert looks(heartbeats, 2, 60, "router") == []


def test_one_that_is_forgiven_is_neither_suspect_nor_hung_before_it_is_silent_again() -> None:
    heartbeats = watching("shop/ada")
    assert looks(heartbeats, 2, 14, "router") == [SuspectedHang("shop/ada", 1, 10)]
    heartbeats.forgive("shop/ada")
    assert looks(heartbeats, 14, 22, "router") == []
    assert looks(heartbeats, 22, 44, "router") == [
        SuspectedHang("shop/ada", 1, 10),
        Hung("shop/ada", 1, 30),
    ]
