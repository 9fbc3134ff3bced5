"""Idempotency keys on the whole API: a call made again makes nothing twice, through deaths too."""

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
from tests.fakes.gateway import AGENT, World
from tests.fakes.line import arrived

CREATE = {"goal": "Survey the folder"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.start()
    yield world
    world.stop()


def call(world: World, path: str, json: Any = None, key: str = "k1") -> httpx.Response:
    url, token = read_gateway_address(world.home.path)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return httpx.post(url + path, json=json, headers=headers, trust_env=False, verify=False)


def texts(world: World) -> list[str]:
    """Return what went to the agent's entities; the router keeps each message id once."""
    return [m.body.content for m in world.line.sent if isinstance(m.body, TextMessage)]


def started(world: World) -> set[str]:
    return {body.spec.address for _, body in world.line.asked if isinstance(body, StartChild)}


def cut_off(world: World, path: str, json: Any) -> World:
    """Make a call whose gateway dies when all is done and nothing is answered; return the next."""
    with pytest.MonkeyPatch.context() as patch:

        def die(*args: object) -> None:
            raise RuntimeError("killed here")

        patch.setattr(IdempotencyStore, "answered", die)
        assert call(world, path, json).status_code == 500
    world.stop()
    again = World(world.home.path)
    again.line.sent, again.line._ids = world.line.sent, world.line._ids
    again.line.asked, again.children = world.line.asked, world.children
    again.start()
    return again


def test_an_agent_is_created_once_and_told_twice(world: World) -> None:
    first = call(world, "/agents", CREATE)
    assert first.status_code == 201
    again = call(world, "/agents", CREATE)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    other = call(world, "/agents", {"goal": "Something else"})
    assert other.status_code == 422
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["type"] == "urn:agiraph:problem:key-reused"
    fresh = call(world, "/agents", CREATE, key="k2")
    assert fresh.json()["id"] != first.json()["id"]
    assert len(started(world)) == 2


@pytest.fixture
def dying(tmp_path: Path) -> World:
    """A world with an agent and an open question, whose gateway the test replaces."""
    world = World(tmp_path)
    world.add_agent()
    world.add_team("Ada")
    world.start()
    asks = AskQuestion(question_id="q1", agent=AGENT, from_name="Ada", question="Which?")
    world.arrive(arrived(asks, f"{AGENT}/ada-1"))
    return world


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
def test_what_was_cut_off_before_its_answer_is_done_once(
    dying: World, path: str, body: dict[str, str]
) -> None:
    world = cut_off(dying, path, body)
    try:
        before = texts(world), started(world), len(world.line.events())
        first = call(world, path, body)
        assert first.status_code in (200, 201), first.text
        assert (texts(world), started(world), len(world.line.events())) == before
        assert call(world, path, body).content == first.content
        with world.client() as client:
            assert len(client.agents()) == (2 if path == "/agents" else 1)
            said = [m.content for m in client.conversation(AGENT).messages if m.sender == "human"]
            assert said == [text for key, text in body.items() if key in ("message", "response")]
    finally:
        world.stop()
