"""The delivery queue: each notice once, held during an absence, retried, given up, restored from
its state."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.notifications.delivery_queue import MOST_WAITING, DeliveryQueue, backoff, delivery_id
from agiraph.settings.channels import ChannelConfig
from tests.unit.notifications.notices import notice, webhook

PHONE = {"phone": webhook()}
DESKTOP = ChannelConfig(kind="desktop", notices=("messages",))
BOTH = {"phone": webhook(), "desk": webhook(notices=["messages"])}


def told(book: DeliveryQueue, id: str = "n1", channels: Any = None, **facts: Any) -> bool:
    """Let the book take a notice; return whether there was a record to write."""
    record = book.noticing(notice(id, **facts), channels or PHONE, 10.0, {"thread": 1})
    if record is not None:
        book.apply(record)
    return record is not None


def test_notice_is_queued_once_for_each_matching_channel() -> None:
    book = DeliveryQueue()
    assert told(book, channels=BOTH)
    assert not told(book, channels=BOTH)
    assert [one.channel for one in book.waiting()] == ["phone"]
    assert told(book, "n2", BOTH, kind="messages")
    assert [one.channel for one in book.waiting()] == ["phone", "desk"]


def test_urgent_only_channel_gets_only_urgent_notices() -> None:
    book, channels = DeliveryQueue(), {"phone": webhook(urgent_only=True)}
    assert not told(book, channels=channels)
    assert told(book, "n2", channels, is_urgent=True)


def test_question_with_a_channel_goes_only_to_that_channel() -> None:
    book = DeliveryQueue()
    channels = {**BOTH, "late": webhook(urgent_only=True), "desk": DESKTOP}
    for id, named in (("n1", "late"), ("n2", "desktop"), ("n3", "cli"), ("n4", "gone since")):
        assert told(book, id, channels, channel=named)
    receivers = [(one.notice.id, one.channel) for one in book.waiting()]
    assert receivers == [("n1", "late"), ("n2", "desk"), ("n3", "phone"), ("n4", "phone")]


def test_failed_delivery_is_retried_given_up_and_repeated_by_a_person() -> None:
    book = DeliveryQueue()
    told(book)
    id = delivery_id("n1", "phone")
    book.apply(
        {"type": "tried", "id": id, "attempts": 1, "error": "503", "at": 11.0, "next_at": 15.0}
    )
    assert book.due("phone", 14.0, holds=True) == []
    assert book.next_due("phone", 14.0) == 15.0
    assert [one.attempts for one in book.due("phone", 15.0, holds=True)] == [1]
    book.apply({"type": "dead", "id": id, "error": "503", "at": 16.0})
    assert book.due("phone", 99.0, holds=True) == []
    assert [one.id for one in book.dead()] == [id]
    book.apply({"type": "again", "id": id})
    assert [one.attempts for one in book.due("phone", 99.0, holds=True)] == [0]
    book.apply({"type": "delivered", "id": id, "at": 100.0})
    assert not book.deliveries
    assert (book.tallies["phone"].delivered, book.tallies["phone"].last_error) == (1, "")


def test_urgent_notices_go_to_the_away_channel_and_the_rest_waits() -> None:
    book = DeliveryQueue()
    book.apply({"type": "away", "at": 1.0, "until": 50.0, "channel": "desk"})
    told(book, "calm", BOTH)
    told(book, "hot", BOTH, is_urgent=True)
    assert [(one.notice.id, one.channel) for one in book.waiting()] == [
        ("calm", "phone"),
        ("hot", "desk"),
    ]
    assert book.due("phone", 20.0, holds=True) == []
    assert len(book.due("phone", 20.0, holds=False)) == 1
    assert len(book.due("desk", 20.0, holds=True)) == 1
    assert book.next_due("phone", 20.0) == 50.0
    assert len(book.due("phone", 50.0, holds=True)) == 1
    book.apply({"type": "back", "at": 30.0})
    assert len(book.due("phone", 30.0, holds=True)) == 1


def opened(
    book: DeliveryQueue, channels: list[str], thread: int, events: dict[str, int] | None
) -> None:
    """Let the book be opened with these channels."""
    record = book.opening(channels, thread, events)
    assert record is not None
    book.apply(record)


def test_source_is_followed_from_its_first_reading() -> None:
    book = DeliveryQueue()
    assert book.opening([], 7, None) is None
    opened(book, ["phone"], 7, None)
    assert (book.thread, book.events) == (7, {})
    assert book.opening(["phone"], 9, None) is None
    opened(book, ["desk", "phone"], 9, {"shop-1": 3})
    assert (book.thread, book.events) == (7, {"shop-1": 3})
    assert book.opening(["desk", "phone"], 9, {"shop-1": 5, "shop-2": 1}) is None
    told(book)
    opened(book, [], 9, None)
    assert not book.deliveries


def test_queue_of_a_channel_is_bounded() -> None:
    book = DeliveryQueue()
    for number in range(MOST_WAITING + 3):
        told(book, f"n{number}")
    assert len(book.waiting("phone")) == MOST_WAITING
    assert len(book.dead()) == 3


def test_retry_delays_double_up_to_a_limit() -> None:
    assert [backoff(n, 2.0, 10.0) for n in (1, 2, 3, 4, 400)] == [2.0, 4.0, 8.0, 10.0, 10.0]


STEPS = st.one_of(
    st.tuples(st.just("told"), st.integers(0, 6)),
    st.tuples(st.sampled_from(["delivered", "dead", "again", "dropped"]), st.integers(0, 6)),
    st.tuples(st.sampled_from(["away", "back"]), st.integers(0, 6)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=30))
def test_queue_restored_from_its_state_is_equal(steps: list[tuple[str, int]]) -> None:
    book = DeliveryQueue()
    for kind, number in steps:
        id = delivery_id(f"n{number}", "phone")
        if kind == "told":
            told(book, f"n{number}", BOTH, is_urgent=number % 2 == 0)
        elif kind in ("away", "back"):
            book.apply({"type": kind, "at": float(number), "until": 100.0 + number})
        elif id in book.deliveries:
            book.apply({"type": kind, "id": id, "error": "x", "at": float(number)})
    again = DeliveryQueue()
    again.apply(book.state())
    assert again == book
