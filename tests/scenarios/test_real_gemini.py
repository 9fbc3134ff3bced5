"""The real Gemini CLI as a worker, both ways, against the fake model server."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from agiraph.core.turns import Usage
from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.fakes.real_agents import Release, program_of
from tests.integration.house import until
from tests.scenarios.external import led
from tests.scenarios.house import words_of
from tests.scenarios.place import Place

pytestmark = pytest.mark.slow
PROGRAM = "gemini"
GEMINI = Release("npm", "@google/gemini-cli", "0.61.0", PROGRAM, 20)
PRESETS = ("gemini", "gemini-acp")
LIMIT = 200_000


@pytest.fixture
def place(place: Place) -> Iterator[Place]:
    """A place that knows where Gemini CLI's program is."""
    agents = place.home / "agents.yaml"
    command = [str(program_of(GEMINI))]
    agents.write_text(json.dumps({name: {"command": command} for name in PRESETS}))
    yield place
    agents.unlink()


def folder_in(seen: SeenRequest) -> str:
    """Return the folder that Gemini CLI says it works in."""
    return seen.said.partition("**Workspace Directories:**")[2].partition("- ")[2].split("\n")[0]


def gemini_in(place: Place) -> psutil.Process | None:
    """Return the agent's process that works in this home."""
    for process in psutil.process_iter():
        words = " ".join(words_of(process)[:4])
        if PROGRAM in words and "node" in words and "warden" not in words:
            try:
                if str(place.home) in process.cwd():
                    return process
            except psutil.Error:
                continue
    return None


@pytest.mark.parametrize(
    ("preset", "model"), [("gemini", "google/fake"), ("gemini-acp", "anthropic/fake")]
)
def test_gemini_cli_writes_a_file_runs_a_command_and_is_taken_up_after_a_kill(
    place: Place, preset: str, model: str
) -> None:
    gate = threading.Event()

    def gemini(seen: SeenRequest) -> Reply:
        if not seen.results("write_file"):
            path = f"{folder_in(seen)}/tool.py"
            return call("write_file", file_path=path, content="print(6 * 7)\n")
        if "were interrupted" not in seen.said:
            return Reply(text="I wait.", gate=gate)
        if not seen.results("run_shell_command"):
            return call("run_shell_command", command="python3 tool.py > out.txt")
        if len(seen.results("write_file")) < 2:
            path = f"{folder_in(seen)}/_result.md"
            return call("write_file", file_path=path, content="tool.py works.")
        return say("It is done.")

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: bool(seen.results("write_file")), 60)
        until(lambda: gemini_in(place), "the agent's process").kill()
        gate.set()

    place.plays(coordinator=led("forge", preset), **{"*": gemini})
    goal = f"Have a tool written by {preset} on {model}"
    outcome = place.lead(goal, "--worker-model", model, meanwhile=meanwhile)
    assert outcome.result["status"] == "completed", outcome.progress
    published = outcome.published("forge-tool")
    assert (published["tool.py"], published["out.txt"]) == ("print(6 * 7)\n", "42\n")
    first, second = (e["data"]["session"] for e in outcome.events("outside.started"))
    assert (first, bool(second)) == ("", True)
    spent = place.json("usage", outcome.result["agent"])
    assert next(row["output_tokens"] for row in spent if "/forge-" in row["key"]) > 0
    asked = [seen for seen in place.server.requests if "run_shell_command" in seen.tools]
    assert {(seen.api, seen.model) for seen in asked} == {(model.partition("/")[0], "fake")}


RULES = """
rules:
  - {name: never, tool: bash, pattern: "date*", action: deny, reason: no clocks here}
"""


def test_a_rule_denies_what_gemini_cli_asks_leave_for(place: Place) -> None:
    rules = place.home / "approvals.yaml"
    rules.write_text(RULES)

    def gemini(seen: SeenRequest) -> Reply:
        if not seen.results("run_shell_command"):
            return call("run_shell_command", command="date > marked.txt")
        if len(seen.results("run_shell_command")) < 2:
            return call("run_shell_command", command="echo fine > other.txt")
        if not seen.results("write_file"):
            path = f"{folder_in(seen)}/_result.md"
            return call("write_file", file_path=path, content="I was not let.")
        return say("It is done.")

    place.plays(coordinator=led("lea", "gemini-acp"), **{"*": gemini})
    outcome = place.lead("Be refused", "--worker-model", "google/fake")
    rules.unlink()
    assert outcome.result["status"] == "completed", outcome.progress
    published = outcome.published("lea-tool")
    assert ("marked.txt" in published, published["other.txt"]) == (False, "fine\n")
    assert any("no clocks here" in seen.said for seen in place.server.requests)


@pytest.mark.parametrize("preset", PRESETS)
def test_without_money_it_ends_at_once_and_does_not_try_again(place: Place, preset: str) -> None:
    dear = Usage(input_tokens=LIMIT, output_tokens=10)

    def gemini(seen: SeenRequest) -> Reply:
        return replace(call("run_shell_command", command="true"), usage=dear)

    place.plays(coordinator=led("lea", preset), **{"*": gemini})
    goal = f"Spend all by {preset}"
    outcome = place.lead(goal, "--worker-model", "google/fake", "--tokens", str(LIMIT))
    assert (outcome.code, outcome.result["status"]) == (3, "failed")
    refused = [one["data"]["kind"] for one in outcome.events("model.failed")]
    assert 1 <= refused.count("out_of_budget") <= 2
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.events("outside.ended")
    assert "budget" in ended["data"]["problem"]
    assert "{" not in ended["data"]["problem"]
