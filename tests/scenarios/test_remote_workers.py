"""A worker on another machine works like at home, also when its machine is lost."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import running_home, whole_lines
from tests.scenarios.remote_workers_home import RemoteWorkersHome, machine_of
from tests.scenarios.steps import (
    DONE,
    WAIT,
    ask,
    bash,
    finish_with,
    held,
    node,
    one_worker,
    spawn,
    tell,
    write,
)

LARGE = b"0123456789abcdef" * (3 << 16)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def remote_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteWorkersHome]:
    home = tmp_path_factory.mktemp("home")
    settings = {
        "hosts": {"listen": f"tcp://127.0.0.1:{_free_port()}"},
        "run": {"park_after_seconds": 0.2, "standstill_seconds": 0.5},
    }
    with running_home(home, RemoteWorkersHome, settings) as live_home:
        assert isinstance(live_home, RemoteWorkersHome)
        yield live_home


def test_worker_of_a_lost_machine_continues_elsewhere_from_its_copy(
    remote_home: RemoteWorkersHome, tmp_path: Path
) -> None:
    (tmp_path / "rows.bin").write_bytes(LARGE)
    (tmp_path / "rows.txt").write_text("a,b\n")
    gate = threading.Event()
    sums = "sha256sum < refs/all/copy.bin > sums; cat refs/bobs/note.txt; cat input/rows.txt"
    bob = node("bob-facts", "bob")
    ada = node(
        "ada-facts", "ada", refs={"bobs": "bob-facts/published/note.txt", "all": "bob-facts"}
    )
    remote_home.plays(
        coordinator=[calls(spawn("bob"), spawn("ada")), calls(bob, ada), WAIT, finish_with("wait")],
        bob=[bash("cp $AGIRAPH_INPUT/rows.bin copy.bin; echo bob > note.txt"), DONE],
        ada=[
            calls(tell("human", "I have begun."), write("facts.md", "one fact")),
            calls(bash(sums), call("read_ref", name="bobs")),
            held(bash("echo twice?>> sums"), gate),
            DONE,
        ],
    )

    def meanwhile() -> None:
        remote_home.await_step("ada", 2)
        remote_home.kill("worker ada")
        until(lambda: machine_of(remote_home.home, 2).is_dir(), "ada is started on another machine")
        gate.set()

    outcome = remote_home.complete("Find facts", "--input", str(tmp_path), meanwhile=meanwhile)
    digest = hashlib.sha256(LARGE).hexdigest()
    assert outcome.published("ada") == {"facts.md": "one fact", "sums": f"{digest}  -\ntwice?\n"}
    texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
    assert len([text for text in texts if "I have begun." in text]) == 1
    seen = remote_home.server.seen_by("ada")
    assert "bob" in seen[-1].result("read_ref")
    assert "a,b" in seen[-1].results("bash")[0]
    worker = remote_home.worker(outcome.agent, "ada")
    copies = machine_of(remote_home.home, 0).parent.glob(
        f"*/home/agents/*/runs/*/workers/{worker.name}"
    )
    there = max(copies, key=lambda copy: int(copy.parents[6].name))
    for name in ("conversation.jsonl", "notebook.md", "history.json", "memory.md"):
        assert (worker / name).read_bytes() == (there / name).read_bytes()
    assert not (remote_home.home / "system" / "transfers").exists() or not any(
        (remote_home.home / "system" / "transfers").iterdir()
    )


def test_changed_task_and_refs_reach_a_remote_worker(remote_home: RemoteWorkersHome) -> None:
    begun, changed = threading.Event(), threading.Event()
    new = {"task": "Compare with bob", "refs": {"bobs": "bob-facts/published/note.txt"}}
    update = call("update_node", node_id="eli-facts", **new)
    first = [calls(spawn("bob"), spawn("eli")), node("bob-facts", "bob"), WAIT]
    leads: list[Reply | Responder] = [
        *first,
        node("eli-facts", "eli"),
        held(update, begun),
        WAIT,
        finish_with("wait"),
    ]
    reads = [call("read_ref", name="bobs"), call("read_file", path="_spec.md")]
    remote_home.plays(
        coordinator=leads,
        bob=[write("note.txt", "from bob"), DONE],
        eli=[held(write("facts.md", "one fact"), changed), *reads, DONE],
    )
    agent = remote_home.begin("updated")
    remote_home.await_step("eli", 0)
    begun.set()
    remote_home.await_step("coordinator", 5)
    changed.set()
    last = remote_home.await_step("eli", 3)
    assert "refs: none -> bobs: refs/bobs/note.txt" in last.said
    assert "from bob" in last.result("read_ref")
    assert "Compare with bob" in last.result("read_file")
    remote_home.await_end(agent)


def test_parked_worker_continues_elsewhere_with_all_of_its_scratch(
    remote_home: RemoteWorkersHome,
) -> None:
    large = "head -c 3000000 /dev/zero > large.bin; ln -s large.bin link; mkdir empty"
    remote_home.plays(
        coordinator=one_worker("cleo"),
        cleo=[
            bash(large),
            ask("Go on?"),
            bash("test -d empty; wc -c < link > size; rm link"),
            DONE,
        ],
    )
    agent = remote_home.begin("moved")
    until(lambda: remote_home.has_parked(agent.name, 2), "coordinator and worker parked")
    remote_home.json("respond", str(remote_home.await_question(agent.name)["id"]), "yes")
    remote_home.await_end(agent)
    [published] = agent.glob("runs/*/nodes/*/published")
    assert sorted(file.name for file in published.iterdir()) == ["large.bin", "size"]
    assert (published / "size").read_text() == "3000000\n"
    assert (published / "large.bin").stat().st_size == 3_000_000


def test_standstill_of_remote_workers_is_detected_and_a_question_is_not_one(
    remote_home: RemoteWorkersHome,
) -> None:
    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return calls(spawn("ada"), spawn("bob"), node("a", "ada"), node("b", "bob"))
        return say("Waiting.")

    remote_home.plays(
        coordinator=coordinator, ada=[ask("Which colour?"), *[WAIT] * 9], bob=[WAIT] * 9
    )
    agent = remote_home.begin("far-standstill")
    question = str(remote_home.await_question(agent.name)["id"])
    until(
        lambda: remote_home.has_parked(agent.name, 3) or _are_at_rest(remote_home, agent.name),
        "all rest",
    )
    assert remote_home.json("show", agent.name)["status"] == "waiting_for_human"
    remote_home.json("respond", question, "blue")
    reason = remote_home.await_end(agent, "failed")["reason"]
    assert "ada (node 'a') waits for a message" in reason
    assert "bob (node 'b') waits for a message" in reason
    found = [e for e in whole_lines(agent / "events.jsonl") if e["type"] == "agent.standstill"]
    answered = [e for e in whole_lines(agent / "events.jsonl") if e["type"] == "human.response"]
    assert found[0]["seq"] > answered[0]["seq"], "a question is no standstill"


def _are_at_rest(remote_home: RemoteWorkersHome, agent: str) -> bool:
    states = remote_home.states(agent)
    return sorted(states.values()) == ["idle", "parked", "waiting_for_human"]
