"""A plan in a file fills the board up front; the same nodes, the same workers."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.fakes.model_server import Brain, Reply, Script, SeenRequest, call
from tests.scenarios.house import House

MakeHouse = Callable[[Brain], House]

GRAPH = """
nodes:
  - {id: a, task: Research Company A, role: worker}
  - {id: b, task: Research Company B, role: worker}
  - {id: both, task: Synthesize the findings, role: manager, deps: [a, b]}
"""

COORDINATOR = [
    call("wait"),
    call("reconvene", assessment="All three are done."),
    call("finish", summary="The plan is carried out."),
]


def worker(seen: SeenRequest) -> Reply:
    """Write a file, publish it; for each node anew."""
    if seen.step % 2 == 0:
        return call("write_file", path="out.md", content="findings")
    return call("publish", summary="found it")


def test_a_graph_in_a_file_is_carried_out_in_its_order(house: MakeHouse, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(GRAPH)
    brain = Script({"coordinator": COORDINATOR, "*": worker})
    outcome = house(brain).run("Do it", "--model", "anthropic/fake", "--plan", str(plan))
    assert outcome.code == 0
    done = [event["data"]["name"] for event in outcome.events("node.completed")]
    assert sorted(done[:2]) == ["a", "b"]
    assert done[2:] == ["both"]


def test_a_plan_that_cannot_be_followed_is_refused_before_anything_starts(
    house: MakeHouse, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"id": "a", "task": "x", "deps": ["zzz"]}]}))
    made = house(Script({}))
    process = made.start("run", "Do it", "--model", "anthropic/fake", "--plan", str(plan))
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "zzz" in err
    assert "Traceback" not in err
    assert not out
    assert not (tmp_path / "agents").exists() or not any((tmp_path / "agents").iterdir())
