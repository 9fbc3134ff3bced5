"""When a failed call is tried again, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.llm.base import ProviderError
from agiraph.llm.retry import RetryPolicy

POLICY = RetryPolicy(
    attempts=6, first_delay_seconds=0.5, max_delay_seconds=30, longest_wish_seconds=600
)
BUSY = ProviderError("overloaded", "busy")


@pytest.mark.parametrize("kind", ["bad_key", "unknown_model", "bad_request", "context_too_long"])
def test_what_can_never_succeed_is_not_tried_again(kind: str) -> None:
    assert POLICY.wait_after(ProviderError(kind, "no"), 1, 0.0) is None  # type: ignore[arg-type]


def test_the_delay_doubles_up_to_its_bound() -> None:
    waits = [POLICY.wait_after(BUSY, attempt, 0.999999) for attempt in range(1, 6)]
    assert waits == pytest.approx([0.5, 1, 2, 4, 8], rel=1e-5)
    long = RetryPolicy(10_000, 0.5, 30, 600)
    assert long.wait_after(BUSY, 9_000, 0.999999) == pytest.approx(30)


def test_the_attempts_end() -> None:
    assert POLICY.wait_after(BUSY, 5, 0.5) is not None
    assert POLICY.wait_after(BUSY, 6, 0.5) is None


def test_the_providers_wish_is_kept_unless_it_is_longer_than_a_call_may_last() -> None:
    wish = ProviderError("rate_limited", "later", retry_after=45)
    assert POLICY.wait_after(wish, 1, 0.0) == 45
    too_long = ProviderError("rate_limited", "tomorrow", retry_after=86_400)
    assert POLICY.wait_after(too_long, 1, 0.0) is None


@given(
    st.integers(1, 5),
    st.floats(0, 1, exclude_max=True),
    st.none() | st.floats(0, 600, allow_nan=False),
)
def test_a_wait_is_never_negative_nor_shorter_than_wished(
    attempt: int, chance: float, wish: float | None
) -> None:
    error = ProviderError("rate_limited", "later", retry_after=wish)
    wait = POLICY.wait_after(error, attempt, chance)
    assert wait is not None
    assert wait >= (wish or 0)
