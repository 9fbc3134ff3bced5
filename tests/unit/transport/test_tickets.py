"""A ticket admits one incarnation of one address."""

from transport.tickets import TICKET_BYTES, is_valid, make_ticket, routing_id

KEY = b"k" * 32


def test_a_ticket_is_good_for_its_own_incarnation_only() -> None:
    ticket = make_ticket(KEY, "ada", 3)
    assert len(ticket) == TICKET_BYTES
    assert is_valid(ticket, KEY, "ada", 3)
    assert not is_valid(ticket, KEY, "ada", 4)
    assert not is_valid(ticket, KEY, "bob", 3)
    assert not is_valid(ticket, b"other", "ada", 3)


def test_routing_id_is_derived_from_the_ticket_and_reveals_nothing() -> None:
    ticket = make_ticket(KEY, "ada", 3)
    assert routing_id(ticket) == routing_id(ticket) != routing_id(make_ticket(KEY, "ada", 4))
    assert b"ada" not in routing_id(ticket)
    assert len(routing_id(ticket)) == 16
    assert routing_id(ticket)[0] != 0  # ZeroMQ keeps those for itself
