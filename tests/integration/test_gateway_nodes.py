"""The HTTP API over a real socket: orders about nodes are checked and reach the coordinator."""

import pytest

from agiraph.http.client import Client
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.node import CancelByHuman, MoveByHuman, RetryNodeMessage
from tests.fakes.gateway import AGENT, GatewayHome, refused

COORDINATOR = f"{AGENT}/coordinator"


@pytest.fixture(autouse=True)
def team(gateway_home: GatewayHome) -> str:
    """Add an agent whose coordinator accepts all orders; return Ada's id."""
    gateway_home.add_agent()
    for order in (RetryNodeMessage, CancelByHuman, MoveByHuman):
        gateway_home.runtime.answers[order] = lambda body: Ok()
    return gateway_home.add_team("Ada")[0]


def orders(gateway_home: GatewayHome) -> list[MoveByHuman | CancelByHuman]:
    return [
        body
        for _, body in gateway_home.runtime.asked
        if isinstance(body, MoveByHuman | CancelByHuman)
    ]


def test_names_are_resolved_and_the_model_is_checked_before(
    gateway_home: GatewayHome, client: Client, team: str
) -> None:
    node = client.node(AGENT, "tables").id
    shown = client.assign_node(
        AGENT, "tables", worker="ada", model="script/other", because="too slow"
    )
    assert (shown.id, shown.status) == (node, "pending")
    assert client.cancel_node(AGENT, "tabl", "not needed").id == node
    assert orders(gateway_home) == [
        MoveByHuman(node=node, worker=team, model="script/other", because="too slow"),
        CancelByHuman(node=node, because="not needed"),
    ]


def test_invalid_order_is_refused_before_the_coordinator_is_asked(
    gateway_home: GatewayHome, client: Client
) -> None:
    for named, status, said in (
        ({"worker": "eve"}, 404, "known: "),
        ({"worker": "coordinator"}, 422, "takes no nodes"),
        ({"model": "nobody/none"}, 422, "unknown provider"),
    ):
        error = refused(client.assign_node, AGENT, "tables", **named)
        assert (error.status, said in error.detail) == (status, True), error.detail
    assert refused(client.cancel_node, AGENT, "chairs").status == 404
    gateway_home.add_child(COORDINATOR, "coordinator", "stopped")
    error = refused(client.cancel_node, AGENT, "tables")
    assert (error.status, "resume it first" in error.detail) == (409, True)
    assert orders(gateway_home) == []


def test_a_refusal_of_the_board_is_the_answer(gateway_home: GatewayHome, client: Client) -> None:
    reason = "the team is full (run.max_workers)"
    gateway_home.runtime.answers[MoveByHuman] = lambda body: RefusedReply(reason=reason)
    error = refused(client.assign_node, AGENT, "tables", worker="Ada")
    assert (error.status, error.detail) == (409, reason)
    unsaid = RefusedReply(reason="name a worker", kind="InvalidInput")
    gateway_home.runtime.answers[MoveByHuman] = lambda body: unsaid
    assert refused(client.assign_node, AGENT, "tables").status == 422


def test_missing_attempt_is_refused_with_the_kept_ones(client: Client) -> None:
    error = refused(client.node_files, AGENT, "tables", "published", attempt=7)
    assert (error.status, error.detail) == (404, "nothing of attempt 7 was kept (there is: none)")
