"""A change is sent to all followers once for each subject, with its latest state."""

import asyncio
from collections.abc import Sequence

from agiraph.api.live.changes import HomeChanges, PendingChanges, Subject
from agiraph.api.live.feeds import STOPPING, Feed
from agiraph.api.live.streams import MOST_CHARACTERS, MOST_PIECES, StreamWatcher
from agiraph.core.ids import AgentId
from agiraph.http.api import AgentChangeView, ChangeView, EventsChangeView, HomeView
from agiraph.messages.model import StreamDelta

SHOP, FARM = AgentId("shop-1"), AgentId("farm-2")


def grown(agent: AgentId, seq: int, *types: str) -> EventsChangeView:
    return EventsChangeView(agent=agent, seq=seq, types=types)


def home() -> HomeView:
    return HomeView(agents={SHOP: 1}, messages=0, unread={}, questions=())


def deleted(subjects: Sequence[Subject]) -> list[ChangeView]:
    return [AgentChangeView(agent=AgentId(id), change="deleted") for _, id in subjects]


def test_changes_of_one_subject_are_merged_until_taken() -> None:
    pending = PendingChanges()
    pending.add_events(grown(SHOP, 4, "tool.called"))
    pending.add_events(grown(FARM, 1, "agent.created"))
    pending.add_events(grown(SHOP, 9, "node.created", "tool.called"))
    pending.add_events(grown(SHOP, 7, "tool.result"))
    for _ in range(3):
        pending.note(("inbox", SHOP))
    pending.note(("entity", f"{SHOP}/ada"))
    shop = grown(SHOP, 9, "node.created", "tool.called", "tool.result")
    assert pending.take() == (
        [shop, grown(FARM, 1, "agent.created")],
        [("inbox", SHOP), ("entity", f"{SHOP}/ada")],
    )
    assert pending.take() == ([], [])


async def batch(feed: Feed[ChangeView]) -> Sequence[ChangeView]:
    async with asyncio.timeout(20):
        found = await anext(feed)
        assert isinstance(found, Sequence)
        return found


async def test_follower_gets_snapshot_changes_and_final_message() -> None:
    changes = HomeChanges()
    changes.note("deleted", "before")
    feed, other = changes.follow(home, deleted), changes.follow(home, deleted)
    assert list(await batch(feed)) == list(await batch(other)) == [home()]
    changes.log_grew(SHOP, 2, ["b", "a"])
    changes.note("deleted", FARM)
    both = [grown(SHOP, 2, "a", "b"), AgentChangeView(agent=FARM, change="deleted")]
    assert list(await batch(feed)) == both
    changes.log_grew(SHOP, 3, ["c"])
    changes.log_grew(SHOP, 4, ["d"])
    assert list(await batch(feed)) == [grown(SHOP, 4, "c", "d")]
    slow = [grown(SHOP, 4, "a", "b", "c", "d"), both[1]]
    assert list(await batch(other)) == slow, "nothing is lost, and nothing piles up"
    changes.close()
    assert await anext(feed) == STOPPING
    await other.aclose()  # type: ignore[attr-defined]
    assert [item async for item in feed] == []
    assert changes.followers == 0


def test_a_slow_watcher_loses_the_oldest_pieces_and_never_memory() -> None:
    watcher = StreamWatcher()
    for number in range(MOST_PIECES + 5):
        watcher.add(StreamDelta(entity="shop-1/ada", call=b"1", text="x", at=number))
    assert [piece.at for piece in watcher.take()] == list(range(5, MOST_PIECES + 5))
    half = "y" * (MOST_CHARACTERS // 2)
    for number in range(3):
        watcher.add(StreamDelta(entity="shop-1/ada", call=b"1", text=half, at=number))
    assert [piece.at for piece in watcher.take()] == [1, 2]
    assert watcher.take() == []
