"""Who hears what a team's models are saying."""

from actors.broker.stream_subscribers import LEASE_SECONDS, MOST, StreamSubscribers
from agiraph.core.ids import AgentId

SHOP, FARM = AgentId("shop-1"), AgentId("farm-2")


def test_a_listener_is_heard_of_for_as_long_as_it_asks() -> None:
    listeners = StreamSubscribers()
    listeners.listen(SHOP, "console/1", 0.0)
    listeners.listen(FARM, "console/2", 0.0)
    assert listeners.of(SHOP, 1.0) == ["console/1"]
    listeners.listen(SHOP, "console/1", 5.0)
    assert listeners.of(SHOP, LEASE_SECONDS + 1) == ["console/1"]
    assert listeners.of(SHOP, 5.0 + LEASE_SECONDS) == []
    assert listeners.of(None, 0.0) == []


def test_there_are_never_more_listeners_than_can_be_served() -> None:
    listeners = StreamSubscribers()
    for number in range(MOST + 5):
        listeners.listen(SHOP, f"console/{number}", 0.0)
    assert len(listeners.of(SHOP, 1.0)) == MOST
