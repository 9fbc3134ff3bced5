"""The switch's rules that the contract suite cannot see from outside."""

import secrets
from dataclasses import replace
from typing import Any

from actors.router.main import TOPOLOGY
from transport import protocol, tickets
from transport.envelope import Flag, Header, body_of, pack, pack_map, read_header, read_map
from transport.mailboxes import Mailboxes
from transport.peers import MAX_HELD, Topology
from transport.protocol import hello_frame, link_frame
from transport.router_core import WINDOW, Outgoing, RouterCore

KEY = b"k" * 32
DURABLE, ASK = int(Flag.DURABLE), int(Flag.ASK)
UNTAPPED = replace(TOPOLOGY, tap=None)


class CountingMailboxes(Mailboxes):
    """Mailboxes that know how often they were committed and synced."""

    commits = syncs = 0

    def commit(self) -> None:
        self.commits += 1

    def sync(self) -> None:
        self.syncs += 1


class RouterHarness:
    """A switch and the frames that left it."""

    def __init__(self, mailboxes: Mailboxes | None = None, topology: Topology = UNTAPPED) -> None:
        self.mailboxes = mailboxes or CountingMailboxes()
        self.core = RouterCore(KEY, self.mailboxes, b"epoch", topology)

    def join(self, *addresses: str) -> "RouterHarness":
        """Let peers say hello; return this harness."""
        for address in addresses:
            self.hello(address)
        self.settle()
        return self

    def hello(self, address: str, incarnation: int = 1, rid: bytes | None = None) -> None:
        ticket = tickets.make_ticket(KEY, address, incarnation)
        frame = hello_frame(address, incarnation, ticket, 1)
        self.core.receive(rid or f"{address}#{incarnation}".encode(), frame)

    def announce(self, *known: str) -> None:
        self.hello("supervisor")
        self.say("supervisor", "router", type=protocol.ADDRESSES, body={"known": list(known)})
        self.settle()

    def say(self, sender: str, to: str, body: dict[str, Any] | None = None, **fields: Any) -> bytes:
        values = {"id": secrets.token_bytes(16), "type": "text"} | fields
        header = Header(version=1, to=to, sender=sender, incarnation=1, **values)
        self.core.receive(f"{sender}#1".encode(), pack(header, pack_map(body or {})))
        return header.id

    def done(self, address: str, ids: list[bytes]) -> None:
        body = {"ids": ids, "stage": protocol.DONE}
        frame = link_frame(protocol.ACK, body, sender=address, incarnation=1)
        self.core.receive(f"{address}#1".encode(), frame)

    def settle(self) -> list[tuple[str, Header, dict[str, Any]]]:
        """Return all frames of the batch: deliveries, then acknowledgements."""
        frames: list[Outgoing] = []
        while following := self.core.settle():
            frames += following
        return [
            (
                rid.decode() if isinstance(rid, bytes) else rid[0],
                read_header(blob),
                read_map(body_of(blob)),
            )
            for rid, blob, _ in frames
        ]


def kinds(frames: list[tuple[str, Header, dict[str, Any]]]) -> list[tuple[str, str]]:
    """Return (recipient, type) of frames."""
    return [(rid, header.type) for rid, header, _ in frames]


def texts(harness: RouterHarness) -> list[bytes]:
    """Return the ids of the messages that are delivered."""
    return [header.id for _, header, _ in harness.settle() if header.type == "text"]


def test_a_batch_is_committed_once_and_acknowledged_in_one_frame() -> None:
    mailboxes = CountingMailboxes()
    harness = RouterHarness(mailboxes).join("ada", "bob")
    ids = [harness.say("ada", "bob", flags=DURABLE) for _ in range(3)]
    assert mailboxes.commits == 0
    frames = harness.settle()
    assert mailboxes.commits == 1
    assert [header.id for _, header, _ in frames[:-1]] == ids
    assert frames[-1][2] == {"ids": ids, "stage": "accepted"}
    harness.say("ada", "bob")
    harness.settle()
    assert mailboxes.commits == 1


def test_an_acknowledgement_waits_for_the_disk_and_a_delivery_does_not() -> None:
    mailboxes = CountingMailboxes()
    harness = RouterHarness(mailboxes).join("ada", "bob")
    harness.say("ada", "bob", flags=DURABLE)
    assert [rid for rid, _, _ in harness.core.settle()] == [b"bob#1"]
    assert (mailboxes.commits, mailboxes.syncs) == (1, 0)
    assert [rid for rid, _, _ in harness.core.settle()] == [b"ada#1"]
    assert mailboxes.syncs == 1


def test_unacknowledged_durable_messages_are_limited_to_a_window() -> None:
    harness = RouterHarness().join("ada", "bob")
    ids = [harness.say("ada", "bob", flags=DURABLE) for _ in range(2 * WINDOW)]
    sent = texts(harness)
    assert sent == ids[:WINDOW]
    harness.done("bob", ids[: WINDOW // 2])
    sent += texts(harness)
    assert sent == ids[: WINDOW + WINDOW // 2]
    harness.done("bob", ids[WINDOW // 2 : WINDOW + WINDOW // 2])
    sent += texts(harness)
    assert sent == ids
    harness.done("bob", ids)
    assert harness.mailboxes.depths() == {}


def test_repeated_hello_redelivers_unacknowledged_messages() -> None:
    harness = RouterHarness()
    harness.hello("ada")
    harness.hello("bob")
    ids = [harness.say("ada", "bob", flags=DURABLE) for _ in range(3)]
    harness.done("bob", ids[:1])
    harness.settle()
    harness.hello("bob")
    frames = harness.settle()
    assert kinds(frames)[0] == ("bob#1", protocol.WELCOME)
    assert kinds(frames)[-1] == ("ada#1", protocol.DOWN)
    assert [header.id for _, header, _ in frames[1:-1]] == ids[1:]


def test_peers_are_notified_of_a_disconnection_and_a_return() -> None:
    harness = RouterHarness().join("ada", "bob")
    harness.hello("bob")
    (body,) = [body for rid, _, body in harness.settle() if rid == "ada#1"]
    assert body == {"address": "bob", "incarnation": 1, "is_back": True}


def test_an_unknown_connection_is_asked_once_a_batch() -> None:
    harness = RouterHarness()
    for _ in range(3):
        harness.say("eve", "broker")
    assert kinds(harness.settle()) == [("eve#1", protocol.WHO)]


def test_newer_incarnation_fences_the_older_and_is_announced() -> None:
    harness = RouterHarness()
    for address in ("ada", "bob"):
        harness.hello(address)
    harness.settle()
    harness.hello("bob", 2)
    frames = harness.settle()
    assert ("bob#1", protocol.NACK) in kinds(frames)
    assert ("ada#1", protocol.DOWN) in kinds(frames)
    assert ("bob#2", protocol.WELCOME) in kinds(frames)
    assert harness.core.present == {"ada": 1, "bob": 2}
    harness.hello("bob", 1)
    assert harness.settle()[0][2]["reason"] == "stale_incarnation"


def test_connection_cannot_greet_under_another_address() -> None:
    harness = RouterHarness()
    harness.hello("ada", rid=b"one")
    harness.settle()
    harness.hello("bob", rid=b"one")
    assert harness.settle()[0][2]["reason"] == "not_allowed"


def test_messages_for_unknown_addresses_are_bounded_and_dropped_with_the_connection() -> None:
    harness = RouterHarness().join("ada")
    for _ in range(MAX_HELD + 1):
        harness.say("ada", "nobody", flags=DURABLE)
    assert [body["reason"] for _, _, body in harness.settle()] == ["mailbox_full"]
    harness.core.peer_gone(b"ada#1")
    harness.announce("nobody")
    assert harness.mailboxes.depths() == {}


def test_address_removed_from_the_list_is_unknown_unless_connected() -> None:
    harness = RouterHarness()
    harness.hello("ada")
    harness.hello("bob")
    harness.announce("ada")
    harness.say("ada", "bob", flags=DURABLE)
    assert ("bob#1", "text") in kinds(harness.settle())
    harness.core.peer_gone(b"bob#1")
    harness.say("ada", "bob", flags=DURABLE)
    assert harness.settle()[-1][2]["reason"] == "unknown_recipient"


def test_a_full_record_does_not_stop_the_work() -> None:
    harness = RouterHarness(Mailboxes(max_messages=1), TOPOLOGY)
    harness.hello("ada")
    for to in ("bob", "eve"):
        harness.hello(to)
        harness.settle()
        harness.say("ada", to, flags=DURABLE)
        assert kinds(harness.settle()) == [(f"{to}#1", "text"), ("ada#1", protocol.ACK)]
    assert harness.core.counts["tap_dropped"] == 1


def test_answers_and_questions_are_not_expendable() -> None:
    harness = RouterHarness().join("ada", "bob")
    harness.say("ada", "bob")
    harness.say("ada", "bob", flags=ASK)
    harness.say("ada", "bob", reply_to=bytes(16))
    assert [is_expendable for _, _, is_expendable in harness.core.settle()] == [True, False, False]


def test_invalid_link_frames_are_only_counted() -> None:
    harness = RouterHarness().join("ada")
    for type_, body in (
        ("link.unheard", {}),
        (protocol.ACK, {"ids": 3, "stage": "done"}),
        (protocol.ACK, {"ids": [1, None, "x", []], "stage": "done"}),
        (protocol.ACK, {"ids": [], "stage": "accepted"}),
        (protocol.WELCOME, {"epoch": b""}),
        (protocol.NACK, {}),
    ):
        harness.say("ada", "router", type=type_, body=body)
    assert harness.settle() == []
    assert harness.core.counts["malformed"] == 5


def test_invalid_list_of_addresses_is_refused() -> None:
    harness = RouterHarness().join("supervisor")
    for known in (None, "ada", [1]):
        harness.say("supervisor", "router", type=protocol.ADDRESSES, body={"known": known})
        assert harness.settle()[0][2]["reason"] == "malformed"
    harness.say("supervisor", "router", type="control.unheard")
    assert harness.settle()[0][2]["reason"] == "unknown_recipient"


def called(frames: list[tuple[str, Header, dict[str, Any]]]) -> list[str]:
    """Return the address that the supervisor must wake."""
    return [
        body["address"]
        for rid, header, body in frames
        if (rid, header.type) == ("supervisor#1", protocol.WAKE)
    ]


def test_message_for_absent_peer_wakes_it_once_until_it_connects() -> None:
    harness = RouterHarness()
    harness.announce("ada", "ben")
    harness.hello("ada")
    for _ in range(3):
        harness.say("ada", "ben", flags=DURABLE)
    assert called(harness.settle()) == ["ben"]
    harness.say("ada", "ben", flags=DURABLE)
    assert called(harness.settle()) == []
    harness.hello("ben")
    harness.settle()
    harness.say("ben", "router", type=protocol.BYE)
    assert called(harness.settle()) == ["ben"]


def test_request_to_absent_peer_wakes_it_too() -> None:
    harness = RouterHarness()
    harness.announce("ada", "ben")
    harness.hello("ada")
    harness.say("ada", "ben", flags=ASK)
    assert called(harness.settle()) == ["ben"]
    harness.say("ada", "ben")
    assert called(harness.settle()) == []


def test_departing_peer_without_messages_is_not_woken() -> None:
    harness = RouterHarness()
    harness.announce("ada")
    harness.hello("ada")
    harness.settle()
    harness.say("ada", "router", type=protocol.BYE)
    assert called(harness.settle()) == []


def test_new_list_of_addresses_wakes_all_peers_with_waiting_messages() -> None:
    harness = RouterHarness()
    harness.announce("ada", "ben")
    harness.hello("ada")
    harness.say("ada", "ben", flags=DURABLE)
    assert called(harness.settle()) == ["ben"]
    harness.say("supervisor", "router", type=protocol.ADDRESSES, body={"known": ["ada", "ben"]})
    assert called(harness.settle()) == ["ben"]
