"""Idempotency keys of the whole API: a repeated call has no second effect, even after a kill of the
gateway."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agiraph.http.client import read_gateway_address
from agiraph.inbox.idempotency_store import IdempotencyStore
from agiraph.messages.child import StartChild
from agiraph.messages.question import AskQuestion
from agiraph.messages.text import TextMessage
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome

CREATE = {"goal": "Survey the folder"}


@pytest.fixture
def gateway_home(tmp_path: Path) -> Iterator[GatewayHome]:
    gateway_home = GatewayHome(tmp_path)
    gateway_home.start()
    yield gateway_home
    gateway_home.stop()


def call(gateway_home: GatewayHome, path: str, json: Any = None, key: str = "k1") -> httpx.Response:
    url, token = read_gateway_address(gateway_home.home.path)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return httpx.post(url + path, json=json, headers=headers, trust_env=False, verify=False)


def texts(gateway_home: GatewayHome) -> list[str]:
    """Return the messages to the agent's entities; the router keeps each message id once."""
    return [m.body.content for m in gateway_home.runtime.sent if isinstance(m.body, TextMessage)]


def started(gateway_home: GatewayHome) -> set[str]:
    return {
        body.spec.address for _, body in gateway_home.runtime.asked if isinstance(body, StartChild)
    }


def cut_off(gateway_home: GatewayHome, path: str, json: Any) -> GatewayHome:
    """Make a call whose gateway is killed after its effect and before its answer; return the next
    gateway."""
    with pytest.MonkeyPatch.context() as patch:

        def die(*args: object) -> None:
            raise RuntimeError("killed here")

        patch.setattr(IdempotencyStore, "answered", die)
        assert call(gateway_home, path, json).status_code == 500
    gateway_home.stop()
    again = GatewayHome(gateway_home.home.path)
    again.runtime.sent, again.runtime._ids = gateway_home.runtime.sent, gateway_home.runtime._ids
    again.runtime.asked, again.children = gateway_home.runtime.asked, gateway_home.children
    again.start()
    return again


def test_repeated_creation_returns_the_first_agent(gateway_home: GatewayHome) -> None:
    first = call(gateway_home, "/agents", CREATE)
    assert first.status_code == 201
    again = call(gateway_home, "/agents", CREATE)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    other = call(gateway_home, "/agents", {"goal": "Something else"})
    assert other.status_code == 422
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["type"] == "urn:agiraph:problem:key-reused"
    fresh = call(gateway_home, "/agents", CREATE, key="k2")
    assert fresh.json()["id"] != first.json()["id"]
    assert len(started(gateway_home)) == 2


@pytest.fixture
def dying(tmp_path: Path) -> GatewayHome:
    """A home with an agent and an open question, whose gateway the test replaces."""
    gateway_home = GatewayHome(tmp_path)
    gateway_home.add_agent()
    gateway_home.add_team("Ada")
    gateway_home.start()
    asks = AskQuestion(question_id="q1", agent=AGENT, from_name="Ada", question="Which?")
    gateway_home.arrive(arrived(asks, f"{AGENT}/ada-1"))
    return gateway_home


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agents", CREATE),
        (f"/agents/{AGENT}/send", {"message": "Hello", "to": "*"}),
        (f"/agents/{AGENT}/send", {"message": "Hello"}),
        (f"/agents/{AGENT}/nudge", {"message": "Be quick"}),
        (f"/agents/{AGENT}/respond", {"response": "This one"}),
        ("/questions/q1/respond", {"response": "This one"}),
    ],
)
def test_request_interrupted_before_its_answer_is_executed_once(
    dying: GatewayHome, path: str, body: dict[str, str]
) -> None:
    gateway_home = cut_off(dying, path, body)
    try:
        before = texts(gateway_home), started(gateway_home), len(gateway_home.runtime.events())
        first = call(gateway_home, path, body)
        assert first.status_code in (200, 201), first.text
        assert (
            texts(gateway_home),
            started(gateway_home),
            len(gateway_home.runtime.events()),
        ) == before
        assert call(gateway_home, path, body).content == first.content
        with gateway_home.client() as client:
            assert len(client.agents()) == (2 if path == "/agents" else 1)
            said = [m.content for m in client.conversation(AGENT).messages if m.sender == "human"]
            assert said == [text for key, text in body.items() if key in ("message", "response")]
    finally:
        gateway_home.stop()
