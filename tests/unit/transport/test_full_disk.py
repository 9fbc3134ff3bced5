"""When the disk is full the router promises nothing: the batch is refused, none of it delivered."""

from actors.router.main import TOPOLOGY
from tests.unit.transport.test_router_core import RouterHarness, kinds
from transport import protocol
from transport.envelope import Flag
from transport.errors import NotStored
from transport.mailboxes import Mailboxes
from transport.router_core import WINDOW

DURABLE = int(Flag.DURABLE)


class FullDisk(Mailboxes):
    """Mailboxes whose commits fail while `is_full`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self._batch: list[tuple[str, bytes]] = []

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        position = super().accept(address, id, blob)
        if position > 0:
            self._batch.append((address, id))
        return position

    def commit(self) -> None:
        batch, self._batch = self._batch, []
        if self.is_full:
            for address, id_ in batch:
                self._boxes[address].take(id_)
            raise NotStored("full", frozenset(batch))


def test_a_batch_that_cannot_be_written_is_refused_and_not_delivered() -> None:
    disk = FullDisk()
    harness = RouterHarness(disk, TOPOLOGY)
    for name in ("ada", "bob", "recorder"):
        harness.hello(name)
    known = harness.say("ada", "bob", flags=DURABLE)
    harness.settle()
    disk.is_full = True
    lost = harness.say("ada", "bob", flags=DURABLE)
    harness.say("ada", "bob", flags=DURABLE, id=known)
    harness.say("ada", "bob", type="passing")
    frames = harness.settle()
    assert sorted(kinds(frames)) == [
        ("ada#1", protocol.ACK),
        ("ada#1", protocol.NACK),
        ("bob#1", "passing"),
    ]
    bodies = {header.type: body for _, header, body in frames}
    assert bodies[protocol.ACK]["ids"] == [known], "what stands already stays accepted"
    assert bodies[protocol.NACK]["id"] == lost
    assert bodies[protocol.NACK]["reason"] == "not_stored"
    disk.is_full = False
    harness.say("ada", "bob", flags=DURABLE, id=lost)
    assert ("bob#1", "text") in kinds(harness.settle()), "the same message may be sent again"


def test_receiver_with_a_window_of_refused_messages_gets_later_messages() -> None:
    disk = FullDisk()
    harness = RouterHarness(disk)
    harness.hello("ada")
    harness.hello("bob")
    first = harness.say("ada", "bob", flags=DURABLE)
    harness.settle()
    disk.is_full = True
    for _ in range(WINDOW + 1):
        harness.say("ada", "bob", flags=DURABLE)
    harness.settle()
    disk.is_full = False
    second = harness.say("ada", "bob", flags=DURABLE)
    assert [h.id for rid, h, _ in harness.settle() if rid == "bob#1"] == [second]
    harness.done("bob", [first, second])
    assert disk.depths() == {}
