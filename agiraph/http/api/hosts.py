"""Hosts: the other machines on which workers run, invitations to join, moves of a worker."""

from typing import Annotated

from pydantic import Field

from agiraph.core.hosts import UPLINK_PATTERN, HostInfo, HostLabel, HostName
from agiraph.http.api.access import Seconds
from agiraph.http.api.base import ApiRequest, ApiView

Labels = Annotated[tuple[HostLabel, ...], Field(max_length=50)]
Url = Annotated[str, Field(pattern=UPLINK_PATTERN)]


class HostsView(ApiView):
    """GET /hosts: the hosts that have joined, by name; `invitations` counts open invitations.

    `listens_at` is the address to which they connect, empty if no other machine can join this home;
    `problem` is the reason if it should listen but cannot.
    """

    hosts: tuple[HostInfo, ...] = ()
    listens_at: str = ""
    invitations: int = 0
    problem: str = ""


class InviteHostRequest(ApiRequest):
    """An invitation for one machine, valid for `seconds` [default: `hosts.invitation_seconds`].

    Without a `name` the machine chooses its own. `url` is the home's address as seen by the
    machine, if it differs from the listening address.
    """

    name: HostName | None = None
    labels: Labels = ()
    seconds: Seconds | None = None
    url: Url | None = None


class InvitationView(ApiView):
    """POST /hosts/invitations: `line` is a secret, for `agiraph host join` on the other machine."""

    line: str
    expires_at: float


class LabelHostRequest(ApiRequest):
    """The labels that a person gives a host; they replace the previous labels."""

    labels: Labels


class MoveEntityRequest(ApiRequest):
    """The host for an entity: a host's name, `home`, or empty for any suitable host."""

    host: HostName | None = None


class MovedEntityView(ApiView):
    """An entity that was moved, and the host that it runs on (`home`: the home's machine).

    An entity without a process is started there when it is needed.
    """

    address: str
    host: str
    incarnation: int
