"""kill -9 of the real gateway between the effect of a request and its answer: a repeated request
has no second effect."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agiraph.http.api import CreateAgentRequest, CreateTriggerRequest
from agiraph.http.client import Client, read_gateway_address
from tests.integration.commands import DEADLINE_SECONDS, Commands
from tests.integration.dying_gateway import order_file


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a real supervisor, whose gateway kills itself on request."""
    commands = Commands(tmp_path_factory.mktemp("killed") / "home")
    with commands.supervisor(("tests.integration.dying_gateway:supervise",)):
        yield commands.home


def gateway_pid(client: Client) -> int:
    return client.health().pid


def test_request_repeated_after_kill_9_is_executed_once(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    request = CreateAgentRequest(
        goal="Survey these papers", model="script/survey", input=str(tmp_path), name="papers"
    )
    with Client.for_home(home, patience_seconds=DEADLINE_SECONDS) as client:
        first = gateway_pid(client)
        order_file(home).write_text("/agents")
        agent = client.create_agent(request, key="create-1")
        second = gateway_pid(client)
        assert second != first
        assert [(a.id, a.name) for a in client.agents()] == [(agent.id, "papers")]
        assert agent.id == client.create_agent(request, key="create-1").id

        order_file(home).write_text(f"/agents/{agent.id}/send")
        sent = client.send(agent.id, "Hello there", key="send-1")
        third = gateway_pid(client)
        assert third != second
        assert client.send(agent.id, "Hello there", key="send-1") == sent
        said = [m for m in client.conversation(agent.id).messages if m.sender == "human"]
        assert [(m.content, m.id) for m in said] == [("Hello there", sent.id)]

        order_file(home).write_text(f"/agents/{agent.id}/triggers")
        later = CreateTriggerRequest(
            type="delayed", config={"delay_seconds": "1h"}, action="Look again"
        )
        trigger = client.add_trigger(agent.id, later, key="trigger-1")
        assert gateway_pid(client) != third
        assert [t.id for t in client.triggers(agent.id)] == [trigger.id]

        with client.follow_events(agent.id) as follower:
            types = Counter[str]()
            while not types["agent.completed"]:
                event = follower.next(DEADLINE_SECONDS)
                assert event is not None
                types[event.type] += 1
        assert types["agent.created"] == 1
        heard = [m for m in client.messages(agent.id) if m.content == "Hello there"]
        assert len(heard) == 1
        assert not order_file(home).exists()

    url, token = read_gateway_address(home)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "create-1"}
    body = {"goal": "Something else"}
    answer = httpx.post(f"{url}/agents", json=body, headers=headers, trust_env=False, verify=False)
    assert answer.status_code == 422, "a key with another request"
    assert answer.json()["type"] == "urn:agiraph:problem:key-reused"
