"""Any bytes are read as the packed data, or refused by name."""

from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from actors.router.main import TOPOLOGY
from transport import tickets
from transport.codec import Codec
from transport.envelope import (
    MAX_INCARNATION,
    Header,
    body_of,
    pack,
    pack_fields,
    read_header,
    read_map,
)
from transport.errors import MalformedBody, MalformedFrame
from transport.link import Link
from transport.mailboxes import Mailboxes
from transport.protocol import LINK_PREFIX, hello_frame, link_frame
from transport.router_core import RouterCore

KEY = bytes(32)
characters = st.characters(exclude_categories=["Cs"])
names = st.text(characters, min_size=1, max_size=12) | st.just("n" * 255)
ids = st.binary(min_size=16, max_size=16)
headers = st.builds(
    Header,
    version=st.just(1),
    id=ids,
    type=names,
    to=names,
    sender=names,
    incarnation=st.integers(0, MAX_INCARNATION),
    reply_to=st.none() | ids,
    sent_at=st.floats(allow_nan=False, allow_infinity=False),
    flags=st.integers(0, 255),
    trace=st.none() | names,
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(characters)
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
    max_leaves=5,
)


class Anything(BaseModel):
    TYPE: ClassVar[str] = "test.anything"
    text: str
    data: bytes
    numbers: tuple[int, ...]
    more: dict[str, Any]


CODEC = Codec([Anything])
anythings = st.builds(
    Anything,
    text=st.text(characters),
    data=st.binary(),
    numbers=st.lists(st.integers(-(2**63), 2**64 - 1)).map(tuple),
    more=st.dictionaries(st.text("xyz"), values),
)


@given(headers, st.binary())
def test_encoded_envelope_is_decoded_unchanged(header: Header, body: bytes) -> None:
    blob = pack(header, body)
    assert read_header(blob) == header
    assert body_of(blob) == body


@given(anythings)
def test_encoded_body_is_decoded_unchanged(body: Anything) -> None:
    assert CODEC.decode(Anything.TYPE, CODEC.encode(body)) == body


@given(st.binary())
def test_any_bytes_are_a_body_or_malformed(data: bytes) -> None:
    try:
        CODEC.decode(Anything.TYPE, data)
    except MalformedBody:
        pass


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a valid frame with bytes changed, cut or added; or any bytes; or any header fields."""
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return draw(st.binary(max_size=200))
    if kind == 1:
        fields: Any = draw(st.lists(values, min_size=10, max_size=10))
        return pack_fields(fields, draw(st.binary(max_size=20)))
    blob = bytearray(pack(draw(headers), draw(st.binary(max_size=50))))
    for _ in range(draw(st.integers(1, 4))):
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.integers(0, 255))
    return bytes(blob[: draw(st.integers(0, len(blob)))])


@given(damaged())
def test_any_bytes_are_an_envelope_or_malformed(blob: bytes) -> None:
    try:
        header = read_header(blob)
    except MalformedFrame:
        return
    assert read_header(pack(header, body_of(blob))) == header


LINK_WORDS = ("hello", "welcome", "who", "ack", "nack", "heartbeat", "alive", "bye", "down")
LINK_FIELDS = ("address", "incarnation", "ticket", "pid", "version", "ids", "stage", "id", "reason")
link_types = st.sampled_from(
    [LINK_PREFIX + word for word in LINK_WORDS]
    + ["control.addresses", "control.ask_depths", "text"]
)
link_bodies = st.dictionaries(
    st.sampled_from([*LINK_FIELDS, "known", "epoch", "detail"]),
    values | st.sampled_from(["accepted", "done", "stale_incarnation"]),
)


@st.composite
def strange_frames(draw: st.DrawFn) -> bytes:
    """Draw frames of the link with bodies that no program would send."""
    if draw(st.booleans()):
        return draw(damaged())
    return link_frame(
        draw(link_types),
        draw(link_bodies),
        to=draw(st.sampled_from(["router", "ada"])),
        sender=draw(st.sampled_from(["router", "ada", "supervisor"])),
        incarnation=draw(st.integers(0, 2)),
    )


def greeted(address: str) -> RouterCore:
    """Return a switch to which one peer has said hello."""
    switch = RouterCore(KEY, Mailboxes(), b"epoch", TOPOLOGY)
    ticket = tickets.make_ticket(KEY, address, 1)
    switch.receive(b"rid", hello_frame(address, 1, ticket, 1))
    assert switch.present == {address: 1}
    return switch


@given(st.lists(strange_frames(), max_size=5), st.sampled_from(["ada", "supervisor"]))
def test_any_frame_is_handled_by_the_router_core(frames: list[bytes], address: str) -> None:
    switch = greeted(address)
    for blob in frames:
        switch.receive(b"rid", blob)
        switch.receive(b"stranger", blob)
        while answers := switch.settle():
            for _, answer, _ in answers:
                read_header(answer)
    assert set(switch.present) <= {"ada", "supervisor"}


@given(st.lists(strange_frames(), max_size=5))
def test_any_frame_is_handled_by_the_link(frames: list[bytes]) -> None:
    link = Link("ada", 1, bytes(32), 1)
    link.connected(0.0)
    for blob in frames:
        list(link.arrived(blob, 0.0))
        link.flush_acks()
        link.tick(1.0, 0.0)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_map_or_malformed(data: bytes) -> None:
    try:
        assert isinstance(read_map(data), dict)
    except MalformedFrame:
        pass
