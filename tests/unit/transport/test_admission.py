"""Admission: addresses and their connections, and the frames about lost peers."""

import pytest

from actors.router.main import TOPOLOGY
from transport.admission import Admission
from transport.errors import MalformedFrame
from transport.peers import HOST_RID, Peer, Rid, down_frames
from transport.protocol import link_frame
from transport.tickets import NO_TICKET, make_ticket
from transport.uplink import MOST_REFUSED, REPEAT_SECONDS, Refusals

KEY = b"k" * 32
FAR = ("host/far", b"connection", b"a")


def admits(rid: Rid, address: str, ticket: bytes) -> bool:
    return Admission(KEY, TOPOLOGY).refusal(rid, address, 1, ticket) is None


@pytest.mark.parametrize(
    ("rid", "host", "is_admitted"),
    [
        (b"local", "", True),
        (b"local", "host/far", False),
        (FAR, "host/far", True),
        (FAR, "host/near", False),
        (FAR, "", False),
        (("invite/x", b"connection", b"a"), "invite/x", False),
    ],
)
def test_ticket_is_valid_only_at_its_place(rid: Rid, host: str, is_admitted: bool) -> None:
    assert admits(rid, "ada", make_ticket(KEY, "ada", 1, host)) is is_admitted


@pytest.mark.parametrize(
    ("rid", "address", "is_admitted"),
    [
        (("host/far", b"connection", HOST_RID), "host/far", True),
        (("host/far", b"connection", HOST_RID), "host/near", False),
        (("host/far", b"connection", b"a"), "host/far", False),
        (("invite/x", b"connection", HOST_RID), "invite/x", True),
        (("invite/x", b"connection", HOST_RID), "host/far", False),
        (HOST_RID, "host/far", False),
    ],
)
def test_only_the_owner_of_a_key_is_admitted_without_a_ticket(
    rid: Rid, address: str, is_admitted: bool
) -> None:
    assert admits(rid, address, NO_TICKET) is is_admitted


def test_an_invitation_reaches_the_controller_alone() -> None:
    admission = Admission(KEY, TOPOLOGY)
    join, text = (link_frame("x", {}, to=to, sender="invite/x") for to in ("supervisor", "bob"))
    assert not admission.is_out_of_bounds("invite/x", join)
    assert admission.is_out_of_bounds("invite/x", text)
    assert admission.is_out_of_bounds("invite/x", b"noise")
    assert not admission.is_out_of_bounds("host/far", text)


def test_a_list_of_keys_is_a_map_of_texts() -> None:
    admission = Admission(KEY, TOPOLOGY)
    admission.announced({"known": {"key": "host/far"}})
    for odd in (None, ["key"], {"key": 1}, {1: "host/far"}):
        with pytest.raises(MalformedFrame):
            admission.announced({"known": odd})
    assert admission.owners == {"host/far"}


def test_replaced_host_is_announced_again() -> None:
    admission, addresses = Admission(KEY, TOPOLOGY), ("host/far", "host/near", "ada/bob")
    old, new = {"a": "host/far", "b": "host/near"}, {"c": "host/far", "b": "host/near"}
    assert admission.announced({"known": old}, addresses) == []
    assert admission.announced({"known": new}, addresses) == ["host/far"]
    assert admission.announced({"known": {}}, addresses) == ["host/far", "host/near"]


def test_many_lost_peers_are_one_frame_for_each_that_is_there() -> None:
    peers = [Peer(("host/far", b"connection", bytes([n])), f"ada/{n}", 1) for n in range(50)]
    back, bob = Peer(b"ada/0", "ada/0", 1), Peer(b"bob", "bob", 1)
    frames = dict(down_frames([back, *peers[1:]], {back.rid: back, bob.rid: bob}))
    assert frames.keys() == {b"ada/0", b"bob"}
    assert b"ada/0" in frames[b"bob"]
    assert b"ada/0" not in frames[b"ada/0"]


def test_repeated_refusals_are_reported_sparsely() -> None:
    refusals = Refusals()
    assert [refusals.is_new("eve", now) for now in (0, 1, REPEAT_SECONDS)] == [True, False, True]
    told = sum(refusals.is_new(number, REPEAT_SECONDS + 1) for number in range(1000))
    assert told == MOST_REFUSED - 1
    assert refusals.is_new("mallory", 3 * REPEAT_SECONDS)
