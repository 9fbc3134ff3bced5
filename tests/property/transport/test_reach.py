"""Which peers can reach which others: no entity and no host can fill mailboxes of others."""

from hypothesis import given
from hypothesis import strategies as st

from actors.router.main import TOPOLOGY
from agiraph.core.ids import HOST_PREFIX, INVITE_PREFIX, NO_AGENTS, agent_of
from agiraph.messages.authorization import MESSAGES
from transport import tickets
from transport.admission import Admission
from transport.envelope import Flag, Header, pack, read_header
from transport.mailboxes import FULL, Mailboxes
from transport.protocol import hello_frame
from transport.router_core import RouterCore

KEY = bytes(32)
SERVICES = ("supervisor", "recorder", "broker", "clock", "human", "files")
FOREIGN = ("host/far", "host/near", "invite/x")
AGENTS = ("x", "t2", "hostess", "tools-1")
ENTITIES = tuple(f"{agent}/{name}" for agent in AGENTS for name in ("coordinator", "ada-1"))
EVERYONE = (*SERVICES, *FOREIGN, "tools/web", "tools/priv", "console/1", *ENTITIES)
addresses = st.sampled_from(EVERYONE)
ROOM = 3


class KeptMailboxes(Mailboxes):
    """Mailboxes with little room, and the senders of all accepted messages."""

    def __init__(self) -> None:
        super().__init__(max_messages=ROOM)
        self.senders: dict[str, set[str]] = {}

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        position = super().accept(address, id, blob)
        if position != FULL:
            self.senders.setdefault(address, set()).add(read_header(blob).sender)
        return position


def may_reach(sender: str, to: str) -> bool:
    """Return whether docs/protocol.md allows the message."""
    if sender.startswith((HOST_PREFIX, INVITE_PREFIX)):
        return to == "supervisor"
    if agent_of(sender) is None:
        return True
    return agent_of(to) in (None, agent_of(sender)) and not to.startswith(("host/", "invite/"))


def test_the_router_knows_which_addresses_belong_to_no_agent() -> None:
    assert TOPOLOGY.ungrouped == NO_AGENTS


@given(addresses, addresses)
def test_peers_reach_only_the_recipients_of_a_message_type(sender: str, to: str) -> None:
    assert Admission(KEY, TOPOLOGY).may_send(sender, to) is may_reach(sender, to)


TYPES = ("made.up", *(body.TYPE for body in MESSAGES if body.DURABLE))
SERVICES_OF = {
    "text": ("human", "console/1"),
    "question": ("human",),
    "knowledge": ("human",),
    "event": ("recorder",),
    "door": ("broker",),
    "trigger": ("clock",),
    "child": ("supervisor",),
    "control": ("human", "console/1", "clock", "supervisor"),
}
"""The services that receive durable messages of an entity, by the first part of the type."""


@given(st.sampled_from(ENTITIES), addresses, st.sampled_from(TYPES))
def test_mailbox_of_a_service_accepts_only_messages_for_it(
    sender: str, to: str, type_: str
) -> None:
    takes = SERVICES_OF.get(type_.partition(".")[0], ())
    expected = to in takes or agent_of(to) == agent_of(sender)
    mailboxes = KeptMailboxes()
    core = RouterCore(KEY, mailboxes, b"epoch", TOPOLOGY)
    for address in {sender, to}:
        ticket = tickets.make_ticket(KEY, address, 1)
        core.receive(address.encode(), hello_frame(address, 1, ticket, 1))
    header = Header(1, b"i" * 16, type_, to, sender, 1, None, 1.0, int(Flag.DURABLE), None)
    core.receive(sender.encode(), pack(header, b"\x80"))
    assert (sender in mailboxes.senders.get(to, ())) is expected


@given(st.lists(st.tuples(addresses, addresses), max_size=40))
def test_mailbox_has_no_messages_of_unauthorized_peers(
    said: list[tuple[str, str]],
) -> None:
    mailboxes = KeptMailboxes()
    core = RouterCore(KEY, mailboxes, b"epoch", TOPOLOGY)
    for address in EVERYONE:
        ticket = tickets.make_ticket(KEY, address, 1)
        core.receive(address.encode(), hello_frame(address, 1, ticket, 1))
    for number, (sender, to) in enumerate(said):
        id = number.to_bytes(16, "big")
        header = Header(1, id, "control.stop", to, sender, 1, None, 1.0, int(Flag.DURABLE), None)
        core.receive(sender.encode(), pack(header, b"\x80"))
    for to, senders in mailboxes.senders.items():
        assert all(may_reach(sender, to) for sender in senders), (to, senders)


@given(st.sampled_from(ENTITIES), st.sampled_from(ENTITIES))
def test_flood_of_messages_leaves_room_for_the_human(sender: str, to: str) -> None:
    mailboxes = KeptMailboxes()
    core = RouterCore(KEY, mailboxes, b"epoch", TOPOLOGY)
    for address in (sender, to, "human"):
        ticket = tickets.make_ticket(KEY, address, 1)
        core.receive(address.encode(), hello_frame(address, 1, ticket, 1))
    for number in range(2 * ROOM):
        id = number.to_bytes(16, "big")
        header = Header(1, id, "text", to, sender, 1, None, 1.0, int(Flag.DURABLE), None)
        core.receive(sender.encode(), pack(header, b"\x80"))
    header = Header(1, b"h" * 16, "text", to, "human", 1, None, 1.0, int(Flag.DURABLE), None)
    core.receive(b"human", pack(header, b"\x80"))
    assert ("human" in mailboxes.senders[to]) is (agent_of(sender) != agent_of(to))
