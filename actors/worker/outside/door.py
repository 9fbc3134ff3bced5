"""The broker's door, as an outside agent's worker opens it: no key comes here."""

from actors.entity.args import billing
from actors.entity.asking import ask_until_answered
from actors.worker.outside.hand import Hand
from agiraph.agent.bounds import at_door
from agiraph.errors import Refused
from agiraph.ids import BROKER, derived_message_id
from agiraph.messages import CloseDoor, DoorOpened, DoorSettled, OpenDoor, SettleDoor
from agiraph.models import Assignment
from agiraph.outside.launching import Door


async def open_door(worker: Hand, assignment: Assignment) -> Door:
    """Return the door for this node; asked for again it is the same. Raises Refused."""
    node = assignment.node
    body = OpenDoor(
        node_id=node.id,
        model=worker.args.worker.model or worker.args.model,
        attempt=assignment.attempt,
        bounds=at_door(assignment.contract),
        **billing(worker.args.run, worker.args.terms, node.trigger),
    )
    received = await ask_until_answered(worker.runtime, BROKER, body)
    if not isinstance(received.body, DoorOpened):
        raise Refused(f"the broker answered {received.header.type} when a door was wanted")
    worker.runtime.done(received)
    return Door(received.body.url, received.body.token)


async def settle_door(worker: Hand, door: Door) -> DoorSettled:
    """Let nobody in by this door any more; return what was metered at it."""
    received = await ask_until_answered(worker.runtime, BROKER, SettleDoor(token=door.token))
    if not isinstance(received.body, DoorSettled):
        raise Refused(f"the broker answered {received.header.type} when a door was to be settled")
    return received.body


async def close_door(worker: Hand, door: Door) -> None:
    """Let nobody in by this door any more."""
    message = derived_message_id(worker.runtime.address, f"door.{door.token}")
    await worker.runtime.send(BROKER, CloseDoor(token=door.token), id=message)
