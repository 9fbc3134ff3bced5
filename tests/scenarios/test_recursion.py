"""A worker that finds its node too big puts parts of it on the board and integrates them.

A todo app by workers that a model drives, two levels deep, with the
coordinator and the parent's worker killed in the middle; and what a parent does when a part fails.
"""

import contextlib
import json
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.fakes.model_server import Brain, Reply, SeenRequest, call, calls, say
from tests.scenarios.by_node import Plays, by_node, node_of, step_of
from tests.scenarios.house import JsonObject, Outcome, processes_of, title_of
from tests.scenarios.place import Place, placed

PARTS = {"backend": "main.py", "frontend": "app.jsx"}
SINGLE = "single_inference"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    (home / "agiraph.yaml").write_text("run:\n  max_concurrent: 2\n  park_after_seconds: 1\n")
    with placed(home) as place:
        yield place
        assert "Traceback" not in place.traces()


def part(name: str, gate: threading.Event | None = None) -> list[Reply]:
    """Return the steps of a worker that makes one part and tells the team of it."""
    make = call("write_file", path=f"{name}/{PARTS[name]}", content=f"the {name}")
    tell = call("append_context", key="parts", item=name)
    return [make, Reply(calls=tell.calls, gate=gate), call("publish", summary=f"{name} done")]


def plays(place: Place, brain: Brain) -> None:
    """Let the model be this brain from now on, and forget what was asked before."""
    place.plays()
    place.server.brain = brain


def create(name: str, **more: object) -> Reply:
    return call("create_work_node", name=name, role=name, task=f"Build the {name}", **more)


def read_all(seen: SeenRequest) -> Reply:
    """Read every file that the parts have published, by the paths that `wait` names."""
    rows = json.loads(seen.result("wait"))["nodes"]
    assert {row["status"] for row in rows} == {"completed"}, rows
    return calls(*(call("read_file", path=path) for row in rows for path in row["published"]))


def integrate(seen: SeenRequest) -> Reply:
    whole = "\n".join(sorted(seen.results("read_file")))
    return calls(
        call("write_file", path="app.md", content=whole),
        call("bash", command="wc -l < app.md"),
        call("publish", summary="the app, integrated"),
    )


def todo_app(gate: threading.Event) -> Brain:
    lead: Plays = [
        call("create_work_node", name="app", role="builder", task="Build the todo app"),
        call("wait"),
        call("read_context", key="parts"),
        lambda seen: call("finish", summary=seen.result("read_context")),
    ]
    parts: dict[str, Plays] = {
        "app": [
            calls(create("backend"), create("frontend"), create("docker", mode=SINGLE)),
            call("wait"),
            read_all,
            integrate,
        ],
        "backend": [create("schema", wait=True), *part("backend", gate)],
        "schema": [
            call("write_file", path="schema.sql", content="create table todo"),
            call("publish", summary="the schema"),
        ],
        "frontend": part("frontend"),
        "docker": [say("the docker")],
    }
    return by_node(lead, parts)


def parents(outcome: Outcome) -> dict[str, str | None]:
    """Return each node's parent, by name."""
    lines = (outcome.run / "journal.jsonl").read_text().splitlines()
    created = [json.loads(line)["node"] for line in lines if '"type":"node.created"' in line]
    names = {node["id"]: node["name"] for node in created}
    return {node["name"]: names.get(node["parent_node"]) for node in created}


def assert_whole(outcome: Outcome) -> None:
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert outcome.published("app-") == {"app.md": "the backend\nthe docker\n\nthe frontend"}
    assert outcome.published("backend-") == {"main.py": "the backend"}
    assert len(outcome.completions()) == len(set(outcome.completions())) == 5
    assert parents(outcome) == {
        "app": None,
        "backend": "app",
        "frontend": "app",
        "docker": "app",
        "schema": "backend",
    }
    shared = json.loads(outcome.result["result"])
    assert sorted(shared["value"]) == sorted(PARTS), "each item once"
    assert shared["version"] == 2
    assert outcome.published("docker-") == {"answer.md": "the docker\n"}
    shown = json.loads((outcome.run / "_context.json").read_text())
    assert shown["parts"]["value"] == shared["value"]


def test_the_todo_app_is_built_three_levels_deep_with_kills_in_the_middle(place: Place) -> None:
    gate = threading.Event()
    plays(place, todo_app(gate))

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: (node_of(seen), step_of(seen)) == ("backend", 2))
        agent = place.agent("todo")
        place.await_call(place.worker(agent, "builder-1"), "wait")
        place.kill("coordinator todo")
        place.server.wait_for(lambda seen: (node_of(seen), step_of(seen)) == ("docker", 0))
        killed_or_parked(place, "worker builder-1")
        gate.set()

    outcome = place.lead("A full-stack todo app", "--name", "todo", meanwhile=meanwhile)
    assert_whole(outcome)
    shown = place.command("files", outcome.result["agent"], "_context.json").stdout
    assert all(f'"{name}"' in shown for name in PARTS), "people see it too"
    blocked = [event["data"]["name"] for event in outcome.events("node.blocked")]
    assert {"app", "backend"} <= set(blocked)
    assert len(outcome.events("context.written")) == 2


def killed_or_parked(place: Place, title: str) -> None:
    """kill -9 a process, unless it has parked meanwhile."""
    for process in processes_of(place.home):
        if title in title_of(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_parent_whose_part_failed_is_told_why_and_tries_again(place: Place) -> None:
    gate = threading.Event()
    loop = call("bash", command="cat nowhere")

    def again(seen: SeenRequest) -> Reply:
        assert "[Board]: your sub-node 'flaky' failed: a loop" in seen.said
        outcome = json.loads(seen.result("wait"))
        assert outcome["interrupted_by_message"]
        states = {row["name"]: row["status"] for row in outcome["nodes"]}
        assert states["flaky"] == "failed"
        gate.set()
        return call("create_work_node", name="sound", role="sound", task="Another way")

    lead: Plays = [
        call("create_work_node", name="whole", role="mother", task="Do it"),
        call("wait"),
        lambda seen: call("finish", summary=seen.result("wait")),
    ]
    slow = call("write_file", path="slow.md", content="slow")
    nodes: dict[str, Plays] = {
        "whole": [
            calls(
                call("create_work_node", name="flaky", role="flaky", task="One way"),
                call("create_work_node", name="slow", role="slow", task="The other half"),
            ),
            call("wait"),
            again,
            call("wait", nodes=["slow", "sound"]),
            lambda seen: call("write_file", path="whole.json", content=seen.result("wait")),
            call("publish", summary="whole, by another way"),
        ],
        "flaky": [loop] * 4,
        "slow": [Reply(calls=slow.calls, gate=gate), call("publish", summary="slow")],
        "sound": [
            call("write_file", path="sound.md", content="sound"),
            call("publish", summary="sound"),
        ],
    }
    plays(place, by_node(lead, nodes))
    outcome = place.lead("Do it", "--name", "again")
    assert outcome.result["status"] == "completed"
    rows: list[JsonObject] = json.loads(outcome.published("whole-")["whole.json"])["nodes"]
    assert [(row["name"], row["status"]) for row in rows] == [
        ("slow", "completed"),
        ("sound", "completed"),
    ]
    said = [seen.said for seen in place.server.seen_by("coordinator")]
    assert not any("flaky" in text for text in said), "its parent looks after it"


def test_a_parent_that_fails_takes_its_parts_along(place: Place) -> None:
    gate = threading.Event()
    loop = call("bash", command="cat nowhere")
    lead: Plays = [
        call("create_work_node", name="doomed", role="doomed", task="Do it"),
        call("wait"),
        call("check_board"),
        lambda seen: call("finish", summary=seen.result("check_board")),
    ]
    nodes = {"doomed": [create("backend"), *[loop] * 4], "backend": part("backend", gate)}
    plays(place, by_node(lead, nodes))

    try:
        outcome = place.lead("Do it", "--name", "doomed-run")
    finally:
        gate.set()
    rows = {row["name"]: row for row in json.loads(outcome.result["result"])["nodes"]}
    assert rows["doomed"]["status"] == "failed"
    assert rows["backend"]["status"] == "cancelled"
    assert "its parent node 'doomed' failed: a loop" in rows["backend"]["summary"]


def test_too_deep_and_in_a_circle_is_told_with_what_is_possible(place: Place) -> None:
    deeper = call("create_work_node", name="deeper", task="Go on", wait=True)
    circle = call("create_work_node", name="circle", task="Go on", dependencies=["deep"])

    def dig(seen: SeenRequest) -> Reply:
        """Every worker goes one deeper until it is told that this is the deepest."""
        if step_of(seen) == 0:
            return calls(circle, deeper) if node_of(seen) == "deep" else deeper
        if step_of(seen) == 1:
            told = "\n".join(seen.results("create_work_node"))
            return call("write_file", path="told.md", content=told)
        return call("publish", summary=node_of(seen))

    place.plays(
        coordinator=[
            call("create_work_node", name="deep", role="digger", task="Dig"),
            call("wait"),
            lambda seen: call("finish", summary=seen.result("wait")),
        ],
        **{"*": dig},
    )
    outcome = place.lead("Dig", "--name", "deep-run")
    names = list(parents(outcome))
    assert names == ["deep", "deeper", "deeper-2", "deeper-3"]
    assert "run.max_depth" in outcome.published("deeper-3-")["told.md"]
    assert "a cycle: circle -> deep -> circle" in outcome.published("deep-")["told.md"]


def test_a_deadlock_is_told_to_the_coordinator_who_breaks_it(place: Place) -> None:
    def told(seen: SeenRequest) -> Reply:
        assert json.loads(seen.result("wait"))["interrupted_by_message"]
        assert "[Board]: deadlock: " in seen.said
        assert "'for-ada' is kept for ada, who holds 'left'" in seen.said
        return calls(
            call("spawn_worker", name="cyd"),
            call("assign_worker", node_id="for-ada", worker_id="cyd"),
        )

    lead: Plays = [
        calls(call("spawn_worker", name="ada"), call("spawn_worker", name="ben")),
        calls(
            call("create_work_node", name="left", task="Left", worker="ada"),
            call("create_work_node", name="right", task="Right", worker="ben"),
        ),
        call("wait"),
        told,
        call("wait"),
        lambda seen: call("finish", summary=seen.result("wait")),
    ]

    def one(name: str, *first: Reply) -> Plays:
        write = call("write_file", path=f"{name}.md", content=name)
        return [*first, write, call("publish", summary=name)]

    def handing(name: str, worker: str) -> Reply:
        return call("create_work_node", name=name, task=name, worker=worker, wait=True)

    nodes: dict[str, Plays] = {
        "left": one("left", handing("for-ben", "ben")),
        "right": one("right", handing("for-ada", "ada")),
        "for-ben": one("for-ben"),
        "for-ada": one("for-ada"),
    }
    plays(place, by_node(lead, nodes))
    outcome = place.lead("Do both", "--name", "crossed")
    assert outcome.result["status"] == "completed"
    [found] = outcome.events("node.deadlock")
    assert sorted(found["data"]["ring"]) == ["for-ada", "for-ben", "left", "right"]
    assert len(outcome.completions()) == 4


def test_a_worker_that_leads_launches_a_stage_below_its_own_node(place: Place) -> None:
    stage = {"name": "Build", "roles": [{"name": "ben", "prompt": "Build it"}]}
    lead: Plays = [
        calls(call("spawn_worker", name="ada", can_lead=True)),
        call("create_work_node", name="app", task="Lead it", worker="ada", labels=["web"]),
        call("wait"),
        lambda seen: call("finish", summary=seen.result("wait")),
    ]
    nodes: dict[str, Plays] = {
        "app": [
            call("launch_roles", stage=stage),
            call("wait"),
            call("write_file", path="app.md", content="whole"),
            call("publish", summary="led"),
        ],
        "ben-build": [
            call("write_file", path="part.md", content="part"),
            call("publish", summary="built"),
        ],
    }
    plays(place, by_node(lead, nodes))
    outcome = place.lead("Have it led", "--name", "led")
    assert outcome.result["status"] == "completed"
    created = {event["data"]["name"]: event["data"] for event in outcome.events("node.created")}
    assert "parent_node" in created["ben-build"]
    assert len(outcome.completions()) == 2
