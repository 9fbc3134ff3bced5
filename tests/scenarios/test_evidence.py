"""Evidence: a node's checks must pass before its result is published; what they came to is kept."""

import hashlib
import json
from pathlib import Path

from tests.fakes.model_server import call, calls, say
from tests.integration.house import until
from tests.scenarios.place import Place

CHECKS = ["grep -q forty-two report.md", "test $(wc -l < report.md) -eq 1"]
UNTIL_KILLED = "touch dying; until test -e killed; do sleep 0.02; done; rm dying killed"


def test_a_result_that_fails_its_check_is_refused_until_it_passes(place: Place) -> None:
    place.plays(
        coordinator=[
            call("create_work_node", name="report", role="ada", task="Report", checks=CHECKS),
            call("wait"),
            call("finish", summary="done"),
        ],
        **{
            "ada-1": [
                call("write_file", path="report.md", content="forty-one\n"),
                call("publish", summary="the answer"),
                call("write_file", path="report.md", content="forty-two\n"),
                call("publish", summary="the answer, mended"),
            ]
        },
    )
    outcome = place.lead("Find the answer", "--name", "checked")
    assert outcome.code == 0, outcome.progress
    second, third = place.server.seen_by("ada-1")[1:3]
    assert "grep -q forty-two report.md" in second.said, "its spec names the checks"
    refused = third.result("publish")
    assert "1 of 2 checks of this node failed, 1 passed" in refused
    assert "$ grep -q forty-two report.md\n\n[exit code 1]" in refused
    assert outcome.published("report") == {"report.md": "forty-two\n"}
    assert [event["data"]["has_passed"] for event in outcome.events("node.checked")] == [
        False,
        True,
    ]
    shown = place.json("board", "checked", "report")
    evidence = shown["evidence"]
    assert shown["checks"] == [check["command"] for check in evidence["checks"]] == CHECKS
    assert {check["exit_code"] for check in evidence["checks"]} == {0}
    digest = hashlib.sha256(b"forty-two\n").hexdigest()
    assert evidence["artifacts"] == {"report.md": digest}
    listing = f"{digest}  report.md\n".encode()
    assert evidence["digest"] == hashlib.sha256(listing).hexdigest()
    folder = next((outcome.run / "nodes").glob("report-*"))
    assert digest in (folder / "_status.md").read_text()
    assert json.loads((folder / "_evidence.json").read_text())["evidence"] == evidence
    told = place.command("board", "checked", "report").stdout
    assert f"{digest}  report.md" in told
    assert max(map(len, told.splitlines())) < 100


def test_a_kill_in_the_middle_of_the_checks_runs_none_of_them_twice(place: Place) -> None:
    checks = ["echo one >> ran.txt", f"{UNTIL_KILLED}; echo two >> ran.txt"]
    proof, verdict = (
        call("create_work_node", name=name, worker=worker, task="Prove", checks=checks)
        for name, worker in (("proof", "eve"), ("verdict", "solo"))
    )
    place.plays(
        coordinator=[
            calls(
                call("spawn_worker", name="eve"),
                call("spawn_worker", name="solo", mode="single_inference"),
            ),
            calls(proof, verdict),
            call("wait"),
            call("finish", summary="done"),
        ],
        eve=[
            calls(call("write_file", path="a.md", content="a"), call("publish", summary="proved")),
            call("publish", summary="never asked for"),
        ],
        solo=[say("It is proved."), say("never asked for")],
    )

    def meanwhile() -> None:
        folder = place.agent("proven")
        for node, worker in (("proof", "eve"), ("verdict", "solo")):
            scratch = until_dying(folder, node)
            place.kill(f"worker {worker}")
            (scratch / "killed").touch()

    outcome = place.lead("Prove it", "--name", "proven", meanwhile=meanwhile)
    assert outcome.code == 0, outcome.progress
    ran = {"ran.txt": "one\ntwo\n"}
    assert outcome.published("proof") == {"a.md": "a", **ran}
    assert outcome.published("verdict") == {"answer.md": "It is proved.\n", **ran}
    assert len(outcome.completions()) == 2
    assert [len(place.server.seen_by(name)) for name in ("eve", "solo")] == [1, 1]
    assert len(outcome.events("node.checked")) == 2


def until_dying(agent: Path, node: str) -> Path:
    """Wait until a node's check is where its worker is killed; return where it runs."""
    marks = f"runs/*/nodes/{node}-*/scratch/dying"
    return until(lambda: next(agent.glob(marks), None), f"{node} is being checked").parent
