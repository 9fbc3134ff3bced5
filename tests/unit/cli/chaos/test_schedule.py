"""The schedule of blows follows from the seed alone."""

from itertools import islice

import pytest

from cli.chaos.schedule import ALL_AT_ONCE, KINDS, TEARABLE, hammer, strikes


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_same_seed_gives_the_same_strikes(seed: int) -> None:
    assert list(islice(strikes(seed), 100)) == list(islice(strikes(seed), 100))


def test_different_seeds_give_different_strikes() -> None:
    assert list(islice(strikes(1), 50)) != list(islice(strikes(2), 50))


def test_every_kind_is_struck_and_only_tearable_journals_are_torn() -> None:
    many = list(islice(strikes(1), 1000))
    assert {strike.kind for strike in many} == set(KINDS)
    assert {strike.how for strike in many} == {"kill", "freeze", "tear"}
    assert all(strike.kind in TEARABLE for strike in many if strike.how == "tear")
    assert all(strike.how == "kill" for strike in many if strike.kind == ALL_AT_ONCE)


def test_only_requested_kinds_are_struck() -> None:
    assert {s.kind for s in islice(strikes(7, ("router",)), 100)} == {"router"}


def test_a_hammer_kills_each_of_its_kinds_once_every_so_often() -> None:
    first = list(islice(hammer(("broker", "clock"), 0.5), 6))
    assert [(s.pause_seconds, s.kind, s.how) for s in first] == 3 * [
        (0.5, "broker", "kill"),
        (0.0, "clock", "kill"),
    ]
