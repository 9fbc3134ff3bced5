"""Evidence: a node's checks must pass before its result is published; their results are kept."""

import hashlib
import json
from pathlib import Path

from tests.fakes.model_server import call, calls, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import UNTIL_KILLED, WAIT, finish, publish, spawn, write

CHECKS = ["grep -q forty-two report.md", "test $(wc -l < report.md) -eq 1"]


def test_result_that_fails_its_check_is_refused_until_it_passes(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[
            call("create_work_node", name="report", role="ada", task="Report", checks=CHECKS),
            WAIT,
            finish("done"),
        ],
        **{
            "ada-1": [
                write("report.md", "forty-one\n"),
                publish("the answer"),
                write("report.md", "forty-two\n"),
                publish("the answer, mended"),
            ]
        },
    )
    outcome = live_home.complete("Find the answer", "--name", "checked")
    second, third = live_home.server.seen_by("ada-1")[1:3]
    assert "grep -q forty-two report.md" in second.said, "its spec names the checks"
    refused = third.result("publish")
    assert "1 of 2 checks of this node failed, 1 passed" in refused
    assert "$ grep -q forty-two report.md\n\n[exit code 1]" in refused
    assert outcome.published("report") == {"report.md": "forty-two\n"}
    assert [event["has_passed"] for event in outcome.data("node.checked")] == [False, True]
    shown = live_home.json("board", "checked", "report")
    evidence = shown["evidence"]
    assert shown["checks"] == [check["command"] for check in evidence["checks"]] == CHECKS
    assert {check["exit_code"] for check in evidence["checks"]} == {0}
    digest = hashlib.sha256(b"forty-two\n").hexdigest()
    assert evidence["artifacts"] == {"report.md": digest}
    listing = f"{digest}  report.md\n".encode()
    assert evidence["digest"] == hashlib.sha256(listing).hexdigest()
    folder = outcome.run / "nodes" / "report"
    assert digest in (folder / "_status.md").read_text()
    assert json.loads((folder / "_evidence.json").read_text())["evidence"] == evidence
    told = live_home.command("board", "checked", "report").stdout
    assert f"{digest}  report.md" in told
    assert max(map(len, told.splitlines())) < 100


def test_results_of_tools_say_what_happened(live_home: LiveHome, tmp_path: Path) -> None:
    """A partial result with a failed check is published; its reader gets a list of files."""
    checks = ["test -s a.md", "grep -q total a.md"]
    live_home.plays(
        coordinator=[
            spawn("ann"),
            spawn("bea"),
            call("create_work_node", name="part", worker="ann", task="Write", checks=checks),
            WAIT,  # until the message
            WAIT,
            call("create_work_node", name="use", worker="bea", task="Use", refs={"in": "part"}),
            WAIT,
            finish("done", files=["part/c.md"]),
            finish("done", files=["part", "nodes/use/published/summary.md"]),
        ],
        ann=[
            calls(write("a.md", "one two\n"), write("b.md", "three\n")),
            calls(
                call("edit_file", path="a.md", old="two", new="2"),
                call("search", pattern="on.", path="."),
            ),
            call("run_checks"),
            calls(call("send_message", to="*", content="The sum is missing.")),
            publish("half"),
            publish("half", missing="the sum"),
        ],
        bea=[call("read_ref", name="in"), publish("used")],
    )
    outcome = live_home.complete("Tell me", "--name", "told")
    seen = live_home.server.seen_by("ann")
    assert "passed: test -s a.md\n\nFAILED:\n$ grep -q total a.md" in seen[3].result("run_checks")
    assert seen[3].result("search").startswith("a.md:1: one 2")
    assert seen[4].result("send_message") == "Sent to bea (idle), coordinator."
    assert "[not published] 1 of 2 checks" in seen[5].result("publish")
    assert outcome.published("part") == {"a.md": "one 2\n", "b.md": "three\n"}
    waited = "".join(live_home.server.seen_by("coordinator")[-1].results("wait"))
    assert "[in part; missing: the sum; failed checks: `grep -q total a.md`]" in waited
    refused = live_home.server.seen_by("coordinator")[-1].result("finish")
    assert "'part/c.md' is not a published file (published by 'part': a.md, b.md)" in refused
    digest = hashlib.sha256(b"one 2\n").hexdigest()
    line = f"- results/a.md (SHA-256 {digest})\n"
    assert f"done\n\nFiles:\n\n{line}- results/b.md" in outcome.result["result"]
    live_home.command("result", "told", "-o", f"{tmp_path}/delivered/")
    delivered = tmp_path / "delivered" / "results"
    assert {path.name for path in delivered.iterdir()} == {"a.md", "b.md", "summary.md"}
    assert (delivered / "a.md").read_text() == "one 2\n"
    first, second = live_home.server.seen_by("bea")[:2]
    assert "`a.md` (6 bytes), `b.md` (6 bytes)" in first.said
    assert "2 files; read one with `file`:\na.md (6 bytes)" in second.result("read_ref")


def test_kill_during_the_checks_repeats_no_check(live_home: LiveHome) -> None:
    checks = ["echo one >> ran.txt", f"{UNTIL_KILLED}; echo two >> ran.txt"]
    proof, verdict = (
        call("create_work_node", name=name, worker=worker, task="Prove", checks=checks)
        for name, worker in (("proof", "eve"), ("verdict", "solo"))
    )
    live_home.plays(
        coordinator=[
            calls(spawn("eve"), spawn("solo", mode="single_inference")),
            calls(proof, verdict),
            WAIT,
            finish("done"),
        ],
        eve=[calls(write("a.md", "a"), publish("proved")), publish("never asked for")],
        solo=[say("It is proved."), say("never asked for")],
    )

    def meanwhile() -> None:
        folder = live_home.agent("proven")
        for node, worker in (("proof", "eve"), ("verdict", "solo")):
            live_home.kill_in_command(folder, node, worker)

    outcome = live_home.complete("Prove it", "--name", "proven", meanwhile=meanwhile)
    told = [event for event in outcome.events() if event["type"].startswith(("node.", "child."))]
    assert [len(live_home.server.seen_by(name)) for name in ("eve", "solo")] == [1, 1], told
    assert len(outcome.events("node.checked")) == 2, told
    ran = {"ran.txt": "one\ntwo\n"}
    assert outcome.published("proof") == {"a.md": "a", **ran}
    assert outcome.published("verdict") == {"answer.md": "It is proved.\n", **ran}
    assert len(outcome.completions()) == 2
