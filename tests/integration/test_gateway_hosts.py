"""The HTTP API over a real socket: other machines, invitations, moves of a worker."""

import httpx
import pytest

from agiraph.http.api import InviteHostRequest, LabelHostRequest
from agiraph.http.client import Client
from agiraph.messages.child import ChildStarted
from agiraph.messages.control import RefusedReply
from agiraph.messages.host import MoveChild
from tests.fakes.gateway import AGENT, GatewayHome, refused
from transport.errors import DeadlineExceeded

LABELS = ("gpu", "has:docker")


@pytest.fixture(autouse=True)
def machines(gateway_home: GatewayHome) -> None:
    gateway_home.hosts.add("north", labels=("linux",), processes=2)
    gateway_home.hosts.add("east", state="away")


def test_hosts_are_listed_labelled_cordoned_drained_and_removed(
    gateway_home: GatewayHome, client: Client
) -> None:
    found = client.hosts()
    assert [(one.name, one.state) for one in found.hosts] == [("east", "away"), ("north", "ready")]
    assert (found.listens_at, found.invitations) == ("tcp://0.0.0.0:7400", 1)
    assert client.steer_host("north", "drain").hosts[1].is_cordoned
    assert not client.steer_host("north", "uncordon").hosts[1].is_cordoned
    assert client.label_host("north", LabelHostRequest(labels=LABELS)).hosts[1].labels == LABELS
    assert [one.name for one in client.remove_host("east").hosts] == ["north"]
    error = refused(client.steer_host, "west", "cordon")
    assert (error.status, error.detail) == (404, "unknown host 'west' (known: north)")


def test_an_invitation_is_valid_as_the_settings_say_and_is_shown_once(
    gateway_home: GatewayHome, client: Client, url: str, token: str
) -> None:
    made = client.invite_host(InviteHostRequest(name="west", labels=("gpu",)))
    assert made.line.startswith("agiraph-invitation:1:")
    assert (
        gateway_home.hosts.invited[0].seconds
        == gateway_home.runtime.config.hosts.invitation_seconds
    )
    own = {"Authorization": f"Bearer {token}"}
    headers = own | {"Idempotency-Key": "once"}
    calls = [
        httpx.post(f"{url}/hosts/invitations", json={"seconds": 60}, headers=headers, verify=False)
        for _ in range(2)
    ]
    assert [one.status_code for one in calls] == [201, 409]
    assert "shown only once" in calls[1].json()["detail"]
    error = refused(client.invite_host, InviteHostRequest.model_construct(name="A B"))
    assert (error.status, "name" in error.detail) == (422, True)
    told = httpx.post(
        f"{url}/hosts/north/labels", json={"labels": ["a b"]}, headers=own, verify=False
    )
    assert told.status_code == 422


def test_worker_is_moved_by_its_name_and_no_other_entity_is(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    (ada,) = gateway_home.add_team("Ada")

    def moved(body: MoveChild) -> ChildStarted:
        row = gateway_home.children[body.address]
        gateway_home.children[body.address] = row.model_copy(update={"host": body.host})
        return ChildStarted(address=body.address, incarnation=2, host=body.host)

    gateway_home.runtime.answers[MoveChild] = moved
    done = client.move("Ada", host="north")
    assert (done.address, done.host, done.incarnation) == (f"{AGENT}/{ada}", "north", 2)
    assert {row.address: row.host for row in client.entities()}[done.address] == "north"
    for whom, said in (("survey", "is an agent"), ("supervisor", "is a supervisor")):
        error = refused(client.move, whom, host="north")
        assert (error.status, said in error.detail) == (422, True), error.detail
    gateway_home.runtime.answers[MoveChild] = lambda body: RefusedReply(
        reason="'north' is cordoned"
    )
    assert refused(client.move, "Ada", host="north").detail == "'north' is cordoned"
    gateway_home.runtime.answers[MoveChild] = lambda body: DeadlineExceeded("too late")
    error = refused(client.move, "Ada", host="north")
    assert (error.status, "after the step" in error.detail) == (504, True)
