"""A worker whose node is too big puts parts of it on the board and integrates them.

A todo app by workers that a model drives, two levels deep, with the coordinator and the parent's
worker killed in the middle; and the reaction of a parent to a failed part.
"""

import contextlib
import json
import threading
from typing import Any

import psutil
import pytest

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls, say
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.scenario_home import Outcome, processes_of, title_of
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    by_node,
    finish,
    held,
    node,
    place_of,
    publish,
    spawn,
    write,
)

PARTS = {"backend": "main.py", "frontend": "app.jsx"}
LOOP = bash("cat nowhere")
TELL_ALL: Plays = [WAIT, lambda seen: finish(seen.result("wait"))]


@pytest.fixture(scope="module")
def live_home(make_live_home: MakeLiveHome) -> LiveHome:
    return make_live_home({"run": {"max_concurrent": 2, "park_after_seconds": 1}})


def part(name: str, gate: threading.Event) -> list[Reply]:
    """Return the steps of a worker that makes one part and reports it to the team at the gate."""
    make = write(f"{name}/{PARTS[name]}", f"the {name}")
    tell = call("append_shared_value", key="parts", item=name)
    return [make, held(tell, gate), publish(f"{name} done")]


def makes(name: str, gate: threading.Event | None = None) -> list[Reply]:
    """Return the steps of a worker that writes one file, at the gate, and publishes it."""
    writing = write(f"{name}.md", name)
    return [held(writing, gate) if gate else writing, publish(name)]


def own(name: str, **more: Any) -> Reply:
    """Create a node whose role is its name."""
    return node(name, role=name, **more)


def lead(live_home: LiveHome, responder: Responder, goal: str, name: str, **more: Any) -> Outcome:
    """Run a goal to its end with this responder."""
    live_home.plays(responder)
    return live_home.complete(goal, "--name", name, **more)


def todo_app(gate: threading.Event) -> Responder:
    def read_all(seen: SeenRequest) -> Reply:
        """Read every file that the parts have published, by the paths that `wait` names."""
        rows = json.loads(seen.result("wait"))["nodes"]
        assert {row["status"] for row in rows} == {"completed"}, rows
        return calls(*(call("read_file", path=path) for row in rows for path in row["published"]))

    def integrate(seen: SeenRequest) -> Reply:
        whole = write("app.md", "\n".join(sorted(seen.results("read_file"))))
        return calls(whole, bash("wc -l < app.md"), publish("the app, integrated"))

    leads: Plays = [
        node("app", role="builder"),
        WAIT,
        call("read_shared_value", key="parts"),
        lambda seen: finish(seen.result("read_shared_value")),
    ]
    docker = own("docker", mode="single_inference")
    is_open = threading.Event()
    is_open.set()
    parts: dict[str, Plays] = {
        "app": [calls(own("backend"), own("frontend"), docker), WAIT, read_all, integrate],
        "backend": [own("schema", wait=True), *part("backend", gate)],
        "schema": [write("schema.sql", "create table todo"), publish("the schema")],
        "frontend": part("frontend", is_open),
        "docker": [say("the docker")],
    }
    return by_node(leads, parts)


def parents(outcome: Outcome) -> dict[str, str | None]:
    """Return each node's parent, by name."""
    lines = (outcome.run / "journal.jsonl").read_text().splitlines()
    created = [json.loads(line)["node"] for line in lines if '"type":"node.created"' in line]
    names = {node["id"]: node["name"] for node in created}
    return {node["name"]: names.get(node["parent_node"]) for node in created}


def killed_or_parked(live_home: LiveHome, title: str) -> None:
    """kill -9 a process, unless it has parked meanwhile."""
    for process in processes_of(live_home.home):
        if title in title_of(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def test_the_todo_app_is_built_three_levels_deep_with_kills_in_the_middle(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()

    def meanwhile() -> None:
        live_home.server.wait_for(lambda seen: place_of(seen) == ("backend", 2))
        live_home.await_call(live_home.worker(live_home.agent("todo"), "builder-1"), "wait")
        live_home.kill("coordinator todo")
        live_home.server.wait_for(lambda seen: place_of(seen) == ("docker", 0))
        killed_or_parked(live_home, "worker builder-1")
        gate.set()

    outcome = lead(live_home, todo_app(gate), "A todo app", "todo", meanwhile=meanwhile)
    assert outcome.published("app") == {"app.md": "the backend\nthe docker\n\nthe frontend"}
    assert outcome.published("backend") == {"main.py": "the backend"}
    assert outcome.published("docker") == {"answer.md": "the docker\n"}
    assert len(outcome.completions()) == len(set(outcome.completions())) == 5
    of_app = dict.fromkeys(("backend", "frontend", "docker"), "app")
    assert parents(outcome) == {"app": None, **of_app, "schema": "backend"}
    shared = json.loads(outcome.result["result"])
    assert sorted(shared["value"]) == sorted(PARTS), "each item once"
    assert shared["version"] == 2
    shown = json.loads((outcome.run / "_shared_values.json").read_text())
    assert shown["parts"]["value"] == shared["value"]
    printed = live_home.command("files", outcome.result["agent"], "_shared_values.json").stdout
    assert all(f'"{name}"' in printed for name in PARTS), "people see it too"
    assert {"app", "backend"} <= {one["name"] for one in outcome.data("node.blocked")}
    assert len(outcome.events("shared.written")) == 2


def test_parent_of_a_failed_sub_node_is_notified_and_retries(live_home: LiveHome) -> None:
    gate = threading.Event()

    def again(seen: SeenRequest) -> Reply:
        assert "[Board]: your sub-node 'flaky' failed: a loop" in seen.said
        outcome = json.loads(seen.result("wait"))
        assert outcome["interrupted_by_message"]
        states = {row["name"]: row["status"] for row in outcome["nodes"]}
        assert states["flaky"] == "failed"
        gate.set()
        return own("sound")

    nodes: dict[str, Plays] = {
        "whole": [
            calls(own("flaky"), own("slow")),
            WAIT,
            again,
            call("wait", nodes=["slow", "sound"]),
            lambda seen: write("whole.json", seen.result("wait")),
            publish("whole, by another way"),
        ],
        "flaky": [LOOP] * 4,
        "slow": makes("slow", gate),
        "sound": makes("sound"),
    }
    outcome = lead(live_home, by_node([own("whole"), *TELL_ALL], nodes), "Do it", "recursed")
    rows = json.loads(outcome.published("whole")["whole.json"])["nodes"]
    done = {"slow": "completed", "sound": "completed"}
    assert {row["name"]: row["status"] for row in rows} == done
    said = [seen.said for seen in live_home.server.seen_by("coordinator")]
    assert not any("flaky" in text for text in said), "its parent looks after it"


def test_deadlock_is_reported_to_the_coordinator_that_resolves_it(live_home: LiveHome) -> None:
    def told(seen: SeenRequest) -> Reply:
        assert json.loads(seen.result("wait"))["interrupted_by_message"]
        assert "[Board]: deadlock: " in seen.said
        assert "'for-ada' is kept for ada, who holds 'left'" in seen.said
        return calls(spawn("cyd"), call("assign_worker", node_id="for-ada", worker_id="cyd"))

    hire = calls(spawn("ada"), spawn("ben"))
    leads: Plays = [hire, calls(node("left", "ada"), node("right", "ben")), WAIT, told, *TELL_ALL]
    nodes: dict[str, Plays] = {
        "left": [node("for-ben", "ben", wait=True), *makes("left")],
        "right": [node("for-ada", "ada", wait=True), *makes("right")],
        "for-ben": makes("for-ben"),
        "for-ada": makes("for-ada"),
    }
    outcome = lead(live_home, by_node(leads, nodes), "Do both", "crossed")
    [found] = outcome.data("node.deadlock")
    assert sorted(found["cycle"]) == ["for-ada", "for-ben", "left", "right"]
    assert len(outcome.completions()) == 4


def test_leading_worker_launches_a_stage_below_its_own_node(live_home: LiveHome) -> None:
    stage = {"name": "Build", "roles": [{"name": "ben", "prompt": "Build it"}]}
    leads: Plays = [spawn("ada", can_lead=True), node("app", "ada", labels=["web"]), *TELL_ALL]
    launch = call("launch_roles", stage=stage)
    nodes: dict[str, Plays] = {"app": [launch, WAIT, *makes("app")], "ben-build": makes("part")}
    outcome = lead(live_home, by_node(leads, nodes), "Have it led", "led")
    created = {one["name"]: one for one in outcome.data("node.created")}
    assert "parent_node" in created["ben-build"]
    assert len(outcome.completions()) == 2
