"""Leases: a host's processes have ended when the home starts them elsewhere, whatever is lost."""

from hypothesis import given
from hypothesis import strategies as st

from actors.host.lease import Lease
from actors.supervisor.leases import GrantedLease, OverdueKills, unknown_lease
from agiraph.messages.host import LeaseRenewed

KILL_SECONDS = 0.7
delays = st.floats(0, 30)


@given(
    renewals=st.lists(
        st.tuples(st.floats(0.01, 20), delays, delays, st.booleans(), st.floats(3, 60)),
        min_size=1,
        max_size=20,
    ),
    ahead=st.floats(-1e6, 1e6),
)
def test_host_has_killed_its_processes_before_the_home_restarts_them(
    renewals: list[tuple[float, float, float, bool, float]], ahead: float
) -> None:
    """The host's clock is `ahead`; questions and answers take any time, answers may be lost."""
    home, host, asked_at = GrantedLease(), Lease(), 0.0
    for pause, way_there, way_back, is_lost, seconds in renewals:
        asked_at += pause
        answered_at = asked_at + way_there
        home = home.granted(max(answered_at, home.heard_at), seconds)
        if not is_lost:
            answer = LeaseRenewed(sent_at=asked_at + ahead, seconds=seconds, epoch="1")
            host = host.renewed(answer, answered_at + way_back + ahead)
        assert host.ends_at - ahead + KILL_SECONDS <= home.ends_at + 1e-6


@given(st.lists(st.tuples(st.floats(0.1, 5), st.sets(st.sampled_from("abc"))), max_size=20))
def test_a_kill_is_ignored_when_its_process_is_listed_for_longer_than_a_lease(
    renewals: list[tuple[float, set[str]]],
) -> None:
    kills, now, since = OverdueKills(), 0.0, dict[str, float]()
    for pause, listed in renewals:
        now += pause
        since = {one: since.get(one, now) for one in listed}
        kills = kills.listed({(one, 1) for one in listed}, now)
        assert set(kills.ignored(now, 3)) == {one for one in listed if now - since[one] > 3}


def test_host_without_a_lease_is_not_lost() -> None:
    assert GrantedLease().state(5, 1) == "away"
    states = [GrantedLease().granted(0, 10).state(now, 1) for now in (1, 5, 11)]
    assert states == ["ready", "away", "lost"]
    assert [unknown_lease(0, 10).state(now, 1) for now in (5, 11)] == ["away", "lost"]
