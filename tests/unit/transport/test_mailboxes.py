"""Mailboxes keep order, know what they have seen, and have bounds."""

from transport.mailboxes import COMPACT_FROM, DUPLICATE, FULL, Mailboxes


def ident(n: int) -> bytes:
    """Return the n-th id."""
    return n.to_bytes(16, "big")


def waiting(boxes: Mailboxes, address: str, after: int = 0) -> list[int]:
    """Return the numbers that wait behind a position."""
    return [int.from_bytes(one.id, "big") for one in boxes.undone(address, 10_000, after)]


def test_what_waits_comes_out_in_the_order_of_arrival() -> None:
    boxes = Mailboxes()
    positions = [boxes.accept("bob", ident(n), b"x") for n in (3, 1, 2)]
    assert positions == sorted(positions)
    assert waiting(boxes, "bob") == [3, 1, 2]
    assert waiting(boxes, "bob", positions[0]) == [1, 2]
    assert len(boxes.undone("bob", 2)) == 2
    assert waiting(boxes, "nobody") == []


def test_a_message_that_waits_or_was_done_is_a_duplicate() -> None:
    boxes = Mailboxes()
    boxes.accept("bob", ident(1), b"x")
    assert boxes.accept("bob", ident(1), b"x") == DUPLICATE
    assert boxes.done("bob", ident(1))
    assert not boxes.done("bob", ident(1))
    assert boxes.accept("bob", ident(1), b"x") == DUPLICATE
    assert boxes.accept("eve", ident(1), b"x") > 0


def test_only_so_many_done_ids_are_remembered() -> None:
    boxes = Mailboxes(known_done=1)
    for n in (1, 2):
        boxes.accept("bob", ident(n), b"x")
        boxes.done("bob", ident(n))
    assert boxes.accept("bob", ident(2), b"x") == DUPLICATE
    assert boxes.accept("bob", ident(1), b"x") > 0


def test_a_mailbox_is_full_in_messages_or_in_bytes() -> None:
    boxes = Mailboxes(max_messages=2, max_bytes=10)
    assert boxes.accept("bob", ident(1), bytes(4)) > 0
    assert boxes.accept("bob", ident(2), bytes(7)) == FULL
    assert boxes.accept("bob", ident(2), bytes(6)) > 0
    assert boxes.accept("bob", ident(3), b"") == FULL
    boxes.done("bob", ident(1))
    assert boxes.accept("bob", ident(3), b"") > 0
    assert boxes.depths() == {"bob": (2, 6)}


def test_order_holds_while_thousands_come_and_go() -> None:
    boxes = Mailboxes()
    for n in range(4 * COMPACT_FROM):
        boxes.accept("bob", ident(n), b"x")
    for n in range(3 * COMPACT_FROM):
        boxes.done("bob", ident(n))
    assert waiting(boxes, "bob") == list(range(3 * COMPACT_FROM, 4 * COMPACT_FROM))
