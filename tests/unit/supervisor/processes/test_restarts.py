"""The decision of the restart policy for each kind of exit."""

from dataclasses import replace

import pytest

from actors.supervisor.processes.restarts import (
    EndedInOrder,
    GiveUp,
    Parked,
    ProcessExit,
    Restart,
    RestartHistory,
    RestartPolicy,
    Verdict,
    decide,
)

CRASH = ProcessExit(signal=9)
PERMANENT = RestartPolicy("permanent", intensity=2, period_seconds=60)
TRANSIENT = RestartPolicy("transient", intensity=2, period_seconds=60)
MIDDLE = 0.5


def after(
    policy: RestartPolicy,
    history: RestartHistory,
    ended: ProcessExit,
    now: float,
    ready: bool = True,
) -> Verdict:
    return decide(policy, history, ended, ready, now, MIDDLE)


def test_first_restart_is_immediate_and_later_ones_back_off() -> None:
    first = after(PERMANENT, RestartHistory(), CRASH, 100)
    assert first == Restart(0.0, RestartHistory(restarts=(100,)))
    assert isinstance(first, Restart)
    second = after(PERMANENT, first.history, CRASH, 101)
    assert second == Restart(0.2, RestartHistory(restarts=(100, 101)))


def test_child_with_more_restarts_than_the_intensity_is_given_up() -> None:
    verdict = after(PERMANENT, RestartHistory(restarts=(100, 101)), CRASH, 102)
    assert verdict == GiveUp("it ended 3 times within 60 s (last: killed by SIGKILL)")


def test_old_restarts_are_not_counted() -> None:
    verdict = after(PERMANENT, RestartHistory(restarts=(1, 2)), CRASH, 100)
    assert verdict == Restart(0.0, RestartHistory(restarts=(100,)))


def test_deaths_over_one_message_count_once() -> None:
    again = ProcessExit(signal=11, is_again=True)
    history = RestartHistory(restarts=(100, 101))
    verdict = after(PERMANENT, history, again, 102)
    assert verdict == Restart(0.4, history)
    assert isinstance(after(PERMANENT, history, CRASH, 103), GiveUp)


def test_child_with_intensity_zero_is_given_up_at_once() -> None:
    assert isinstance(after(RestartPolicy("permanent", 0, 60), RestartHistory(), CRASH, 1), GiveUp)


@pytest.mark.parametrize(
    ("kind", "ended", "expected"),
    [
        ("permanent", ProcessExit(code=0), Restart),
        ("transient", ProcessExit(code=0), EndedInOrder),
        ("transient", ProcessExit(code=1), Restart),
        ("temporary", ProcessExit(code=0), EndedInOrder),
        ("temporary", ProcessExit(code=1), EndedInOrder),
        ("permanent", ProcessExit(code=64), GiveUp),
        ("transient", ProcessExit(code=64), GiveUp),
    ],
)
def test_restart_decision_follows_from_policy_and_exit(
    kind: str, ended: ProcessExit, expected: type
) -> None:
    policy = RestartPolicy(kind, 2, 60)  # type: ignore[arg-type]
    assert isinstance(after(policy, RestartHistory(), ended, 1), expected)


def test_a_start_that_fails_has_a_count_of_its_own() -> None:
    history = RestartHistory(restarts=(99, 100))
    for attempt in (1, 2):
        verdict = after(TRANSIENT, history, CRASH, 101, ready=False)
        assert isinstance(verdict, Restart)
        assert verdict.history.start_failures == attempt
        assert verdict.delay_seconds > 0
        history = verdict.history
    last = after(TRANSIENT, history, ProcessExit(code=1, hint="ImportError: x"), 102, ready=False)
    assert last == GiveUp("it did not start 3 times (exit code 1: ImportError: x)")


def test_missing_router_does_not_count_as_a_failure() -> None:
    history = RestartHistory(restarts=(100, 100), start_failures=2)
    for _ in range(50):
        verdict = after(PERMANENT, history, ProcessExit(code=76), 100, ready=False)
        assert isinstance(verdict, Restart)
        history, delay = verdict.history, verdict.delay_seconds
    assert delay == PERMANENT.max_backoff_seconds


def test_being_ready_once_clears_the_failed_starts() -> None:
    verdict = after(PERMANENT, RestartHistory(start_failures=2), CRASH, 1)
    assert isinstance(verdict, Restart)
    assert verdict.history.start_failures == 0


def test_parking_is_not_a_crash_after_a_complete_start() -> None:
    for policy in (PERMANENT, TRANSIENT):
        assert after(policy, RestartHistory(), ProcessExit(code=77), 1) == Parked()
    assert isinstance(
        after(TRANSIENT, RestartHistory(), ProcessExit(code=77), 1, ready=False), Restart
    )


SERVICE = RestartPolicy("permanent", intensity=2, period_seconds=60, endless=True)
KILLED = ProcessExit(signal=9, is_from_outside=True)


def test_a_service_is_never_given_up_and_its_pauses_grow_to_the_longest() -> None:
    history, now, delays = RestartHistory(), 100.0, []
    for _ in range(12):
        verdict = after(SERVICE, history, ProcessExit(code=1), now)
        assert isinstance(verdict, Restart)
        history, now = verdict.history, now + verdict.delay_seconds + 1
        delays.append(verdict.delay_seconds)
    assert delays == pytest.approx([0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30])


@pytest.mark.parametrize("ended", [ProcessExit(code=64), ProcessExit(code=1), ProcessExit(code=0)])
def test_a_service_that_does_not_start_is_tried_again(ended: ProcessExit) -> None:
    history, delays = RestartHistory(), []
    for _ in range(5):
        verdict = after(SERVICE, history, ended, 100, ready=False)
        assert isinstance(verdict, Restart)
        history = verdict.history
        delays.append(verdict.delay_seconds)
    assert delays == pytest.approx([0, 0.2, 0.4, 0.8, 1.6])


def test_restart_delays_are_reset_when_a_service_has_run_for_a_while() -> None:
    worn = RestartHistory(faults=9, back_at=100)
    soon, late = after(SERVICE, worn, CRASH, 159), after(SERVICE, worn, CRASH, 160)
    assert isinstance(soon, Restart)
    assert soon.delay_seconds == pytest.approx(30)
    assert late == Restart(0.0, RestartHistory(faults=1, back_at=160))


@pytest.mark.parametrize("policy", [PERMANENT, TRANSIENT, SERVICE])
def test_kills_from_outside_are_not_counted(policy: RestartPolicy) -> None:
    history = RestartHistory(restarts=(99, 100), start_failures=2, faults=7, back_at=100)
    for step in range(120):
        now = 101 + step / 2
        verdict = after(policy, history, KILLED, now, ready=step % 2 == 0)
        assert verdict == Restart(0.0, replace(history, killed_at=now))
        history = verdict.history


def test_kill_after_each_start_causes_no_busy_loop() -> None:
    history, now, delays = RestartHistory(), 1.0, []
    for _ in range(5):
        verdict = after(SERVICE, history, KILLED, now, ready=False)
        assert isinstance(verdict, Restart)
        history, now = verdict.history, now + verdict.delay_seconds + 0.01
        delays.append(verdict.delay_seconds)
    assert delays == [0, 0.2, 0, 0.2, 0]


def test_exit_is_described_in_words() -> None:
    assert ProcessExit(signal=15).describe() == "killed by SIGTERM"
    assert ProcessExit(signal=63).describe() == "killed by signal 63"
    assert ProcessExit(code=3, hint="boom").describe() == "exit code 3: boom"


def test_full_disk_does_not_count_as_a_failure() -> None:
    history = RestartHistory(restarts=(99.0,), start_failures=1)
    for was_ready in (True, False):
        verdict = after(PERMANENT, history, ProcessExit(code=74), 100, was_ready)
        assert isinstance(verdict, Restart)
        assert verdict.history == history
        assert 0 < verdict.delay_seconds <= 2
