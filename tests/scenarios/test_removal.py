"""`rm` and `prune`: agents are deleted with their files, but never an agent at work."""

from threading import Event

import pytest

from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import DONE, WAIT, finish, held, node, spawn


@pytest.fixture(scope="module")
def live_home(make_live_home: MakeLiveHome) -> LiveHome:
    """Return a separate running home: all ended agents there are deleted."""
    return make_live_home()


def ended(live_home: LiveHome, name: str) -> str:
    """Run an agent of this name to its end; return its id."""
    live_home.plays(coordinator=[finish()])
    agent = live_home.begin(name)
    live_home.await_end(agent)
    return agent.name


def test_agents_are_deleted_and_the_freed_space_is_shown(live_home: LiveHome) -> None:
    one, other = ended(live_home, "gone"), ended(live_home, "gone-too")
    unknown = live_home.command("rm", "gone", "nobody", "--yes")
    assert (unknown.returncode, "unknown agent 'nobody'" in unknown.stderr) == (2, True)
    assert (live_home.home / "agents" / one).exists(), "all are looked at before any is deleted"
    removed = live_home.command("rm", "gone", "gone-too", stdin="y\n")
    assert removed.returncode == 0, removed.stderr
    assert f"deleted {one} (" in removed.stdout
    assert removed.stdout.splitlines()[-1].startswith("2 agents deleted, ")
    assert "B freed" in removed.stdout
    assert not [
        path for id in (one, other) for path in (live_home.home / "agents").glob(f"**/{id}")
    ]


def test_only_long_ended_agents_without_triggers_are_pruned(live_home: LiveHome) -> None:
    plain, awaited = ended(live_home, "pruned"), ended(live_home, "awaited")
    live_home.command("triggers", "awaited", "add", "Look", "--every", "1h")
    kept = live_home.json("prune", "--older-than", "1h")
    assert plain not in {one["id"] for one in kept}
    dry = live_home.command("prune", "--older-than", "0s", "--dry-run")
    assert (dry.returncode, plain in dry.stdout) == (0, True)
    assert f"{awaited} is kept: it has triggers" in dry.stderr
    refused = live_home.command("prune", "--older-than", "0s", stdin="n\n")
    assert (refused.returncode, "nothing was deleted" in refused.stderr) == (1, True)
    assert plain in {one["id"] for one in live_home.json("agents")}
    pruned = live_home.command("prune", "--older-than", "0s", stdin="y\n")
    assert (pruned.returncode, f"deleted {plain} (" in pruned.stdout) == (0, True)
    left = {one["id"] for one in live_home.json("agents")}
    assert (plain in left, awaited in left) == (False, True)
    live_home.command(
        "triggers", "awaited", "cancel", live_home.json("triggers", "awaited")[0]["id"]
    )


def test_working_agent_is_not_deleted_without_force(live_home: LiveHome) -> None:
    gate = Event()
    live_home.plays(coordinator=[spawn("ada"), node("x", "ada"), WAIT], ada=[held(DONE, gate)])
    agent = live_home.begin("busy-agent")
    refused = live_home.command("rm", "busy-agent", "--yes")
    assert (refused.returncode, "is working" in refused.stderr) == (1, True)
    assert (
        live_home.command("prune", "--older-than", "0s", "--dry-run").stdout.count(agent.name) == 0
    )
    assert live_home.command("rm", "busy-agent", "--force").returncode == 0
    assert not agent.exists()
    gate.set()
