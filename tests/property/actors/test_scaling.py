"""Scaling: never more hosts than allowed, never fewer than wanted, and no working host is ended."""

from hypothesis import given
from hypothesis import strategies as st

from actors.scaler.decide import Decision, Limits, OwnHost, decide

names = st.integers(0, 9).map(lambda number: f"auto-{number}")
hosts = st.lists(
    st.builds(
        OwnHost,
        names,
        st.booleans(),
        st.booleans(),
        processes=st.integers(0, 2),
        idle_seconds=st.floats(0, 100),
    ),
    unique_by=lambda host: host.name,
)
limits = st.tuples(st.integers(0, 5), st.integers(1, 5), st.floats(0, 100)).map(
    lambda drawn: Limits(min(drawn[:2]), max(drawn[:2]), drawn[2])
)


@given(hosts, limits, st.booleans())
def test_scaling_stays_within_its_limits_and_ends_no_busy_host(
    hosts: list[OwnHost], limits: Limits, is_needed: bool
) -> None:
    decision = decide(hosts, limits, is_needed=is_needed)
    living = [host for host in hosts if not host.is_gone]
    ended = {host.name: host for host in hosts if host.name in decision.end}
    left = len(living) + decision.start - sum(not host.is_gone for host in ended.values())
    assert left <= max(limits.most, len(living))
    assert left >= min(limits.least, limits.most)
    assert {host.name for host in hosts if host.is_gone} <= ended.keys()
    for host in ended.values():
        assert host.is_gone or (not host.processes and host.idle_seconds >= limits.idle_seconds)
    if is_needed:
        assert all(host.is_gone for host in ended.values())
        is_coming = any(not host.is_ready for host in living)
        assert decision.start or is_coming or len(living) >= limits.most


def test_one_host_is_started_at_a_time() -> None:
    few = Limits(0, 4, 60)
    ready = OwnHost("auto-1", is_ready=True, processes=3)
    assert decide([], few, is_needed=False) == Decision()
    assert decide([ready], few, is_needed=True) == Decision(1)
    assert decide([ready, OwnHost("auto-2")], few, is_needed=True) == Decision()
    assert decide([], Limits(2, 4, 60), is_needed=True) == Decision(2)
