"""The breaker, for any order of events: few calls go to a service in trouble."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agiraph.llm.circuit_breaker import CircuitBreaker

FAILURES, SECONDS = 3, 10.0


class CircuitBreakerMachine(RuleBasedStateMachine):
    """Calls to one service, answered in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = CircuitBreaker(FAILURES, SECONDS)
        self.now = 0.0
        self.in_flight: list[bool] = []
        self.in_a_row = 0

    @rule(seconds=st.floats(0, 30))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def begin_call(self) -> None:
        if self.breaker.wait(self.now) == 0:
            self.in_flight.append(self.breaker.begin(self.now))

    @rule(data=st.data(), how=st.sampled_from(["answered", "failed", "cancelled"]))
    def end_call(self, data: st.DataObject, how: str) -> None:
        if not self.in_flight:
            return
        number = data.draw(st.integers(0, len(self.in_flight) - 1))
        was_probe = self.in_flight.pop(number)
        was_closed = self.breaker.state(self.now) == "closed"
        if how == "answered":
            self.breaker.succeeded()
            self.in_a_row = 0
            # The probe is no probe any more: the breaker is closed.
            self.in_flight = [False] * len(self.in_flight)
            assert self.breaker.state(self.now) == "closed"
        elif how == "failed":
            opened = self.breaker.failed(self.now, was_probe=was_probe)
            self.in_a_row += was_closed
            assert opened == (was_probe or (was_closed and self.in_a_row >= FAILURES))
            if opened:
                pauses = (SECONDS, 2 * SECONDS, 4 * SECONDS, 80.0)
                assert any(self.breaker.wait(self.now) == pytest.approx(pause) for pause in pauses)
        else:
            self.breaker.released(was_probe=was_probe)

    @invariant()
    def at_most_one_call_probes(self) -> None:
        assert sum(self.in_flight) <= 1
        assert self.breaker.is_probing == any(self.in_flight)

    @invariant()
    def breaker_admits_a_call_again(self) -> None:
        """If no call is probing the service, some call may do so later."""
        if not self.breaker.is_probing:
            assert self.breaker.wait(self.now + 80.0) == 0


TestCircuitBreaker = CircuitBreakerMachine.TestCase
TestCircuitBreaker.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(st.integers(1, 6))
def test_open_period_doubles_up_to_eight_times(times: int) -> None:
    breaker, now, waits = CircuitBreaker(1, SECONDS), 0.0, []
    for _ in range(times):
        was_probe = breaker.begin(now)
        assert breaker.failed(now, was_probe=was_probe)
        wait = breaker.wait(now)
        assert wait is not None
        waits.append(wait)
        now += wait
    assert waits == [SECONDS * 2.0 ** min(n, 3) for n in range(times)]
