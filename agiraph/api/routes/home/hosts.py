"""Endpoints for the other hosts of this home, invitations, and moves of an entity."""

from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import CauseDep, GatewayDep
from agiraph.api.routes.entities import child_at, children
from agiraph.api.routes.lifecycle import entity_named
from agiraph.api.strict_json import StrictRoute
from agiraph.core.hosts import HOME_HOST, HostAct
from agiraph.core.ids import SUPERVISOR
from agiraph.core.models import Agent
from agiraph.http.api import (
    ApiError,
    HostsView,
    InvitationView,
    InviteHostRequest,
    LabelHostRequest,
    MovedEntityView,
    MoveEntityRequest,
)
from agiraph.http.errors import TOO_LATE, UNPROCESSABLE
from agiraph.inbox.bus import Reply
from agiraph.messages.child import ChildInfo, ChildStarted
from agiraph.messages.host import (
    ChangeHost,
    HostInvited,
    HostTable,
    InviteHost,
    ListHosts,
    MoveChild,
)

CHANGE_SECONDS = 45.0
"""Moves of processes wait for the end of their steps."""

router = APIRouter(route_class=StrictRoute, tags=["hosts"])


@router.get("/hosts", dependencies=[READ])
async def hosts(gateway: GatewayDep) -> HostsView:
    """List the other hosts of this home, by name."""
    return _view(await gateway.bus.ask(SUPERVISOR, ListHosts(), HostTable))


@router.post("/hosts/invitations", dependencies=[CONTROL], status_code=201)
async def invite(body: InviteHostRequest, gateway: GatewayDep) -> InvitationView:
    """Create an invitation with which one other host can join, once."""
    asked = InviteHost(
        name=body.name,
        labels=body.labels,
        seconds=body.seconds or gateway.config.hosts.invitation_seconds,
        url=body.url,
    )
    invited = await gateway.bus.ask(SUPERVISOR, asked, HostInvited)
    return InvitationView(line=invited.line, expires_at=invited.expires_at)


@router.post("/hosts/{host}/labels", dependencies=[CONTROL])
async def label(
    host: str, body: LabelHostRequest, gateway: GatewayDep, cause: CauseDep
) -> HostsView:
    """Replace the labels that a person has given a host."""
    change = ChangeHost(name=host, how="label", labels=body.labels)
    return await _change(gateway, change, cause)


@router.post("/hosts/{host}/{act}", dependencies=[CONTROL])
async def steer(host: str, act: HostAct, gateway: GatewayDep, cause: CauseDep) -> HostsView:
    """Cordon a host (no new work), uncordon it, or drain it (its work moves elsewhere)."""
    return await _change(gateway, ChangeHost(name=host, how=act), cause)


@router.delete("/hosts/{host}", dependencies=[CONTROL])
async def remove(host: str, gateway: GatewayDep, cause: CauseDep, force: bool = False) -> HostsView:
    """Drain a host and refuse its key from then on.

    With `force` also if some of its entities cannot be moved: these are killed and wait for a host.
    """
    return await _change(gateway, ChangeHost(name=host, how="remove", force=force), cause)


@router.post("/entities/{entity:path}/move", dependencies=[CONTROL])
async def move(
    entity: str, body: MoveEntityRequest, gateway: GatewayDep, cause: CauseDep
) -> MovedEntityView:
    """Move a worker to another host, between two of its steps."""
    child = await _movable(gateway, entity)
    order = MoveChild(address=child.address, host=body.host or "")
    started = await _in_time(
        gateway, order, ChildStarted, cause, f"'{entity}' is moved after the step that it is in"
    )
    return MovedEntityView(
        address=started.address,
        host=started.host or HOME_HOST,
        incarnation=started.incarnation,
    )


async def _movable(gateway: Gateway, entity: str) -> ChildInfo:
    """Return the child with this name. Raises ApiError 422 if other hosts cannot run it."""
    table = await children(gateway)
    found = child_at(table, entity) or entity_named(gateway, table, entity)
    if isinstance(found, Agent) or found.kind != "worker":
        what = "an agent" if isinstance(found, Agent) else f"a {found.kind}"
        raise ApiError(UNPROCESSABLE, f"'{entity}' is {what}: only workers run on other machines")
    return found


async def _change(gateway: Gateway, change: ChangeHost, cause: CallCause) -> HostsView:
    await _require_host(gateway, change.name)
    late = f"what '{change.name}' runs is moved after the steps that it is in"
    return _view(await _in_time(gateway, change, HostTable, cause, late))


async def _require_host(gateway: Gateway, name: str) -> None:
    """Raise ApiError 404, with the known hosts, if there is no such host."""
    table = await gateway.bus.ask(SUPERVISOR, ListHosts(), HostTable)
    known = [host.name for host in table.hosts]
    if name not in known:
        raise ApiError(404, f"unknown host '{name}' (known: {', '.join(known) or 'none'})")


async def _in_time(
    gateway: Gateway,
    order: ChangeHost | MoveChild,
    expect: type[Reply],
    cause: CallCause,
    late: str,
) -> Reply:
    """Return the supervisor's answer to an order.

    Raises ApiError 504 with the text `late`. The supervisor waits until the processes concerned
    have ended their steps, at most CHANGE_SECONDS.
    """
    id = cause.message(f"{order.TYPE} {order.model_dump_json()}")
    try:
        return await gateway.bus.ask(
            SUPERVISOR, order, expect, within_seconds=CHANGE_SECONDS, id=id
        )
    except ApiError as error:
        raise ApiError(TOO_LATE, late) if error.status == TOO_LATE else error from None


def _view(table: HostTable) -> HostsView:
    return HostsView(
        hosts=tuple(sorted(table.hosts, key=lambda host: host.name)),
        listens_at=table.listens_at,
        invitations=table.invitations,
        problem=table.problem,
    )
