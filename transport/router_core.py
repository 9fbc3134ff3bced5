"""RouterCore: every decision of the router, without a socket. Frames in, frames out.

`receive` handles one frame of a batch; `settle` ends the batch: it commits the mailboxes once if
any message was accepted, and only then returns the deliveries; called again it returns the
acknowledgements, once the commits are on disk. `commit_rest` commits the messages that receivers
have done, for which no peer waits: lost ones are done again.

Rules:

- A connection (routing id) has no address until it has said hello with a valid ticket; its frames
  are dropped and answered with `link.who`, so a peer that says hello first keeps its order.
- The highest incarnation of an address is current. A lower one is refused (`stale_incarnation`).
- A peer sends only under the address of its hello. `Admission` decides which address a connection
  may have, and to which addresses a peer may send at all.
- A durable message goes into the mailbox of its address if that is known (it said hello, or the
  controller reported it), whether it is connected or not. At most WINDOW of them are on their
  way to one peer; the rest follows as it acknowledges. Nothing is ever redelivered on a timer: only
  to a peer that says hello (again).
- Until the controller has reported the addresses, a durable message to an unknown one is held back
  unacknowledged: after a restart of the router every address is unknown for a moment.
- A passing message to an absent peer is dropped; if it is a question, `link.down` informs
  its sender. All peers get one when a peer says hello again: passing messages to and from it may
  have been lost. One frame reports all the peers that a batch has lost, for example a host's.
- When a message (or an ask) waits for an absent address, the controller gets `child.wake`, once
  until that address connects.
- An address that the controller does not report (any more) and that is not connected loses its
  messages (`Topology` has the exceptions). The controller's list is complete each time, the first
  one after a restart too (but an empty list discards nothing).
- If the mailboxes cannot be written, every message of the batch is refused (`not_stored`), and none
  is delivered.
- Bodies are opaque, except those of `link.` and of messages to the router itself.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from transport import protocol
from transport.admission import DURABLE, Admission
from transport.envelope import MAX_BLOB, Fields, Flag, body_of, read_fields, read_map
from transport.errors import MalformedFrame, NotStored
from transport.mailboxes import FULL, Mailboxes
from transport.peers import HeldMessages, Peer, Rid, Topology, UplinkRid, down_frames, read_hello
from transport.protocol import link_frame, nack_frame

WINDOW = 256
ASK = int(Flag.ASK)


# A frame for the socket: routing id, blob, and whether it is expendable (under pressure it may be
# dropped). A plain tuple: a NamedTuple costs as much as the rest of a decision.
Outgoing = tuple[Rid, bytes, bool]


class RouterCore:
    """Decides for each frame which frames to send to whom.

    `epoch` differs with each start of the router. `on_known` is called when the keys of the uplink
    were announced, `on_refused` with the peer that was refused over the uplink and the reason;
    `uplink_state` returns the uplink's state for a controller that says hello.
    """

    def __init__(self, key: bytes, mailboxes: Mailboxes, epoch: bytes, topology: Topology) -> None:
        self.admission = Admission(key, topology)
        self.on_known: Callable[[], None] = lambda: None
        self.on_refused: Callable[[str, str], None] = lambda peer, reason: None
        self.uplink_state: Callable[[], dict[str, str]] = dict
        self._mailboxes = mailboxes
        self._epoch = epoch
        self._topology = topology
        self._peers: dict[Rid, Peer] = {}
        self._present: dict[str, Peer] = {}
        self._incarnations = mailboxes.incarnations
        self._announced: frozenset[str] | None = None
        self._held = HeldMessages()
        self._out: list[Outgoing] = []
        self._lost: list[Peer] = []
        self._accepted: dict[Rid, list[bytes]] = {}
        self._asked_who: set[Rid] = set()
        self._woken: set[str] = set()
        self._is_dirty = False
        self.has_leftovers = False
        self.is_stopping = False
        self.is_full = False
        """Whether the last commit failed for lack of room."""
        self.counts: Counter[str] = Counter()

    @property
    def present(self) -> dict[str, int]:
        """The addresses that are connected, with their incarnations."""
        return {address: peer.incarnation for address, peer in self._present.items()}

    def receive_from_host(self, rid: UplinkRid, blob: bytes) -> None:
        """Handle one frame from the uplink; an empty frame reports that this peer is gone."""
        if not blob:
            self.peer_gone(rid)
        elif self.admission.is_out_of_bounds(rid[0], blob):
            self.counts["not_allowed"] += 1
            self.on_refused(rid[0], "an invitation may be used to join only")
        else:
            self.receive(rid, blob)

    def receive(self, rid: Rid, blob: bytes) -> None:
        """Handle one frame from the connection `rid`."""
        try:
            fields = read_fields(blob)
        except MalformedFrame:
            self.counts["malformed"] += 1
            return
        peer = self._peers.get(rid)
        type_ = fields[2]
        if peer is None:
            if type_ == protocol.HELLO:
                self._hello(rid, fields, blob)
            else:
                self._who(rid)
            return
        if self._lost and not type_.startswith(protocol.LINK_PREFIX):
            self._announce_down()
        if fields[4] != peer.address or fields[5] != peer.incarnation:
            self._nack(peer.rid, fields, "not_allowed", f"you are not {fields[4]}#{fields[5]}")
            if type(rid) is tuple:
                self.on_refused(rid[0], f"{peer.address}#{peer.incarnation} spoke as {fields[4]}")
        elif len(blob) > MAX_BLOB:
            self._nack(peer.rid, fields, "too_large", f"{len(blob)} bytes, at most {MAX_BLOB}")
        elif type_.startswith(protocol.LINK_PREFIX):
            self._link(peer, fields, blob)
        elif fields[3] == protocol.ROUTER:
            self._control(peer, fields, blob)
        elif why := self.admission.unreachable(peer.address, fields):
            self._nack(peer.rid, fields, "not_allowed", why)
        elif fields[8] & DURABLE:
            self._durable(peer, fields, blob)
        else:
            self._passing(peer, fields, blob)

    def settle(self) -> list[Outgoing]:
        """End the batch: return the frames to send next, in order, until there are none.

        A delivery does not wait for the disk: if a power cut takes the message from the mailbox,
        its sender, which has no acknowledgement, still has it, and the receiver knows its id.
        """
        if self._is_dirty:
            self._commit()
        self._asked_who.clear()
        if self._lost:
            self._announce_down()
        frames, self._out = self._out, []
        if not frames and self._accepted:
            self._mailboxes.sync()
            accepted, self._accepted = self._accepted, {}
            for rid, ids in accepted.items():
                body = {"ids": ids, "stage": protocol.ACCEPTED}
                frames.append((rid, link_frame(protocol.ACK, body), False))
        return frames

    def commit_rest(self) -> None:
        """Commit the messages that receivers have done since the last commit."""
        if self.has_leftovers:
            self._commit()

    def _commit(self) -> None:
        had_leftovers, self._is_dirty, self.has_leftovers = self.has_leftovers, False, False
        try:
            self._mailboxes.commit()
            self.is_full = False
        except NotStored as error:
            self.is_full, self.has_leftovers = True, had_leftovers
            self._take_back(error.taken_back)

    def _take_back(self, keys: frozenset[tuple[str, bytes]]) -> None:
        """Undo a failed commit: refuse the messages of `keys` instead of delivering them."""
        ids = {id_ for _, id_ in keys}
        for rid, accepted in self._accepted.items():
            self._out += [
                (rid, nack_frame(id_, "not_stored", "the router's disk is full"), False)
                for id_ in accepted
                if id_ in ids
            ]
            accepted[:] = [id_ for id_ in accepted if id_ not in ids]
        self._accepted = {rid: accepted for rid, accepted in self._accepted.items() if accepted}
        self.counts["not_stored"] += len(ids)
        self._out = [frame for frame in self._out if not self._is_of(frame, keys)]
        for address, id_ in keys:
            peer = self._present.get(address)
            if peer is not None:
                peer.in_flight.discard(id_)
        for peer in list(self._present.values()):
            if peer.is_behind:
                self._deliver(peer)

    def _is_of(self, frame: Outgoing, keys: frozenset[tuple[str, bytes]]) -> bool:
        """Whether a frame delivers one of the messages `keys` (address, id)."""
        peer = self._peers.get(frame[0])
        if peer is None:
            return False
        fields = read_fields(frame[1])
        return bool(fields[8] & DURABLE) and (peer.address, fields[1]) in keys

    def name_of(self, rid: Rid) -> str:
        """Return address and incarnation behind a connection, '' if it has not said hello."""
        peer = self._peers.get(rid)
        return f"{peer.address}#{peer.incarnation}" if peer is not None else ""

    def peer_gone(self, rid: Rid) -> None:
        """Handle the loss of the connection `rid`."""
        peer = self._peers.get(rid)
        if peer is not None:
            self._disconnect(peer)

    def uplink_gone(self, connection: bytes) -> None:
        """Handle the loss of a host's connection, and so of all peers on that host."""
        for rid, peer in list(self._peers.items()):
            if type(rid) is tuple and rid[1] == connection:
                self._disconnect(peer)

    def tell_controller(self, type_: str, body: dict[str, Any]) -> bool:
        """Send the controller a passing message from the router; False if it is absent."""
        controller = self._present.get(self._topology.controller)
        if controller is None:
            return False
        frame = link_frame(type_, body, to=controller.address)
        self._out.append((controller.rid, frame, False))
        return True

    # --- connections ----------------------------------------------------------------------------

    def _hello(self, rid: Rid, fields: Fields, blob: bytes) -> None:
        try:
            body = read_map(body_of(blob))
            address, incarnation, ticket = read_hello(body)
        except MalformedFrame as error:
            self.counts["malformed"] += 1
            self._nack(rid, fields, "malformed", str(error))
            return
        refusal = self.admission.refusal(rid, address, incarnation, ticket)
        if refusal is not None:
            self._nack(rid, fields, "not_allowed", refusal)
            if type(rid) is tuple:
                self.on_refused(rid[0], refusal)
            return
        current = self._incarnations.get(address, 0)
        if incarnation < current:
            detail = f"{address}#{incarnation} was followed by #{current}"
            self._nack(rid, fields, "stale_incarnation", detail)
            return
        self._welcome(rid, address, incarnation)

    def _welcome(self, rid: Rid, address: str, incarnation: int) -> None:
        old = self._present.get(address)
        if old is not None:
            self._forget(old)
            if old.incarnation < incarnation:
                if old.rid != rid:
                    detail = f"{address}#{old.incarnation} was followed by #{incarnation}"
                    nack = nack_frame(None, "stale_incarnation", detail)
                    self._out.append((old.rid, nack, False))
                self._lost.append(old)
        self._woken.discard(address)
        peer = Peer(rid, address, incarnation)
        self._peers[rid] = self._present[address] = peer
        if self._incarnations.get(address) != incarnation:
            self._mailboxes.note_incarnation(address, incarnation)
            self.has_leftovers = True
        welcome = link_frame(protocol.WELCOME, {"epoch": self._epoch})
        self._out.append((rid, welcome, False))
        if old is not None and old.incarnation == incarnation:
            self._lost.append(peer)
        if address == self._topology.controller and (state := self.uplink_state()):
            self.tell_controller(protocol.UPLINK_STATE, state)
        self._deliver(peer)
        self._release(None)

    def _who(self, rid: Rid) -> None:
        self.counts["unknown_connection"] += 1
        if rid not in self._asked_who:
            self._asked_who.add(rid)
            self._out.append((rid, link_frame(protocol.WHO, {}), True))

    def _forget(self, peer: Peer) -> None:
        self._peers.pop(peer.rid, None)
        if self._present.get(peer.address) is peer:
            del self._present[peer.address]

    def _disconnect(self, peer: Peer) -> None:
        self._forget(peer)
        self._lost.append(peer)
        if self._mailboxes.undone(peer.address, 1):
            self._wake(peer.address)

    def _wake(self, address: str) -> None:
        """Ask the controller, once until it connects, to start an absent receiver."""
        if address not in self._woken and self.tell_controller(protocol.WAKE, {"address": address}):
            self._woken.add(address)

    def _wake_all(self) -> None:
        """Ask the controller again to start every absent receiver: it may have restarted."""
        self._woken.clear()
        for address in self._mailboxes.depths():
            if address not in self._present:
                self._wake(address)

    def _announce_down(self) -> None:
        """Report the peers that lost their connections since the last call to all others."""
        lost, self._lost = self._lost, []
        self._out += [(rid, frame, False) for rid, frame in down_frames(lost, self._peers)]

    # --- the link's own frames ------------------------------------------------------------------

    def _link(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        type_ = fields[2]
        if type_ == protocol.HELLO:
            self._hello(peer.rid, fields, blob)
        elif type_ == protocol.ACK:
            self._done(peer, blob)
        elif type_ == protocol.HEARTBEAT:
            self._out.append((peer.rid, link_frame(protocol.ALIVE, {}), True))
        elif type_ == protocol.BYE:
            self._out.append((peer.rid, link_frame(protocol.BYE, {}), False))
            self._disconnect(peer)
        elif type_ == protocol.NACK and self.admission.may_send(peer.address, fields[3]):
            self._passing(peer, fields, blob)
        else:
            self.counts["malformed"] += 1

    def _done(self, peer: Peer, blob: bytes) -> None:
        try:
            body = read_map(body_of(blob))
        except MalformedFrame:
            self.counts["malformed"] += 1
            return
        ids = body.get("ids")
        if body.get("stage") != protocol.DONE or type(ids) is not list:
            self.counts["malformed"] += 1
            return
        for id_ in ids:
            if type(id_) is bytes and self._mailboxes.done(peer.address, id_):
                self.has_leftovers = True
                peer.in_flight.discard(id_)
        if peer.is_behind and len(peer.in_flight) <= WINDOW // 2:
            self._deliver(peer)

    # --- messages -------------------------------------------------------------------------------

    def _durable(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        to = fields[3]
        if not self._is_known(to):
            self._hold_or_refuse(peer, fields, blob)
            return
        id_ = fields[1]
        position = self._mailboxes.accept(to, id_, blob)
        if position == FULL:
            self._nack(peer.rid, fields, "mailbox_full", f"the mailbox of {to} is full")
            return
        self._is_dirty = True
        self._accepted.setdefault(peer.rid, []).append(id_)
        if position > 0:
            self._offer(to, id_, position, blob)
            if self._topology.tap is not None and fields[2] in self._topology.tapped:
                self._copy_to_tap(self._topology.tap, fields, blob)

    def _offer(self, to: str, id_: bytes, position: int, blob: bytes) -> None:
        """Deliver a message that was just accepted, if its receiver is connected and has room."""
        target = self._present.get(to)
        if target is None:
            self._wake(to)
            return
        if target.is_behind:
            return
        if len(target.in_flight) >= WINDOW:
            target.is_behind = True
            return
        target.in_flight.add(id_)
        target.cursor = position
        self._out.append((target.rid, blob, False))

    def _deliver(self, peer: Peer) -> None:
        """Send a peer that is behind the next messages of its mailbox, up to its window."""
        room = WINDOW - len(peer.in_flight)
        following = self._mailboxes.undone(peer.address, room, peer.cursor)
        for position, id_, blob in following:
            peer.in_flight.add(id_)
            peer.cursor = position
            self._out.append((peer.rid, blob, False))
        peer.is_behind = len(following) == room

    def _copy_to_tap(self, tap: str, fields: Fields, blob: bytes) -> None:
        if tap in (fields[3], fields[4]):
            return
        position = self._mailboxes.accept(tap, fields[1], blob)
        if position > 0:
            self._offer(tap, fields[1], position, blob)
        elif position == FULL:
            # The copy is for the record; work does not stop because the tap is absent.
            self.counts["tap_dropped"] += 1

    def _passing(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        target = self._present.get(fields[3])
        flags = fields[8]
        if target is not None:
            is_expendable = fields[6] is None and not flags & ASK
            self._out.append((target.rid, blob, is_expendable))
            return
        self.counts["dropped"] += 1
        if not flags & ASK:
            return
        to = fields[3]
        if self._announced is not None and not self._is_known(to):
            self._nack(peer.rid, fields, "unknown_recipient", f"there is no {to}")
            return
        self._wake(to)
        body = {"address": to, "incarnation": self._incarnations.get(to, 0), "id": fields[1]}
        self._out.append((peer.rid, link_frame(protocol.DOWN, body), False))

    # --- existing addresses ---------------------------------------------------------------------

    def _is_known(self, address: str) -> bool:
        return (
            address in self._present
            or address == protocol.ROUTER
            or address in self._topology.known
            or address in self.admission.owners
            or (self._announced is not None and address in self._announced)
            or (self._announced is None and address in self._incarnations)
        )

    def _hold_or_refuse(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        if self._announced is not None:
            self._nack(peer.rid, fields, "unknown_recipient", f"there is no {fields[3]}")
        elif not self._held.add(peer, fields, blob):
            self._nack(peer.rid, fields, "mailbox_full", "too much waits for addresses")

    def _release(self, announced: frozenset[str] | None) -> None:
        """Handle the held messages again, now that more addresses are known."""
        if announced is not None:
            self._announced = announced
        held, self._held = self._held, HeldMessages()
        for peer, fields, blob in held.messages:
            # A peer that has greeted again meanwhile has also sent its message again.
            if self._peers.get(peer.rid) is peer:
                self._durable(peer, fields, blob)

    # --- messages to the router itself - ------------------------------------------------------

    def _control(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        type_ = fields[2]
        if type_ == protocol.ASK_DEPTHS:
            self.commit_rest()  # reported depths must be true also after a crash
            answer = protocol.depths_frame(fields, body_of(blob), self._mailboxes.depths())
            self._out.append((peer.rid, answer, False))
        elif type_ not in (protocol.STOP, protocol.ADDRESSES, protocol.KNOWN_HOSTS):
            self._nack(peer.rid, fields, "unknown_recipient", f"the router knows no {type_}")
        elif peer.address != self._topology.controller:
            reason = f"{type_} is for {self._topology.controller or 'nobody'} alone"
            self._nack(peer.rid, fields, "not_allowed", reason)
        elif type_ == protocol.STOP:
            self.is_stopping = True
        elif type_ == protocol.KNOWN_HOSTS:
            self._known_hosts(peer, fields, blob)
        else:
            self._addresses(peer, fields, blob)

    def _addresses(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        try:
            known = read_map(body_of(blob)).get("known")
        except MalformedFrame:
            known = None
        if type(known) is not list or not all(type(address) is str for address in known):
            self._nack(peer.rid, fields, "malformed", "known must be a list of addresses")
            return
        self._release(frozenset(known))
        if known:
            self._discard_unknown()
        self._wake_all()

    def _known_hosts(self, peer: Peer, fields: Fields, blob: bytes) -> None:
        try:
            void = self.admission.announced(read_map(body_of(blob)), self._incarnations)
        except MalformedFrame as error:
            self._nack(peer.rid, fields, "malformed", str(error))
            return
        for address in void:
            self._mailboxes.note_incarnation(address, 0)
            self.has_leftovers = True
        self.on_known()

    def _discard_unknown(self) -> None:
        """Discard the messages for addresses that no longer exist."""
        kept = self._topology.kept_prefixes
        for address in self._mailboxes.depths():
            if not self._is_known(address) and not address.startswith(kept):
                self.counts["discarded"] += self._mailboxes.discard(address)
                self.has_leftovers = True

    def _nack(self, rid: Rid, fields: Fields, reason: str, detail: str) -> None:
        self.counts[reason] += 1
        self._out.append((rid, nack_frame(fields[1], reason, detail), False))
