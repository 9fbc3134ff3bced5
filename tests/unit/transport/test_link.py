"""The endpoint's half of the link: greeting, sending again, dropping repeated messages."""

from typing import Any

from transport import protocol
from transport.envelope import NO_ID, Flag, Header, pack, read_header
from transport.link import (
    GREET_AGAIN,
    HEARTBEAT_EVERY,
    SILENCE,
    STORE_AGAIN,
    Link,
    LinkEnded,
    LinkEvent,
    LinkState,
    LinkWelcomed,
    MessageAccepted,
    MessageArrived,
    MessageRefused,
    PeerDown,
)
from transport.protocol import link_frame


def ident(n: int) -> bytes:
    """Return the n-th id."""
    return n.to_bytes(16, "big")


def message(n: int, *, durable: bool = True, sender: str = "bob") -> bytes:
    """Return a message to ada."""
    flags = int(Flag.DURABLE) if durable else 0
    return pack(Header(1, ident(n), "text", "ada", sender, 1, None, 1.0, flags, None), b"")


def submit(link: Link, n: int, *, durable: bool = True, now: float = 0.0) -> None:
    """Let ada send a message."""
    link.submit(ident(n), message(n, durable=durable), durable=durable, expendable=True, now=now)


def hear(link: Link, type_: str, body: dict[str, Any], now: float = 0.0) -> list[LinkEvent]:
    """Let the router say something."""
    return list(link.arrived(link_frame(type_, body), now))


def sent(link: Link) -> list[str]:
    """Take out the frames to send; return ids for messages and types for the link's own frames."""
    found = []
    while link.out:
        header = read_header(link.out.pop().blob)
        is_ours = header.type.startswith(protocol.LINK_PREFIX)
        found.append(header.type if is_ours else str(int.from_bytes(header.id, "big")))
    return found


def welcomed(epoch: bytes = b"one", *, raises_when_full: bool = False) -> Link:
    """Return a link that is up."""
    link = Link("ada", 1, bytes(32), 1, raises_when_full=raises_when_full)
    link.connected(0.0)
    assert sent(link) == [protocol.HELLO]
    assert hear(link, protocol.WELCOME, {"epoch": epoch}) == [LinkWelcomed(epoch, lost=False)]
    return link


def test_nothing_but_a_hello_is_sent_before_the_welcome() -> None:
    link = Link("ada", 1, bytes(32), 1)
    submit(link, 1)
    submit(link, 2, durable=False)
    assert sent(link) == []
    link.connected(0.0)
    assert sent(link) == [protocol.HELLO]
    hear(link, protocol.WELCOME, {"epoch": b"one"})
    assert sent(link) == ["1", "2"]


def test_unaccepted_messages_are_sent_again_in_order_after_each_welcome() -> None:
    link = welcomed()
    for n in (1, 2, 3):
        submit(link, n)
    assert sent(link) == ["1", "2", "3"]
    assert hear(link, protocol.ACK, {"ids": [ident(2)], "stage": "accepted"}) == [
        MessageAccepted(ident(2))
    ]
    link.disconnected()
    link.connected(1.0)
    assert sent(link) == [protocol.HELLO]
    assert hear(link, protocol.WELCOME, {"epoch": b"one"}) == [LinkWelcomed(b"one", lost=True)]
    assert sent(link) == ["1", "3"]


def test_the_same_message_submitted_twice_is_sent_once() -> None:
    link = welcomed()
    submit(link, 1)
    submit(link, 1)
    assert sent(link) == ["1"]


def test_unknown_link_sends_its_hello_again() -> None:
    link = welcomed()
    submit(link, 1)
    sent(link)
    hear(link, protocol.WHO, {})
    hear(link, protocol.WHO, {})
    assert sent(link) == [protocol.HELLO]
    assert hear(link, protocol.WELCOME, {"epoch": b"two"}) == [LinkWelcomed(b"two", lost=True)]
    assert sent(link) == ["1"]


def test_message_is_delivered_once_and_acknowledged_again() -> None:
    link = welcomed()
    assert len(list(link.arrived(message(1), 0.0))) == 1
    assert list(link.arrived(message(1), 0.0)) == []
    link.done(ident(1))
    link.done(ident(1))
    link.done(ident(9))
    link.flush_acks()
    assert sent(link) == [protocol.ACK]
    assert list(link.arrived(message(1), 0.0)) == []
    link.flush_acks()
    assert sent(link) == [protocol.ACK]


def test_acknowledgements_during_a_disconnection_are_sent_later() -> None:
    link = welcomed()
    list(link.arrived(message(1), 0.0))
    link.disconnected()
    link.done(ident(1))
    link.flush_acks()
    assert sent(link) == []
    link.connected(1.0)
    hear(link, protocol.WELCOME, {"epoch": b"one"})
    link.flush_acks()
    assert sent(link) == [protocol.ACK]


def test_a_durable_message_that_overtakes_the_welcome_waits_for_its_turn() -> None:
    link = welcomed()
    link.disconnected()
    link.connected(1.0)
    # The router takes the new connection for the old one, on which message 1 was lost.
    assert list(link.arrived(message(2), 1.0)) == []
    hear(link, protocol.WELCOME, {"epoch": b"one"})
    ids = [e.header.id for n in (1, 2) for e in link.arrived(message(n), 1.0)]  # type: ignore[union-attr]
    assert ids == [ident(1), ident(2)]


def test_a_passing_message_is_handed_out_each_time() -> None:
    link = welcomed()
    frame = message(1, durable=False)
    events = [*link.arrived(frame, 0.0), *link.arrived(frame, 0.0)]
    assert [type(event) for event in events] == [MessageArrived, MessageArrived]


def test_idle_link_sends_heartbeats_and_a_hello_after_silence() -> None:
    link = welcomed()
    link.tick(HEARTBEAT_EVERY, 0.0)
    assert sent(link) == [protocol.HEARTBEAT]
    hear(link, protocol.ALIVE, {}, now=3.0)
    link.tick(4.0, 0.0)
    assert sent(link) == [protocol.HEARTBEAT]
    link.tick(3.0 + SILENCE, 0.0)
    assert sent(link) == [protocol.HELLO]
    link.tick(3.0 + SILENCE + GREET_AGAIN, 0.0)
    assert sent(link) == [protocol.HELLO]


def test_suspension_of_the_process_is_not_silence_of_the_router() -> None:
    link = welcomed()
    link.tick(HEARTBEAT_EVERY, 0.0)
    link.tick(100.0, 97.0)
    assert sent(link) == [protocol.HEARTBEAT, protocol.HEARTBEAT]
    assert link.state is LinkState.UP


def test_a_message_that_is_not_accepted_for_long_means_a_new_greeting() -> None:
    link = welcomed()
    submit(link, 1, now=1.0)
    sent(link)
    hear(link, protocol.ALIVE, {}, now=SILENCE)
    link.tick(1.0 + SILENCE, 0.0)
    assert sent(link) == [protocol.HELLO]
    hear(link, protocol.WELCOME, {"epoch": b"one"}, now=8.0)
    assert sent(link) == ["1"]


def test_refused_hello_or_a_newer_incarnation_ends_the_link() -> None:
    link = Link("ada", 1, bytes(32), 1)
    link.connected(0.0)
    nack: dict[str, Any] = {"id": NO_ID, "reason": "not_allowed", "detail": "no"}
    assert hear(link, protocol.NACK, nack) == [LinkEnded(LinkState.REFUSED, "not_allowed", "no")]
    link.connected(1.0)
    assert link.state is LinkState.REFUSED
    link = welcomed()
    nack = {"id": None, "reason": "stale_incarnation", "detail": "2"}
    assert hear(link, protocol.NACK, nack) == [
        LinkEnded(LinkState.FENCED, "stale_incarnation", "2")
    ]
    link.disconnected()
    assert link.state is LinkState.FENCED


def test_late_refusal_of_a_message_does_not_refuse_the_hello() -> None:
    link = welcomed()
    submit(link, 1)
    hear(link, protocol.WHO, {})
    nack = {"id": ident(1), "reason": "mailbox_full", "detail": "x"}
    assert hear(link, protocol.NACK, nack) == [
        MessageRefused(ident(1), "mailbox_full", "x", protocol.ROUTER)
    ]
    assert link.state is LinkState.GREETING
    assert not link.unaccepted


def test_link_frames_are_accepted_only_from_the_router() -> None:
    link = welcomed()
    for type_, body in (
        (protocol.DOWN, {"address": "bob", "incarnation": 1}),
        (protocol.BYE, {}),
        (protocol.WELCOME, {"epoch": b"two"}),
        (protocol.NACK, {"id": None, "reason": "stale_incarnation", "detail": ""}),
    ):
        assert list(link.arrived(link_frame(type_, body, sender="eve"), 0.0)) == []
    assert link.state is LinkState.UP
    body = {"address": "bob", "incarnation": 1}
    assert hear(link, protocol.DOWN, body) == [PeerDown("bob", 1, None)]


def test_bye_is_sent_and_received() -> None:
    link = welcomed()
    link.close()
    assert sent(link) == [protocol.BYE]
    assert hear(link, protocol.BYE, {}) == [LinkEnded(LinkState.LEFT, "left", "")]


def test_invalid_frames_are_counted() -> None:
    link = welcomed()
    for blob in (b"", b"noise", link_frame(protocol.ACK, {}), link_frame(protocol.DOWN, {"x": 1})):
        assert list(link.arrived(blob, 0.0)) == []
    assert link.malformed == 4


def test_message_that_the_router_could_not_store_is_sent_again_with_all_later_messages() -> None:
    link = welcomed()
    submit(link, 1)
    submit(link, 2)
    assert sent(link) == ["1", "2"]
    nack = {"id": ident(1), "reason": "not_stored", "detail": "full"}
    assert hear(link, protocol.NACK, nack, now=1.0) == []
    submit(link, 3, now=1.0)
    assert sent(link) == [], "it would overtake the first"
    link.tick(1.1, 0.0)
    assert sent(link) == []
    link.tick(1.0 + STORE_AGAIN, 0.0)
    assert sent(link) == ["1", "2", "3"]
    ack = {"ids": [ident(1), ident(2), ident(3)], "stage": protocol.ACCEPTED}
    assert hear(link, protocol.ACK, ack, now=2.0) == [MessageAccepted(ident(n)) for n in (1, 2, 3)]
    submit(link, 4, now=2.0)
    assert sent(link) == ["4"]


def test_full_disk_refuses_a_message_that_must_not_wait() -> None:
    link = welcomed(raises_when_full=True)
    submit(link, 1)
    nack = {"id": ident(1), "reason": "not_stored", "detail": "full"}
    assert hear(link, protocol.NACK, nack) == [
        MessageRefused(ident(1), "not_stored", "full", protocol.ROUTER)
    ]
    assert not link.unaccepted
