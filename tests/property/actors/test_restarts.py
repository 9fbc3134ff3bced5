"""Properties of the restart rules for any sequence of exits."""

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from actors.supervisor.processes.restarts import (
    EndedInOrder,
    GiveUp,
    ProcessExit,
    Restart,
    RestartHistory,
    RestartPolicy,
    decide,
)

policies = st.builds(
    RestartPolicy,
    restart=st.sampled_from(["permanent", "transient", "temporary"]),
    intensity=st.integers(0, 6),
    period_seconds=st.floats(0.1, 300),
    first_backoff_seconds=st.floats(0, 5),
    max_backoff_seconds=st.floats(0, 60),
    start_attempts=st.integers(1, 5),
)
services = st.builds(replace, policies, restart=st.just("permanent"), endless=st.just(True))
exits = st.one_of(
    st.builds(ProcessExit, code=st.sampled_from([0, 1, 64, 70, 75, 76, 255])),
    st.builds(ProcessExit, signal=st.integers(1, 64)),
    st.builds(ProcessExit, signal=st.sampled_from([9, 15]), is_from_outside=st.just(True)),
)
chances = st.floats(0, 1)
lives = st.lists(st.tuples(exits, st.booleans(), st.floats(0, 50), chances), max_size=60)
Life = list[tuple[ProcessExit, bool, float, float]]


def restarted(
    policy: RestartPolicy, life: Life, *, is_patient: bool = False
) -> Iterator[tuple[ProcessExit, bool, float, Restart]]:
    """Yield each exit, whether it was ready before, when it exited and its restart, if any.

    With `is_patient` time passes during its delays too.
    """
    history, now = RestartHistory(), 0.0
    for ended, was_ready, gap, chance in life:
        now += gap
        verdict = decide(policy, history, ended, was_ready, now, chance)
        if not isinstance(verdict, Restart):
            return
        yield ended, was_ready, now, verdict
        history = verdict.history
        now += verdict.delay_seconds if is_patient else 0.0


@given(policies, lives)
def test_no_child_is_restarted_more_often_than_its_policy_says(
    policy: RestartPolicy, life: Life
) -> None:
    crashes, failures = list[float](), 0
    for ended, was_ready, now, _ in restarted(policy, life):
        if ended.code == 76 or ended.is_from_outside:
            continue
        if was_ready:
            crashes.append(now)
        failures = 0 if was_ready else failures + 1
        recent = [at for at in crashes if at > now - policy.period_seconds]
        assert not was_ready or len(recent) <= policy.intensity
        assert failures < policy.start_attempts


@given(policies, exits, st.booleans(), chances)
def test_delays_stay_within_their_bounds(
    policy: RestartPolicy, ended: ProcessExit, was_ready: bool, chance: float
) -> None:
    for _, _, _, verdict in restarted(policy, [(ended, was_ready, 1.0, chance)] * 20):
        assert 0 <= verdict.delay_seconds <= policy.max_backoff_seconds


@given(policies, lives)
def test_temporary_child_is_not_restarted_and_a_clean_exit_is_not_a_failure(
    policy: RestartPolicy, life: Life
) -> None:
    for ended, was_ready, now, chance in life:
        verdict = decide(policy, RestartHistory(), ended, was_ready, now, chance)
        if policy.restart == "temporary":
            assert verdict == EndedInOrder()
        if policy.restart == "transient" and ended.code == 0:
            assert verdict == EndedInOrder()
        if isinstance(verdict, GiveUp):
            assert ended.describe() in verdict.cause
            assert not ended.is_from_outside


@given(services, lives)
def test_service_is_restarted_after_any_exit(policy: RestartPolicy, life: Life) -> None:
    verdicts = [verdict for *_, verdict in restarted(policy, life, is_patient=True)]
    assert len(verdicts) == len(life)
    assert all(0 <= one.delay_seconds <= policy.max_backoff_seconds for one in verdicts)


@given(services, lives)
def test_a_service_that_has_lived_for_a_while_is_restarted_at_once(
    policy: RestartPolicy, life: Life
) -> None:
    history, now = RestartHistory(), 0.0
    for _, _, ended_at, verdict in restarted(policy, life, is_patient=True):
        history, now = verdict.history, ended_at + verdict.delay_seconds
    calm = decide(policy, history, ProcessExit(code=1), True, now + policy.period_seconds, 0.5)
    assert isinstance(calm, Restart)
    assert calm.delay_seconds == 0


@given(policies, lives)
def test_kills_from_outside_do_not_change_later_decisions(
    policy: RestartPolicy, life: Life
) -> None:
    killed = ProcessExit(signal=9, is_from_outside=True)
    plain, struck, now = RestartHistory(), RestartHistory(), 0.0
    for ended, was_ready, gap, chance in life:
        now += gap
        between = decide(policy, struck, killed, True, now, chance)
        if isinstance(between, Restart):
            struck = between.history
        one = decide(policy, plain, ended, was_ready, now, chance)
        other = decide(policy, struck, ended, was_ready, now, chance)
        if ended.is_from_outside:
            continue
        if not isinstance(one, Restart) or not isinstance(other, Restart):
            assert one == other
            return
        assert one.delay_seconds == other.delay_seconds
        plain, struck = one.history, other.history


@given(policies, exits, st.integers(0, 100_000), chances)
def test_long_history_does_not_overflow_the_delay(
    policy: RestartPolicy, ended: ProcessExit, misses: int, chance: float
) -> None:
    history = RestartHistory(router_misses=misses, start_failures=misses)
    decide(policy, history, ended, False, 1e9, chance)
