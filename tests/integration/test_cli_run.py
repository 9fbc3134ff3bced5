"""`agiraph run` for real: a supervisor for the length of the run, and nothing left of it."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import FakeModelServer, Reply, Script, call
from tests.integration.commands import (
    DEADLINE_SECONDS,
    Commands,
    await_nothing_left,
    processes_of,
)

REPORT = "# Report\nfour\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def held() -> Iterator[FakeModelServer]:
    """A model that never answers until the test is over."""
    gate = threading.Event()
    with FakeModelServer(lambda _seen: Reply(text="too late", gate=gate)) as server:
        yield server
        gate.set()


def team() -> Script:
    """A coordinator that has one worker write a file and ask the human."""
    return Script(
        {
            "coordinator": [
                call("create_work_node", name="sums", task="Write sums.md"),
                call("wait"),
                call("finish", summary=REPORT),
            ],
            "*": [
                call("bash", command="echo four > sums.md"),
                call("ask_human", question="Which number?"),
                lambda seen: call("publish", summary=f"the human said {seen.result('ask_human')}"),
            ],
        }
    )


def test_folder_is_surveyed_without_a_key_and_no_process_remains(
    home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    (home / "agiraph.yaml").write_text("models: {default: script/survey}\n")
    folder = tmp_path / "my folder"
    folder.mkdir()
    (folder / "prices.csv").write_text("item,price\nbell,7\nlamp,19\n")
    survey = ("run", "Survey this folder", "--input", str(folder), "--json")
    done = Commands(home).program(*survey)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "completed"
    assert "prices.csv" in told["result"]
    assert told["usage"]["tokens"] == 0, "no language model had a part"
    assert Path(told["output"]).read_text().strip() == told["result"].strip()
    assert "model script/survey: models.default in the settings" in done.stderr
    assert "new worker" in done.stderr
    await_nothing_left(home)


def test_run_without_a_model_creates_nothing_and_names_the_alternatives(home: Path) -> None:
    commands = Commands(home)
    done = commands.here("run", "Write a poem")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    ways = ("ANTHROPIC_API_KEY=", "--model ollama/", "--model script/survey --input DIR")
    said = [commands.here(*words) for words in (("models",), ("doctor",))]
    for shown in (done, *said):
        text = " ".join(shown.stdout.split() + shown.stderr.split())
        assert [way for way in ways if way in text] == [*ways], text
    assert not home.exists()


def test_running_supervisor_refuses_a_goal_without_model_or_folder(home: Path) -> None:
    commands = Commands(home)
    home.mkdir()
    with commands.supervisor():
        for words, reason in (
            (("Write a poem",), "no provider's key is set"),
            (("Write a poem", "--detach"), "--model script/survey"),
            (("Survey", "--model", "script/survey"), "surveys a folder, and none is named"),
            (("x", "--model", "anthropic/"), "model 'anthropic/': which one?"),
        ):
            done = commands.here("run", *words)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert reason in done.stderr
        assert commands.json("agents") == []
        started = [row["address"] for row in commands.json("ps")]
        assert not [address for address in started if "coordinator" in address]
    await_nothing_left(home)


def test_a_question_is_answered_from_another_terminal(home: Path) -> None:
    with FakeModelServer(team()) as server:
        commands = Commands(home, server.env("openai"))
        shown = ""
        with commands.running("run", "Find the number", "--model", "openai/fake") as running:
            assert running.stderr is not None
            assert running.stdout is not None
            for line in running.stderr:
                shown += line
                if "agiraph respond" in line:
                    question = line.split()[line.split().index("respond") + 1]
                    answered = commands.here("respond", question, "forty-two")
                    assert answered.returncode == 0, answered.stderr
            assert running.stdout.read() == REPORT, shown
            assert running.wait(DEADLINE_SECONDS) == 0
        assert not server.problems
    assert "asks: Which number?" in shown
    assert "bash echo four > sums.md" in shown
    assert "the human said" in shown
    await_nothing_left(home)


def test_a_timeout_stops_everything_and_is_exit_1(home: Path, held: FakeModelServer) -> None:
    done = Commands(home, held.env("openai")).run(
        "run", "Wait", "--model", "openai/fake", "--timeout", "1", "--json"
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "stopped"
    assert "model openai/fake: from --model" in done.stderr
    assert "not finished within 1 seconds" in done.stderr
    await_nothing_left(home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_everything_and_is_exit_130(
    home: Path, held: FakeModelServer, number: signal.Signals
) -> None:
    commands = Commands(home, held.env("openai"))
    with commands.running("run", "Wait", "--model", "openai/fake") as running:
        held.wait_for(lambda _seen: True)
        running.send_signal(number)
        out, err = running.communicate(timeout=DEADLINE_SECONDS)
    assert (running.returncode, out) == (130, ""), err
    assert err.strip().endswith("agiraph: interrupted")
    await_nothing_left(home)
    assert json.loads(next(home.glob("agents/*/agent.json")).read_text())["status"] != "completed"


def test_killed_command_ends_its_supervisor(home: Path, held: FakeModelServer) -> None:
    with Commands(home, held.env("openai")).running("run", "Wait", "--model", "openai/fake"):
        held.wait_for(lambda _seen: True)
        assert len(processes_of(home)) > 3
    await_nothing_left(home)


def test_failed_start_of_a_supervisor_names_the_reason(home: Path) -> None:
    home.mkdir()
    (home / "agiraph.yaml").write_text("run:\n  max_nodez: 3\n")
    done = Commands(home).here("run", "Survey")
    assert (done.returncode, done.stdout) == (2, "")
    assert "agiraph.yaml:2: unknown key 'run.max_nodez'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_unwritable_home_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = Commands(tmp_path / "home").run("run", "Survey", "--model", "script/survey")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
