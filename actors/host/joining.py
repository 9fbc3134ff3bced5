"""Joining a home with an invitation, and leaving it: one request each, over its own connection."""

import asyncio
from typing import Final

import zmq
from pydantic import BaseModel

from actors.host.facts import machine_facts
from agiraph.core.errors import InvalidInput, Refused, Unavailable
from agiraph.core.hosts import CurveKey, Invitation, check_host_name, check_labels
from agiraph.core.ids import HOST_PREFIX, INVITE_PREFIX, SUPERVISOR
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.control import RefusedReply
from agiraph.messages.host import HostJoined, JoinHost, LeaveHome
from agiraph.storage.host_folder import HostFolder, HostRecord
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.errors import TransportError
from transport.sockets import UplinkTarget, curve_keys
from transport.tickets import NO_TICKET
from transport.uplink_wire import UplinkWire

HELLO_SECONDS: Final = 15.0
ANSWER_SECONDS: Final = 15.0


class KeyUnknown(Refused):
    """The home does not know the key of this host."""


class NotReached(Unavailable):
    """The home was not reached, so it has received no request."""


async def join_home(
    folder: HostFolder, invitation: Invitation, name: str, labels: tuple[str, ...]
) -> HostRecord:
    """Join the home that invited this machine; return the host's record.

    The key is written first, and stays if no answer comes: the home may have admitted it. Raises
    Refused, Unavailable, OSError.
    """
    if invitation.name and invitation.name != name:
        raise InvalidInput(f"the invitation is for a host '{invitation.name}', not '{name}'")
    check_host_name(name)
    check_labels(labels)
    if folder.has_joined:
        known = folder.record()
        raise Refused(
            f"{folder.path} is host {known.name} of the home at {known.url} already:"
            " `agiraph host run` runs it, `agiraph host leave` ends that"
        )
    url, server_key, key = invitation.url, invitation.server_key, CurveKey.of(curve_keys())
    record = HostRecord(name=name, url=url, server_key=server_key, labels=labels)
    folder.join(record, key)
    public = zmq.curve_public(invitation.secret.encode()).decode()
    target = UplinkTarget(url, server_key, public, invitation.secret)
    question = JoinHost(name=name, public_key=key.public, labels=labels, facts=machine_facts())
    try:
        answer = await _ask(target, f"{INVITE_PREFIX}{invitation.id}", 1, question)
    except KeyUnknown:
        folder.leave()
        raise Refused(
            f"the home at {url} does not know this invitation: it was used, or has expired, or is"
            " of another home; `agiraph host invite` prints another"
        ) from None
    except (Refused, NotReached):
        folder.leave()
        raise
    except Unavailable as error:
        raise Unavailable(
            f"{error}; it may have admitted this machine: `agiraph host run` will tell"
        ) from None
    if isinstance(answer, HostJoined) and answer.name != name:
        record = record.model_copy(update={"name": answer.name})
        folder.write_record(record)
    return record


async def leave_home(folder: HostFolder) -> HostRecord:
    """Leave the home permanently and delete the key; return the record that was valid.

    Raises Refused, Unavailable, OSError.
    """
    record, key = folder.record(), folder.key()
    target = UplinkTarget(record.url, record.server_key, key.public, key.secret)
    try:
        await _ask(target, f"{HOST_PREFIX}{record.name}", folder.next_start(), LeaveHome())
    except KeyUnknown:
        pass  # it was removed there
    folder.leave()
    return record


async def _ask(target: UplinkTarget, address: str, incarnation: int, body: BaseModel) -> BaseModel:
    """Return the supervisor's reply. Raises KeyUnknown, Refused (with its reason), Unavailable."""
    is_unknown = asyncio.Event()
    endpoint = Endpoint(
        url=target.url,
        address=address,
        incarnation=incarnation,
        ticket=NO_TICKET,
        codec=Codec(MESSAGES),
        wire=UplinkWire(target, is_unknown.set),
    )
    asking = asyncio.create_task(_ask_over(endpoint, body))
    refused = asyncio.create_task(is_unknown.wait())
    try:
        await asyncio.wait([asking, refused], return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise KeyUnknown(f"the home at {target.url} does not know the key {target.public}")
        answer = await asking
    finally:
        asking.cancel()
        refused.cancel()
        await asyncio.wait([asking, refused])
        endpoint.abort()
    if isinstance(answer, RefusedReply):
        raise Refused(answer.reason)
    return answer


async def _ask_over(endpoint: Endpoint, body: BaseModel) -> BaseModel:
    try:
        await endpoint.start(within_seconds=HELLO_SECONDS)
    except TransportError as error:
        raise NotReached(f"no way to the home: {error}") from None
    try:
        answer = await endpoint.ask(SUPERVISOR, body, within_seconds=ANSWER_SECONDS)
    except TransportError as error:
        raise Unavailable(f"the home does not answer: {error}") from None
    endpoint.done(answer)
    return answer.body
