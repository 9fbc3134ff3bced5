"""A person steers a team at work: messages, interruptions, pauses, stops, questions, a console."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import psutil

from agiraph.agent.loop import INTERRUPTED_CALL
from agiraph.core.ids import abbreviated
from tests.fakes.model_server import Reply, SeenRequest, call
from tests.integration.house import until
from tests.scenarios.house import JsonObject, words_of
from tests.scenarios.place import Place, one_worker, whole_lines

DONE = call("publish", summary="done")
FACT = call("write_file", path="fact.md", content="a fact")


def begin(place: Place, name: str, model: str = "openai/fake") -> Path:
    """Start an agent and leave it to itself; return its folder."""
    started = place.json("run", "x", "--name", name, "--model", model, "--detach")
    return place.home / "agents" / str(started["agent"])


def await_end(agent: Path) -> JsonObject:
    """Wait until the run has ended well; return the agent's record."""

    def ended() -> JsonObject | None:
        record: JsonObject = json.loads((agent / "agent.json").read_text())
        return record if record["status"] in ("completed", "failed", "stopped") else None

    record = until(ended, f"the end of {agent.name}")
    assert record["status"] == "completed", record
    return record


def of(name: str, step: int):  # type: ignore[no-untyped-def]
    """Return whether a request is this step of this actor."""
    return lambda seen: seen.is_for(name) and seen.step == step


def runs(word: str) -> bool:
    """Whether a process with this word on its command line runs."""
    return any(word in words_of(process) for process in psutil.process_iter())


def records(folder: Path, kind: str) -> list[JsonObject]:
    """Return the records of one kind in a conversation."""
    return [r for r in whole_lines(folder / "conversation.jsonl") if r["kind"] == kind]


def test_a_message_reaches_a_busy_worker_at_its_next_step(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("ada"), ada=[replace(FACT, gate=gate), DONE])
    agent = begin(place, "steered")
    place.server.wait_for(of("ada", 0))
    assert place.json("send", "steered", "Only tables!", "--to", "ada")["to"] == ["ada"]
    gate.set()
    seen = place.server.wait_for(of("ada", 1))
    assert "[Message from human]: Only tables!" in seen.said
    await_end(agent)
    assert len(place.server.seen_by("ada")) == 2
    place.command("stop", "steered")


def test_an_interruption_cuts_a_streaming_answer_off(place: Place) -> None:
    gate = threading.Event()
    long = Reply(text="Once upon a time there was a very long answer.", text_gate=gate)

    def ada(seen: SeenRequest) -> Reply:
        return DONE if "Enough!" in seen.said and "fact" in seen.said else long

    place.plays(coordinator=one_worker("bob"), bob=[FACT, ada, ada, ada])
    agent = begin(place, "cut-off")
    place.server.wait_for(of("bob", 1))
    place.json("send", "cut-off", "Enough!", "--to", "bob", "--mode", "interrupt")
    await_end(agent)
    gate.set()
    [worker] = agent.glob("runs/*/workers/bob-*")
    partial = [said for said in records(worker, "said") if said["interrupted"]]
    assert all("Once upon".startswith(said["text"][:9]) for said in partial)
    assert len(place.server.seen_by("bob")) == 3
    place.command("stop", "cut-off")


def test_an_interruption_ends_a_running_command(place: Place) -> None:
    sleeper = call("bash", command="echo a fact > fact.md; sleep 300.047")
    place.plays(coordinator=one_worker("cleo"), cleo=[sleeper, DONE])
    agent = begin(place, "interrupted")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/fact.md")], "the command runs")
    place.json("send", "interrupted", "Stop it", "--to", "cleo", "--mode", "interrupt")
    seen = place.server.wait_for(of("cleo", 1))
    assert seen.result("bash") == INTERRUPTED_CALL
    assert "[Message from human]: Stop it" in seen.said
    await_end(agent)
    assert not runs("300.047")
    place.command("stop", "interrupted")


def test_a_paused_worker_stands_still_until_it_is_resumed(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("dan"), dan=[replace(FACT, gate=gate), DONE])
    agent = begin(place, "paused")
    place.server.wait_for(of("dan", 0))
    worker = place.worker(agent, "dan")
    address = f"{agent.name}/{worker.name}"
    assert place.json("pause", address) == [{"address": address, "state": "pausing"}]
    until(lambda: [r for r in records(worker, "noted") if r["what"] == "paused"], "the pause")
    gate.set()
    until(lambda: _state(place, address) == "paused", "the worker stands still")
    assert len(place.server.seen_by("dan")) == 1
    place.kill(f"worker {worker.name}")
    until(lambda: _state(place, address) == "paused", "also its next incarnation does")
    assert len(place.server.seen_by("dan")) == 1
    place.json("resume", address)
    await_end(agent)
    place.command("stop", "paused")


def _state(place: Place, address: str) -> str | None:
    rows = {row["address"]: row["state"] for row in place.json("ps")}
    return rows.get(address)


def test_stop_ends_workers_with_all_that_descends_from_them(place: Place) -> None:
    hider = "(setsid nohup sleep 300.053 >/dev/null 2>&1 &); touch fact.md; sleep 300.053"
    place.plays(coordinator=one_worker("eve"), eve=[call("bash", command=hider)])
    agent = begin(place, "hider")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/fact.md")], "the command runs")
    assert runs("300.053")
    stopped = place.json("stop", "hider")
    assert {row["state"] for row in stopped} == {"stopped"}
    assert len(stopped) == 2
    assert not [title for title in place.titles() if "hider" in title or "eve-" in title]
    until(lambda: not runs("300.053"), "no descendant is left")
    assert place.json("show", "hider")["status"] == "stopped"


def ask(question: str) -> Reply:
    """Return a call of ask_human."""
    return call("ask_human", question=question)


def open_question(place: Place, agent: str) -> JsonObject:
    """Wait for the one open question of an agent."""
    found: list[JsonObject] = until(lambda: place.json("questions", agent), "a question")
    [question] = found
    return question


def test_an_answer_resumes_the_call_that_asked_and_a_second_one_comes_late(place: Place) -> None:
    place.plays(coordinator=one_worker("fay"), fay=[FACT, ask("Which year?"), DONE])
    agent = begin(place, "asker")
    question = open_question(place, "asker")
    assert (question["from"], question["question"]) == ("fay", "Which year?")
    place.kill(f"worker {place.worker(agent, 'fay').name}")
    assert place.json("respond", question["id"], "2026")["status"] == "answered"
    late = place.command("respond", question["id"], "2027")
    assert (late.returncode, late.stdout) == (1, "")
    assert "answered" in late.stderr
    assert "2026" in late.stderr
    seen = place.server.wait_for(of("fay", 2))
    assert seen.result("ask_human") == "2026"
    await_end(agent)
    assert place.json("questions", "asker") == []
    assert len(place.json("questions", "asker", "--all")) == 1
    place.command("stop", "asker")


def test_an_answer_to_a_call_that_was_interrupted_is_a_message(place: Place) -> None:
    gate = threading.Event()
    place.plays(
        coordinator=one_worker("gus"),
        gus=[FACT, ask("Which year?"), Reply(calls=FACT.calls, gate=gate), DONE],
    )
    agent = begin(place, "impatient")
    question = open_question(place, "impatient")
    place.json("send", "impatient", "Go on", "--to", "gus", "--mode", "interrupt")
    seen = place.server.wait_for(of("gus", 2))
    assert seen.result("ask_human") == INTERRUPTED_CALL
    answered = place.command("respond", question["id"], "2026")
    gate.set()
    assert answered.returncode == 0, answered.stderr
    seen = place.server.wait_for(of("gus", 3))
    assert f"(answer to your question {abbreviated(question['id'])}: Which year?) 2026" in seen.said
    await_end(agent)
    place.command("stop", "impatient")


def test_a_piped_console_prints_the_team_and_reaches_a_worker(place: Place) -> None:
    told = call("send_message", to="human", content="I heard: tables")

    def answer(seen: SeenRequest) -> Reply:
        if "tables, please" not in seen.said:
            return call("wait")
        return told if "I heard" not in str(seen.turns) else DONE

    place.plays(coordinator=one_worker("hal"), hal=[FACT, *[answer] * 9])
    agent = begin(place, "console")
    place.server.wait_for(of("hal", 1))
    console = place.command("console", "console", stdin="@hal tables, please\n@zoe hello\n")
    assert console.returncode == 0, console.stderr
    assert "→ hal" in console.stdout
    assert "unknown recipient 'zoe'" in console.stdout
    assert "hal: I heard: tables" in console.stdout
    await_end(agent)
    place.command("stop", "console")
