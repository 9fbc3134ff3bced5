"""A person steers a team at work: messages, interruptions, pauses, stops, questions."""

import json
import threading
from pathlib import Path

import psutil

from agiraph.agent.loop import INTERRUPTED_CALL
from agiraph.core.ids import abbreviated
from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import Reply, Responder, SeenRequest, call
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject, words_of
from tests.scenarios.steps import (
    DONE,
    FACT,
    WAIT,
    ask,
    bash,
    finish,
    finish_with,
    held,
    node,
    one_worker,
    spawn,
    write,
)

ANSWER = "(answer to your question"


def runs(word: str) -> bool:
    """Whether a process with this word on its command line runs."""
    return any(word in words_of(process) for process in psutil.process_iter())


def records(folder: Path, kind: str) -> list[JsonObject]:
    """Return the records of one kind in a conversation."""
    return [r for r in whole_lines(folder / "conversation.jsonl") if r["kind"] == kind]


def test_a_message_reaches_a_busy_worker_at_its_next_step(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("ada"), ada=[held(FACT, gate), DONE])
    agent = live_home.begin("steered")
    live_home.await_step("ada", 0)
    assert live_home.json("send", "steered", "Only tables!", "--to", "ada")["to"] == ["ada"]
    gate.set()
    assert "[Message from human]: Only tables!" in live_home.await_step("ada", 1).said
    live_home.await_end(agent)
    assert len(live_home.server.seen_by("ada")) == 2


def test_worker_gets_the_reason_of_a_cancelled_node(live_home: LiveHome) -> None:
    begun, stuck = threading.Event(), threading.Event()
    cancel = call("cancel_node", node_id="first", reason="the survey has it")
    leads = [spawn("hana"), node("first", "hana"), held(cancel, begun), node("second", "hana")]

    def works(seen: SeenRequest) -> Reply:
        return DONE if "# Assignment: second" in seen.said else held(FACT, stuck)

    live_home.plays(coordinator=[*leads, WAIT, finish()], hana=works)
    agent = live_home.begin("withdrawn")
    live_home.await_step("hana", 0)
    begun.set()
    last = live_home.server.wait_for(lambda seen: "# Assignment: second" in seen.said)
    stuck.set()
    assert "[Runtime]: Your node 'first' was cancelled: the survey has it." in last.said
    live_home.await_end(agent)


def test_cancelled_node_is_repeated_with_changes_and_its_files_are_kept(
    live_home: LiveHome,
) -> None:
    begun, stuck = threading.Event(), threading.Event()
    task = "Survey the whole coast"
    again = call("create_work_node", repeats="first", changes="Only the south.", worker="kim")
    leads: list[Reply | Responder] = [
        spawn("kim"),
        node("first", "kim", task=task, checks=["test -s facts.md"]),
        held(call("cancel_node", node_id="first", reason="too much"), begun),
        again,
        WAIT,
        finish(),
    ]

    def works(seen: SeenRequest) -> Reply:
        if "# Assignment: first-2" in seen.said:
            return DONE if seen.results("write_file")[1:] else FACT
        return held(DONE, stuck) if seen.step == 1 else FACT

    live_home.plays(coordinator=leads, kim=works)
    agent = live_home.begin("repeated")
    live_home.await_step("kim", 1)
    begun.set()
    cancelled = live_home.await_step("coordinator", 3).result("cancel_node")
    [kept] = json.loads(cancelled)["kept"]
    assert kept.startswith("nodes/first/")
    assert kept.endswith("/scratch/facts.md")
    last = live_home.server.wait_for(lambda seen: "# Assignment: first-2" in seen.said)
    stuck.set()
    assert f"{task}\n\n## Changes\n\nOnly the south.\n" in last.said
    assert "- `test -s facts.md`" in last.said
    live_home.await_end(agent)


def test_running_node_is_changed_instead_of_cancelled(live_home: LiveHome) -> None:
    begun, changed = threading.Event(), threading.Event()
    new = {"task": "Write facts.md in French", "checks": ["test -s facts.md"], "max_iterations": 9}
    leads: list[Reply | Responder] = [
        spawn("ida"),
        node("first", "ida", checks=["test -s fact.md"]),
        held(call("update_node", node_id="first", **new), begun),
        WAIT,
        finish_with("wait"),
    ]
    live_home.plays(coordinator=leads, ida=[held(FACT, changed), call("run_checks"), DONE])
    agent = live_home.begin("changed")
    live_home.await_step("ida", 0)
    begun.set()
    live_home.await_step("coordinator", 3)
    changed.set()
    told = live_home.await_step("ida", 1).said
    assert "[Board]: The coordinator changed your node 'first'." in told
    assert "- task, now (also in `_spec.md`): Write facts.md in French" in told
    assert "- checks: `test -s fact.md` -> `test -s facts.md`" in told
    assert "- max_iterations: the limit of the stage -> 9" in told
    assert "passed: test -s facts.md" in live_home.await_step("ida", 2).result("run_checks")
    live_home.await_end(agent)
    [spec] = agent.glob("runs/*/nodes/*/_spec.md")
    assert "in French" in spec.read_text()
    events = whole_lines(agent / "events.jsonl")
    [about] = [event["data"] for event in events if event["type"] == "node.updated"]
    assert about["changed"] == ["task", "checks", "max_iterations"]
    assert about["changes"]["checks"] == [["test -s fact.md"], ["test -s facts.md"]]
    assert len(live_home.server.seen_by("ida")) == 3


def test_result_is_accepted_despite_a_failed_check(live_home: LiveHome) -> None:
    begun, accepted = threading.Event(), threading.Event()
    leads: list[Reply | Responder] = [
        spawn("jan"),
        node("first", "jan", checks=["test -s other.md"]),
        held(call("update_node", node_id="first", accept="the name does not matter"), begun),
        WAIT,
        finish_with("wait"),
    ]
    live_home.plays(coordinator=leads, jan=[FACT, held(DONE, accepted), DONE])
    agent = live_home.begin("accepted")
    live_home.await_step("jan", 1)
    begun.set()
    live_home.await_step("coordinator", 3)
    accepted.set()
    live_home.await_end(agent)
    waited = live_home.await_step("coordinator", 4).result("wait")
    assert "[accepted by the coordinator; failed checks: `test -s other.md`]" in waited
    [status] = agent.glob("runs/*/nodes/*/_status.md")
    assert "accepted by the coordinator: the name does not matter" in status.read_text()


def test_an_attached_file_is_read_by_a_worker_in_its_sandbox_and_not_changed(
    live_home: LiveHome, tmp_path: Path
) -> None:
    gate = threading.Event()
    file = tmp_path / "prices.csv"
    file.write_text("tea,4\n")
    folder = "../../../_attachments"
    copy = bash(f"cat {folder}/prices.csv > fact.md; echo tea,0 > {folder}/prices.csv; ls {folder}")
    read = call("read_file", path="_attachments/prices.csv")
    live_home.plays(coordinator=one_worker("eve"), eve=[held(read, gate), copy, DONE])
    agent = live_home.begin("attached")
    live_home.await_step("eve", 0)
    said = ("send", "attached", "Use these", "--to", "eve", "--attach", str(file))
    for _ in range(2):
        live_home.json(*said)
    gate.set()
    seen = live_home.await_step("eve", 1)
    assert seen.said.count("Use these\n\nAttached: _attachments/prices.csv (6 bytes)") == 2
    assert "tea,4" in seen.result("read_file")
    assert live_home.await_step("eve", 2).result("bash").count("prices") >= 1
    live_home.await_end(agent)
    [kept] = agent.glob("runs/*/_attachments/prices.csv")
    [fact] = agent.glob("runs/*/nodes/*/published/fact.md")
    assert fact.read_text() == "tea,4\n"
    assert kept.read_text() == ("tea,4\n" if probe().works else "tea,0\n")


def test_a_memory_is_edited_while_its_coordinator_works(
    live_home: LiveHome, tmp_path: Path
) -> None:
    gate = threading.Event()
    note = tmp_path / "note.md"
    note.write_text("At most one page.\n")
    read = call("memory_read", path="preferences/reports.md")
    live_home.plays(coordinator=[held(call("check_board"), gate), read, finish()])
    agent = live_home.begin("edited")
    live_home.await_step("coordinator", 0)
    live_home.json("memory", "edited", "preferences/reports.md", "--write", str(note))
    gate.set()
    assert (
        "edited your memory: preferences/reports.md" in live_home.await_step("coordinator", 1).said
    )
    assert "At most one page." in live_home.await_step("coordinator", 2).result("memory_read")
    live_home.await_end(agent)
    [version] = live_home.json("memory", "edited", "preferences/reports.md", "--history")
    assert (version["by"], version["change"]) == ("human", "written")
    words = ("memory", "edited", "preferences/reports.md", "--edit")
    assert "wrote" in live_home.command(*words, EDITOR="sed -i s/one/two/").stdout
    assert "is unchanged" in live_home.command(*words, EDITOR="true").stdout
    assert live_home.json(*words[:3])["content"] == "At most two page.\n"
    live_home.json("memory", "edited", "preferences/reports.md", "--remove")
    first = live_home.json("memory", "edited", "preferences/reports.md", "--version", "1")
    assert first["content"] == "At most one page.\n"


def test_an_interruption_cuts_a_streaming_answer_off(live_home: LiveHome) -> None:
    gate = threading.Event()
    long = Reply(text="Once upon a time there was a very long answer.", text_gate=gate)

    def bob(seen: SeenRequest) -> Reply:
        return DONE if "Enough!" in seen.said and "fact" in seen.said else long

    live_home.plays(coordinator=one_worker("bob"), bob=[FACT, bob, bob, bob])
    agent = live_home.begin("cut-off")
    live_home.await_step("bob", 1)
    live_home.json("send", "cut-off", "Enough!", "--to", "bob", "--mode", "interrupt")
    live_home.await_end(agent)
    gate.set()
    said = records(live_home.worker(agent, "bob"), "said")
    partial = [one["text"] for one in said if one["interrupted"]]
    assert all("Once upon".startswith(text[:9]) for text in partial)
    assert len(live_home.server.seen_by("bob")) == 3


def test_an_interruption_ends_a_running_command(live_home: LiveHome) -> None:
    sleeper = bash("echo a fact > fact.md; sleep 300.047")
    live_home.plays(coordinator=one_worker("cleo"), cleo=[sleeper, DONE])
    agent = live_home.begin("interrupted")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/fact.md")], "the command runs")
    live_home.json("send", "interrupted", "Stop it", "--to", "cleo", "--mode", "interrupt")
    seen = live_home.await_step("cleo", 1)
    assert seen.result("bash") == INTERRUPTED_CALL
    assert "[Message from human]: Stop it" in seen.said
    live_home.await_end(agent)
    assert not runs("300.047")


def test_paused_worker_makes_no_progress_until_resumed(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("dan"), dan=[held(FACT, gate), DONE])
    agent = live_home.begin("paused")
    live_home.await_step("dan", 0)
    worker = live_home.worker(agent, "dan")
    address = f"{agent.name}/{worker.name}"

    def is_paused() -> bool:
        return live_home.states(agent.name).get(address) == "paused"

    assert live_home.json("pause", address) == [{"address": address, "state": "pausing"}]
    until(lambda: [r for r in records(worker, "noted") if r["what"] == "paused"], "the pause")
    gate.set()
    until(is_paused, "the worker is idle")
    assert len(live_home.server.seen_by("dan")) == 1
    live_home.kill(f"worker {worker.name}")
    until(is_paused, "the next incarnation is paused too")
    assert len(live_home.server.seen_by("dan")) == 1
    live_home.json("resume", address)
    live_home.await_end(agent)


def test_paused_worker_runs_one_step_at_a_time_even_after_a_kill(
    live_home: LiveHome,
) -> None:
    gates = [threading.Event(), threading.Event()]
    steps = [held(FACT, gates[0]), held(DONE, gates[1])]
    live_home.plays(coordinator=one_worker("hal"), hal=steps)
    agent = live_home.begin("stepping")
    live_home.await_step("hal", 0)
    worker = live_home.worker(agent, "hal")
    address = f"{agent.name}/{worker.name}"

    def await_pause(finished: int, asked: int) -> None:
        until(
            lambda: (
                len(records(worker, "tool.finished")) == finished
                and live_home.states(agent.name).get(address) == "paused"
            ),
            f"{finished} calls are done and the worker stands still",
        )
        assert len(live_home.server.seen_by("hal")) == asked

    live_home.json("pause", address)
    until(lambda: [r for r in records(worker, "noted") if r["what"] == "paused"], "the pause")
    gates[0].set()
    await_pause(0, 1)
    assert live_home.json("step", address) == [{"address": address, "state": "stepping"}]
    await_pause(1, 1)
    live_home.kill(f"worker {worker.name}")
    await_pause(1, 1)
    live_home.json("step", address)
    live_home.await_step("hal", 1)
    live_home.kill(f"worker {worker.name}")
    gates[1].set()
    until(lambda: len(records(worker, "said")) == 2, "the step is done by the next incarnation")
    await_pause(1, len(live_home.server.seen_by("hal")))
    live_home.json("resume", address)
    live_home.await_end(agent)
    types = [event["type"] for event in live_home.json("events", "stepping")]
    assert types.count("worker.stepped") <= 2  # a killed worker may lose its last reports
    nobody = live_home.command("step", "stepping")
    assert (nobody.returncode, "nobody is paused" in nobody.stderr) == (1, True)


def test_interruption_without_text_ends_the_command_and_reports_it(live_home: LiveHome) -> None:
    sleeper = bash("echo a fact > fact.md; sleep 300.061")
    live_home.plays(coordinator=one_worker("ida"), ida=[sleeper, DONE])
    agent = live_home.begin("broken-off")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/fact.md")], "the command runs")
    worker = f"{agent.name}/{live_home.worker(agent, 'ida').name}"
    assert live_home.json("interrupt", worker) == [{"address": worker, "state": "interrupting"}]
    seen = live_home.await_step("ida", 1)
    assert seen.result("bash") == INTERRUPTED_CALL
    assert "[Message from human]: I have interrupted your work." in seen.said
    live_home.await_end(agent)
    assert not runs("300.061")


def test_stop_ends_workers_with_all_descendants(live_home: LiveHome) -> None:
    hider = "(setsid nohup sleep 300.053 >/dev/null 2>&1 &); touch fact.md; sleep 300.053"
    live_home.plays(coordinator=one_worker("eve"), eve=[bash(hider)])
    agent = live_home.begin("hider")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/fact.md")], "the command runs")
    until(lambda: runs("300.053"), "both sleeps run")
    stopped = live_home.json("stop", "hider")
    assert [row["state"] for row in stopped] == ["stopped"] * 2
    assert not [title for title in live_home.titles() if "hider" in title or "eve-" in title]
    until(lambda: not runs("300.053"), "no descendant is left")
    assert live_home.json("show", "hider")["status"] == "stopped"


def test_answer_resumes_its_call_and_a_second_answer_is_late(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=one_worker("fay"), fay=[FACT, ask("Which year?"), DONE])
    agent = live_home.begin("steered-asker")
    question = live_home.await_question("steered-asker")
    assert (question["from"], question["question"]) == ("fay", "Which year?")
    live_home.kill(f"worker {live_home.worker(agent, 'fay').name}")
    assert live_home.json("respond", question["id"], "2026")["status"] == "answered"
    late = live_home.command("respond", question["id"], "2027")
    assert (late.returncode, late.stdout) == (1, "")
    assert "answered" in late.stderr
    assert "2026" in late.stderr
    assert live_home.await_step("fay", 2).result("ask_human") == "2026"
    live_home.await_end(agent)
    assert live_home.json("questions", "steered-asker") == []
    assert len(live_home.json("questions", "steered-asker", "--all")) == 1


def test_an_answer_to_a_call_that_was_interrupted_is_a_message(live_home: LiveHome) -> None:
    gate = threading.Event()
    steps = [FACT, ask("Which year?"), held(FACT, gate)]

    def gus(seen: SeenRequest) -> Reply:
        if seen.step < len(steps):
            return steps[seen.step]
        # The answer is accepted for gus before his process receives it.
        return DONE if ANSWER in seen.said else write(f"step-{seen.step}.md", "x")

    live_home.plays(coordinator=one_worker("gus"), gus=gus)
    agent = live_home.begin("impatient")
    question = live_home.await_question("impatient")
    live_home.json("send", "impatient", "Go on", "--to", "gus", "--mode", "interrupt")
    assert live_home.await_step("gus", 2).result("ask_human") == INTERRUPTED_CALL
    answered = live_home.command("respond", question["id"], "2026")
    gate.set()
    assert answered.returncode == 0, answered.stderr
    said = live_home.server.wait_for(lambda seen: seen.is_for("gus") and ANSWER in seen.said).said
    assert f"{ANSWER} {abbreviated(question['id'])}: Which year?) 2026" in said
    live_home.await_end(agent)
