"""The broker's door, as an outside agent's worker opens it: no key comes here."""

from actors.entity.args import billing
from actors.runtime.ask_again import ask_until_answered
from actors.worker.context import WorkerContext
from agiraph.agent.node_limits import at_door
from agiraph.core.errors import Refused
from agiraph.core.ids import BROKER, derived_message_id
from agiraph.core.models import Assignment
from agiraph.external.launching import ProxyEndpoint
from agiraph.messages import CloseProxy, OpenProxy, ProxyCostsSettled, ProxyOpened, SettleProxyCosts


async def open_door(worker: WorkerContext, assignment: Assignment) -> ProxyEndpoint:
    """Return the door for this node; asked for again it is the same. Raises Refused."""
    node = assignment.node
    body = OpenProxy(
        node_id=node.id,
        model=worker.args.worker.model or worker.args.model,
        attempt=assignment.attempt,
        bounds=at_door(assignment.contract),
        **billing(worker.args.run, worker.args.terms, node.trigger),
    )
    received = await ask_until_answered(worker.runtime, BROKER, body)
    if not isinstance(received.body, ProxyOpened):
        raise Refused(f"the broker answered {received.header.type} when a door was wanted")
    worker.runtime.done(received)
    return ProxyEndpoint(received.body.url, received.body.token)


async def settle_door(worker: WorkerContext, door: ProxyEndpoint) -> ProxyCostsSettled:
    """Let nobody in by this door any more; return what was metered at it."""
    received = await ask_until_answered(worker.runtime, BROKER, SettleProxyCosts(token=door.token))
    if not isinstance(received.body, ProxyCostsSettled):
        raise Refused(f"the broker answered {received.header.type} when a door was to be settled")
    return received.body


async def close_door(worker: WorkerContext, door: ProxyEndpoint) -> None:
    """Let nobody in by this door any more."""
    message = derived_message_id(worker.runtime.address, f"door.{door.token}")
    await worker.runtime.send(BROKER, CloseProxy(token=door.token), id=message)
