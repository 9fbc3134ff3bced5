"""The HTTP API over a socket: agents are archived, restored, deleted, and listed."""

import os

import pytest

from agiraph.api.routes import lifecycle
from agiraph.http.client import Client
from agiraph.messages.child import StartChild
from tests.fakes.gateway import AGENT, RUN, GatewayHome, refused


def test_archived_agent_is_restored_and_resumed(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.log_events("agent.created")
    client.archive("survey")
    assert client.agents() == []
    assert [(a.id, a.status) for a in client.archived()] == [(AGENT, "archived")]
    back = client.restore("survey")
    assert (back.id, back.status) == (AGENT, "stopped")
    assert client.archived() == []
    assert client.agent("survey").status == "stopped"
    assert client.resume("survey").entities[0].address == f"{AGENT}/coordinator"
    started = [body for _, body in gateway_home.runtime.asked if isinstance(body, StartChild)]
    assert started[0].spec.args["agent"]["id"] == AGENT
    assert client.agent("survey").status == "working"
    with client.follow_events(AGENT) as follower:
        event = follower.next(5.0)
        assert event is not None
        assert event.seq == 1


def test_only_archived_agents_are_deleted_with_all_files(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = gateway_home.home.agent(gateway_home.add_agent().id)
    published = home.run(RUN).path / "nodes" / "a" / "published"
    published.mkdir(parents=True)
    (published / "facts.md").write_text("x")
    outside = gateway_home.home.path / "outside.txt"
    outside.write_text("mine")
    (published / "link").symlink_to(outside)
    published.chmod(0o500)
    error = refused(client.delete, AGENT)
    assert (error.status, "in the archive" in error.detail) == (404, True)
    client.archive(AGENT)
    assert client.delete("survey").id == AGENT
    assert client.archived() == []
    assert os.listdir(gateway_home.home.agents / ".archive") == []
    assert outside.read_text() == "mine"


def test_deletion_interrupted_by_a_crash_is_completed_at_the_next_start(
    gateway_home: GatewayHome, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway_home.add_agent()
    client.archive(AGENT)
    monkeypatch.setattr("shutil.rmtree", lambda folder: None)
    client.delete(AGENT)
    monkeypatch.undo()
    assert client.archived() == []
    lifecycle.remove_half_deleted(gateway_home.home)
    assert os.listdir(gateway_home.home.agents / ".archive") == []


def test_agents_are_filtered_by_status_mode_and_words(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent("shop-1", "shop", created_at=1.0)
    gateway_home.add_agent("mill-2", "mill", created_at=2.0, status="completed")
    assert [a.name for a in client.agents(status=["completed", "failed"])] == ["mill"]
    assert [a.name for a in client.agents(text="SHOP")] == ["shop"]
    assert [a.name for a in client.agents(text="survey the")] == ["shop", "mill"]
    assert client.agents(mode="infinite") == []
    wrong = client._http.get("/agents", params={"status": "asleep"})
    assert wrong.status_code == 422
    assert "'idle', 'working'" in wrong.json()["detail"]


def test_unknown_archived_agent_is_refused_with_the_archived_ones(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    client.archive(AGENT)
    for call in (client.restore, client.delete):
        error = refused(call, "nobody")
        assert error.status == 404
        assert f"survey ({AGENT})" in error.detail
    gateway_home.add_agent()
    assert refused(client.restore, AGENT).status == 409
