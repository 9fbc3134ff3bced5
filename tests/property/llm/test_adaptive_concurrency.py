"""The pace against a service that accepts a number of calls at once and refuses all others."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.llm.adaptive_concurrency import AdaptiveConcurrency, Backoff

RESTS = Backoff(first_seconds=0.5, longest_seconds=30)


@given(
    st.integers(1, 40),
    st.integers(1, 60),
    st.integers(1, 40),
    st.none() | st.floats(0, 5),
    st.floats(0, 0.999),
)
def test_every_call_is_answered_by_a_service_that_accepts_one_at_a_time(
    bears: int, callers: int, most: int, wish: float | None, chance: float
) -> None:
    """Calls go in rounds, as many as the pace allows; the service refuses excess calls."""
    pace, now, waiting, refused_in_all = AdaptiveConcurrency(most, RESTS), 0.0, callers, 0
    for _ in range(10_000):
        if not waiting:
            break
        wait = pace.wait(now)
        assert wait is not None, "nothing is in flight between rounds"
        now += wait
        began, going = now, 0
        while going < waiting and pace.wait(now) == 0:
            pace.begin()
            going += 1
        assert 1 <= going <= most
        now += 1
        for number in range(going):
            if number < bears:
                pace.succeeded(now)
                waiting -= 1
            else:
                refused_in_all += 1
                assert pace.refused(began, now, wish, chance) >= 0
            pace.ended()
        assert 1 <= pace.allowed <= most
    assert waiting == 0
    assert refused_in_all <= 4 * callers + most, "a storm is no flood"


@given(st.integers(2, 64), st.floats(0, 10))
def test_simultaneous_refusals_count_once(most: int, wish: float) -> None:
    pace = AdaptiveConcurrency(most, RESTS)
    for _ in range(most):
        pace.begin()
    rests = [pace.refused(0.0, 1.0, wish, 0.5) for _ in range(most)]
    assert pace.allowed == max(1.0, most / 2)
    assert pace.refusals == 1
    assert rests[-1] >= wish * 0.999 or wish < 1e-9
    assert pace.wait(1.0) == rests[-1] or rests[-1] == 0


@given(st.lists(st.tuples(st.floats(0, 100), st.none() | st.floats(0, 60)), max_size=20))
def test_no_call_starts_before_every_requested_wait_is_over(
    refusals: list[tuple[float, float | None]],
) -> None:
    pace = AdaptiveConcurrency(8, RESTS)
    until = 0.0
    for at, wish in sorted(refusals, key=lambda one: one[0]):
        pace.refused(at, at, wish, 0.0)
        until = max(until, at + (wish or 0.0))
    assert pace.rests_until >= until or not refusals


@given(st.integers(1, 10_000), st.floats(0, 0.999))
def test_a_rest_is_never_longer_than_the_longest(refusals: int, chance: float) -> None:
    assert 0.25 <= RESTS.after(refusals, None, chance) <= 30


def test_service_that_answers_any_call_is_not_stuck() -> None:
    pace = AdaptiveConcurrency(4, RESTS)
    assert not pace.is_stuck(since=0, now=100, patience=100)
    assert pace.is_stuck(since=0, now=101, patience=100)
    pace.succeeded(50)
    assert not pace.is_stuck(since=0, now=101, patience=100)
