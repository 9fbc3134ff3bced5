"""`rm` and `prune`: agents are deleted with their files, but never an agent at work."""

from threading import Event

import pytest

from tests.scenarios.place import MakePlace, Place
from tests.scenarios.steps import DONE, WAIT, finish, held, node, spawn


@pytest.fixture(scope="module")
def place(make_place: MakePlace) -> Place:
    """Return a separate place: all ended agents there are deleted."""
    return make_place()


def ended(place: Place, name: str) -> str:
    """Run an agent of this name to its end; return its id."""
    place.plays(coordinator=[finish()])
    agent = place.begin(name)
    place.await_end(agent)
    return agent.name


def test_agents_are_deleted_and_what_was_freed_is_said(place: Place) -> None:
    one, other = ended(place, "gone"), ended(place, "gone-too")
    unknown = place.command("rm", "gone", "nobody", "--yes")
    assert (unknown.returncode, "unknown agent 'nobody'" in unknown.stderr) == (2, True)
    assert (place.home / "agents" / one).exists(), "all are looked at before any is deleted"
    removed = place.command("rm", "gone", "gone-too", stdin="y\n")
    assert removed.returncode == 0, removed.stderr
    assert f"deleted {one} (" in removed.stdout
    assert removed.stdout.splitlines()[-1].startswith("2 agents deleted, ")
    assert "B freed" in removed.stdout
    assert not [path for id in (one, other) for path in (place.home / "agents").glob(f"**/{id}")]


def test_only_what_ended_long_ago_and_has_no_triggers_is_pruned(place: Place) -> None:
    plain, awaited = ended(place, "pruned"), ended(place, "awaited")
    place.command("triggers", "awaited", "add", "Look", "--every", "1h")
    kept = place.json("prune", "--older-than", "1h")
    assert plain not in {one["id"] for one in kept}
    dry = place.command("prune", "--older-than", "0s", "--dry-run")
    assert (dry.returncode, plain in dry.stdout) == (0, True)
    assert f"{awaited} is kept: it has triggers" in dry.stderr
    refused = place.command("prune", "--older-than", "0s", stdin="n\n")
    assert (refused.returncode, "nothing was deleted" in refused.stderr) == (1, True)
    assert plain in {one["id"] for one in place.json("agents")}
    pruned = place.command("prune", "--older-than", "0s", stdin="y\n")
    assert (pruned.returncode, f"deleted {plain} (" in pruned.stdout) == (0, True)
    left = {one["id"] for one in place.json("agents")}
    assert (plain in left, awaited in left) == (False, True)
    place.command("triggers", "awaited", "cancel", place.json("triggers", "awaited")[0]["id"])


def test_an_agent_at_work_is_not_deleted_unasked(place: Place) -> None:
    gate = Event()
    place.plays(coordinator=[spawn("ada"), node("x", "ada"), WAIT], ada=[held(DONE, gate)])
    agent = place.begin("busy-agent")
    refused = place.command("rm", "busy-agent", "--yes")
    assert (refused.returncode, "is working" in refused.stderr) == (1, True)
    assert place.command("prune", "--older-than", "0s", "--dry-run").stdout.count(agent.name) == 0
    assert place.command("rm", "busy-agent", "--force").returncode == 0
    assert not agent.exists()
    gate.set()
