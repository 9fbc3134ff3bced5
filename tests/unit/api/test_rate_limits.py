"""How many calls a second."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.api.auth.rate_limits import MOST_BUCKETS, RateLimiter


def test_burst_is_allowed_and_then_limited_to_the_rate() -> None:
    rates = RateLimiter()
    assert [rates.wait_of("a", 0.0, 2, 3) for _ in range(4)] == [0, 0, 0, 0.5]
    assert rates.wait_of("b", 0.0, 2, 3) == 0
    assert rates.wait_of("a", 0.5, 2, 3) == 0
    assert rates.wait_of("a", 0.5, 2, 3) == 0.5
    assert [rates.wait_of("a", 100.0, 2, 3) for _ in range(4)] == [0, 0, 0, 0.5]


@given(
    steps=st.lists(st.floats(0, 3), max_size=60),
    rate=st.floats(0.1, 50),
    burst=st.integers(1, 20),
)
def test_no_more_than_burst_and_rate_allow_and_the_wait_is_long_enough(
    steps: list[float], rate: float, burst: int
) -> None:
    rates, now, passed = RateLimiter(), 0.0, 0
    for step in steps:
        now += step
        wait = rates.wait_of("a", now, rate, burst)
        passed += wait == 0
        assert passed <= burst + now * rate + 1e-6
        if wait:
            assert rates.wait_of("a", now + wait + 1e-6, rate, burst) == 0
            passed, now = passed + 1, now + wait + 1e-6


def test_many_client_addresses_do_not_fill_the_memory() -> None:
    rates = RateLimiter()
    for number in range(MOST_BUCKETS + 100):
        rates.wait_of(str(number), 0.0, 1, 1)
    assert len(rates._buckets) == MOST_BUCKETS
