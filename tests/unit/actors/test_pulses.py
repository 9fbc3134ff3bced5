"""Whose event loop has stopped turning, and who is never taken for it."""

from actors.supervisor.pulses import Bounds, Hung, Pulses, Suspect

BOUNDS = Bounds(beat_seconds=2, suspect_seconds=10, hung_seconds=30)


def watching(*addresses: str) -> Pulses:
    pulses = Pulses(BOUNDS)
    for address in ("router", *addresses):
        pulses.began(address, 1)
    pulses.look(0)
    for _ in addresses:
        pulses.beat(_, 1)
    pulses.router_beat()
    return pulses


def looks(pulses: Pulses, begin: int, end: int, *beating: str) -> list[Suspect | Hung]:
    """Look every two seconds, while those named go on beating."""
    found = []
    for now in range(begin, end, 2):
        for address in beating:
            pulses.router_beat() if address == "router" else pulses.beat(address, 1)
        found += pulses.look(float(now))
    return found


def test_a_silent_process_is_suspect_once_then_hung_once() -> None:
    pulses = watching("shop/ada", "shop/bob")
    found = looks(pulses, 2, 60, "router", "shop/bob")
    assert found == [Suspect("shop/ada", 1, 10), Hung("shop/ada", 1, 30)]


def test_one_that_turns_again_is_no_suspect_any_more() -> None:
    pulses = watching("shop/ada")
    assert looks(pulses, 2, 14, "router") == [Suspect("shop/ada", 1, 10)]
    assert pulses.beat("shop/ada", 1)
    assert not pulses.beat("shop/ada", 1)
    assert looks(pulses, 14, 24, "router") == [Suspect("shop/ada", 1, 10)]


def test_while_the_router_is_silent_nobody_else_is_suspect() -> None:
    pulses = watching("shop/ada", "human")
    found = looks(pulses, 2, 60)
    assert {one.address for one in found} == {"router"}
    assert [type(one) for one in found] == [Suspect, Hung]


def test_a_router_that_begins_again_sets_all_silence_back() -> None:
    pulses = watching("shop/ada")
    looks(pulses, 2, 10, "router")
    pulses.ended("router")
    assert looks(pulses, 10, 40) == []
    pulses.began("router", 2)
    assert looks(pulses, 40, 48, "router") == []


def test_a_supervisor_that_slept_blames_nobody() -> None:
    pulses = watching("shop/ada")
    assert looks(pulses, 2, 6, "router", "shop/ada") == []
    assert pulses.look(10_000) == []


def test_beats_of_another_incarnation_do_not_count() -> None:
    pulses = watching("shop/ada")
    pulses.began("shop/ada", 2)
    assert looks(pulses, 2, 14, "router", "shop/ada") == [Suspect("shop/ada", 2, 10)]


def test_who_has_ended_is_not_watched() -> None:
    pulses = watching("shop/ada")
    pulses.ended("shop/ada")
    assert not pulses.beat("shop/ada", 1)
    assert looks(pulses, 2, 60, "router") == []


def test_one_that_is_forgiven_is_neither_suspect_nor_hung_before_it_is_silent_again() -> None:
    pulses = watching("shop/ada")
    assert looks(pulses, 2, 14, "router") == [Suspect("shop/ada", 1, 10)]
    pulses.forgive("shop/ada")
    assert looks(pulses, 14, 22, "router") == []
    assert looks(pulses, 22, 44, "router") == [Suspect("shop/ada", 1, 10), Hung("shop/ada", 1, 30)]
