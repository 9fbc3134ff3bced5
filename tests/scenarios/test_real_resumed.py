"""The real Gemini CLI with both drivers and Claude Code over ACP, against the fake model server."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from agiraph.core.turns import Usage
from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.fakes.real_agents import CLAUDE_ACP, Release, program_of
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import Outcome, words_of
from tests.scenarios.steps import led, working_folder

pytestmark = [pytest.mark.slow, pytest.mark.releases]
GEMINI = Release("npm", "@google/gemini-cli", "0.61.0", "gemini", 20)
RELEASES = {"gemini": GEMINI, "gemini-acp": GEMINI, "claude-code-acp": CLAUDE_ACP}
GEMINI_TOOLS = ("write_file", "run_shell_command")
CLAUDE_TOOLS = ("Write", "Bash")
LIMIT = 120_000
RULES = """
rules:
  - {name: never, tool: bash, pattern: "date*", action: deny, reason: no clocks here}
"""


@pytest.fixture(params=RELEASES)
def preset(request: pytest.FixtureRequest, live_home: LiveHome) -> Iterator[str]:
    """Yield the name of a preset in a home that knows its program's path, and denies `date`."""
    name: str = request.param
    agents, rules = live_home.home / "agents.yaml", live_home.home / "approvals.yaml"
    rules.write_text(RULES)
    row = {"command": [str(program_of(RELEASES[name]))], "rule_exempt": True}
    agents.write_text(json.dumps({name: row}))
    yield name
    agents.unlink()
    rules.unlink()


only_gemini = pytest.mark.parametrize("preset", ["gemini", "gemini-acp"], indirect=True)


def agent_process(live_home: LiveHome, preset: str) -> psutil.Process | None:
    """Return the agent's process that works in this home."""
    program = RELEASES[preset].program
    for process in psutil.process_iter():
        words = " ".join(words_of(process)[:4])
        if program in words and "node" in words and "process_guard" not in words:
            try:
                if str(live_home.home) in process.cwd():
                    return process
            except psutil.Error:
                continue
    return None


def test_agent_writes_a_file_is_resumed_after_a_kill_and_runs_permitted_commands(
    live_home: LiveHome, preset: str
) -> None:
    gate, asks = threading.Event(), preset == "gemini-acp"
    write, shell = CLAUDE_TOOLS if preset.startswith("claude") else GEMINI_TOOLS
    model = "anthropic/fake" if preset.endswith("acp") else "google/fake"

    def responder(seen: SeenRequest) -> Reply:
        if not seen.results(write):
            path = f"{working_folder(seen)}/tool.py"
            return call(write, file_path=path, content="print(6 * 7)\n")
        if "were interrupted" not in seen.said:
            return Reply(text="I wait.", gate=gate)
        if asks and not seen.results(shell):
            return call(shell, command="date > marked.txt")
        if len(seen.results(shell)) == asks:
            return call(shell, command="python3 tool.py > out.txt")
        if len(seen.results(write)) < 2:
            path = f"{working_folder(seen)}/_result.md"
            return call(write, file_path=path, content="tool.py works.")
        return say("It is done.")

    def meanwhile() -> None:
        live_home.server.wait_for(lambda seen: bool(seen.results(write)), 60)
        until(lambda: agent_process(live_home, preset), "the agent's process").kill()
        gate.set()

    live_home.plays(coordinator=led("forge", preset), **{"*": responder})
    goal = f"Have a tool written by {preset}"
    outcome = live_home.complete(goal, "--worker-model", model, meanwhile=meanwhile)
    published = outcome.published("forge-tool")
    assert (published["tool.py"], published["out.txt"]) == ("print(6 * 7)\n", "42\n")
    first, second = (e["session"] for e in outcome.data("outside.started"))
    assert (first, bool(second)) == ("", True)
    assert "marked.txt" not in published
    assert any("no clocks here" in seen.said for seen in live_home.server.requests) == asks
    assert shell in tools_called(outcome) or "bash" in tools_called(outcome)
    spent = live_home.json("usage", outcome.result["agent"])
    assert next(row["output_tokens"] for row in spent if "/forge-" in row["key"]) > 0
    requests = [seen for seen in live_home.server.requests if shell in seen.tools]
    assert {(seen.api, seen.model) for seen in requests} == {(model.partition("/")[0], "fake")}


def tools_called(outcome: Outcome) -> list[str]:
    return [e["data"]["tool"] for e in outcome.events("tool.called") if e["entity"] == "forge"]


@only_gemini
def test_agent_without_money_ends_at_once_and_is_not_restarted(
    live_home: LiveHome, preset: str
) -> None:
    def gemini(seen: SeenRequest) -> Reply:
        longest = seen.body["generationConfig"]["maxOutputTokens"]
        expensive = Usage(input_tokens=10_000, output_tokens=longest)
        return replace(call("run_shell_command", command="true"), usage=expensive)

    live_home.plays(coordinator=led("lea", preset), **{"*": gemini})
    goal = f"Spend all by {preset}"
    outcome = live_home.lead(goal, "--worker-model", "google/fake", "--budget", f"{LIMIT}-tokens")
    assert (outcome.code, outcome.result["status"]) == (3, "failed")
    refused = [one["kind"] for one in outcome.data("model.failed")]
    assert 1 <= refused.count("out_of_budget") <= 2
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.data("outside.ended")
    assert "budget" in ended["problem"]
    assert "{" not in ended["problem"]
