"""Admission: the senders of each connection, and their allowed receivers; pure.

from this machine      with a ticket that names no host
over a host's key      with a ticket for this host; as the host itself without a ticket, but only
                       behind HOST_RID, which its relay gives to none of its processes
with an invitation     only as the invitation itself

No message type needs more than these ways, so the router refuses all others: a message that the
receiver would refuse can still fill its mailbox, which is stored.

a member of a group    to its own group, and to addresses without a group that are not a machine's:
                       there only the durable messages that this address accepts
another machine        to the controller
any other              to every address
"""

from collections.abc import Iterable, Mapping
from typing import Any

from transport import protocol, tickets
from transport.envelope import Fields, Flag, read_fields
from transport.errors import MalformedFrame
from transport.peers import HOST_RID, Rid, Topology

NOTHING: tuple[str, ...] = ()
DURABLE = int(Flag.DURABLE)


class Admission:
    """The rules about senders, and `known`: the CURVE keys for the uplink, with their owners."""

    def __init__(self, key: bytes, topology: Topology) -> None:
        self._key = key
        self._guest_prefix = topology.guest_prefix
        self._controller = topology.controller
        self._ungrouped = topology.ungrouped
        self._taken = topology.taken
        self._owned = (topology.host_prefix, topology.guest_prefix)
        self._guests_may_reach = (topology.controller, protocol.ROUTER)
        self.known: Mapping[str, str] = {}
        self.owners: frozenset[str] = frozenset()

    def announced(self, body: dict[str, Any], addresses: Iterable[str] = ()) -> list[str]:
        """Replace the known keys by those of a `host.known`. Raises MalformedFrame.

        Return those of `addresses` whose owner now has no key or another key. (A host that joins
        under the name of a removed host counts its incarnations from the start.)
        """
        known = body.get("known")
        if type(known) is not dict or not all(
            type(key) is str and type(owner) is str for key, owner in known.items()
        ):
            raise MalformedFrame("known must be a map of keys to their owners")
        void = {owner for key, owner in self.known.items() if known.get(key) != owner}
        self.known, self.owners = known, frozenset(known.values())
        return [
            address
            for address in addresses
            if address.startswith(self._owned) and (address in void or address not in self.owners)
        ]

    def refusal(self, rid: Rid, address: str, incarnation: int, ticket: bytes) -> str | None:
        """Return why a hello is refused, None if the connection `rid` may have the address."""
        if address == protocol.ROUTER:
            return "only the router has this address"
        owner = ""
        if type(rid) is tuple:
            owner, _, local = rid
            if owner == address and local == HOST_RID:
                return None
            if self.is_guest(owner):
                return f"{owner} admits no process as {address}"
        if tickets.is_valid(ticket, self._key, address, incarnation, owner):
            return None
        where = f" on {owner}" if owner else ""
        return f"no valid ticket for {address}#{incarnation}{where}"

    def may_send(self, sender: str, to: str) -> bool:
        """Whether any message of `sender` to the peer `to` is stored or delivered."""
        if to == protocol.ROUTER:
            return False
        if sender.startswith(self._owned):
            return to == self._controller
        group = self._group_of(sender)
        if not group:
            return True
        return self._group_of(to) in ("", group) and not to.startswith(self._owned)

    def unreachable(self, sender: str, fields: Fields) -> str:
        """Return why a message is neither stored nor delivered, '' if it may be."""
        type_, to = fields[2], fields[3]
        if not self.may_send(sender, to):
            return f"{sender} may not reach {to}"
        if fields[8] & DURABLE and not self._may_store(sender, to, type_):
            return f"{to} takes no {type_} from {sender}"
        return ""

    def _may_store(self, sender: str, to: str, type_: str) -> bool:
        if self._taken is None or self._group_of(to) or not self._group_of(sender):
            return True
        prefix, slash, _ = to.partition("/")
        return type_.startswith(self._taken.get(prefix + slash if slash else to, NOTHING))

    def _group_of(self, address: str) -> str:
        """Return the group whose member has this address, '' if it belongs to no group."""
        group, slash, _ = address.partition("/")
        return group if slash and group not in self._ungrouped else ""

    def is_guest(self, address: str) -> bool:
        """Whether an address is the address of an invitation."""
        return address.startswith(self._guest_prefix)

    def is_out_of_bounds(self, owner: str, blob: bytes) -> bool:
        """Whether a frame is from a guest to an address other than the controller."""
        if not self.is_guest(owner):
            return False
        try:
            return read_fields(blob)[3] not in self._guests_may_reach
        except MalformedFrame:
            return True
