"""Home and host never both run a process, however messages are delayed, lost or reordered."""

import math

from hypothesis import given
from hypothesis import strategies as st

from actors.host.lease import Lease, verdict_on_launch
from agiraph.messages.host import LeaseRenewed

times = st.floats(0, 100)
exchanges = st.tuples(times, times, times, st.booleans())
"""When a question is sent, the transit times of question and answer, whether the answer is lost."""


@given(st.lists(exchanges, max_size=12), st.floats(3, 60), st.floats(-1e6, 1e6), times)
def test_lease_ends_on_the_host_before_the_home_counts_it_ended(
    asked: list[tuple[float, float, float, bool]], seconds: float, offset: float, now: float
) -> None:
    """`offset` is the difference between the host's clock and the home's."""
    home_ends, lease, arrivals = -math.inf, Lease(), []
    for sent, there, back, is_lost in asked:
        answered = sent + there
        if answered <= now:
            home_ends = max(home_ends, answered + seconds)
        if not is_lost and answered + back <= now:
            arrivals.append((answered + back, sent))
    for arrived, sent in sorted(arrivals):
        granted = LeaseRenewed(sent_at=sent + offset, seconds=seconds, epoch="e")
        before, lease = lease, lease.renewed(granted, arrived + offset)
        assert lease.ends_at >= before.ends_at
    if lease.is_valid(now + offset):
        assert now <= home_ends + 1e-3


def test_lease_of_another_supervisor_ends_the_earlier_processes() -> None:
    first = LeaseRenewed(sent_at=10, seconds=15, epoch="a")
    lease = Lease().renewed(first, 11)
    assert not Lease().must_end(first)
    assert not lease.must_end(first)
    second = LeaseRenewed(sent_at=12, seconds=5, epoch="b")
    assert lease.must_end(second)
    assert lease.renewed(second, 13) == Lease("b", 17, 5)


def test_answer_to_a_future_request_grants_no_lease() -> None:
    granted = LeaseRenewed(sent_at=1e9, seconds=15, epoch="a")
    assert not Lease().renewed(granted, 10).is_valid(10)


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=20))
def test_incarnations_of_an_address_only_rise_and_none_starts_twice(
    launches: list[tuple[int, bool]],
) -> None:
    known, is_running, started = None, False, list[int]()
    for incarnation, ends in launches:
        verdict = verdict_on_launch(incarnation, known, is_running)
        assert (verdict == "confirm") == (is_running and incarnation == known)
        if verdict in ("start", "replace"):
            known, is_running = incarnation, True
            started.append(incarnation)
        is_running = is_running and not ends
    assert started == sorted(set(started))
