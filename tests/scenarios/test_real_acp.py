"""The real Claude Code by the Agent Client Protocol, against the fake model server."""

import json
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.fakes.real_agents import CLAUDE_ACP, program_of
from tests.integration.house import until
from tests.scenarios.external import led
from tests.scenarios.house import words_of
from tests.scenarios.place import Place

NAME = "claude-agent-acp"


@pytest.fixture
def place(place: Place) -> Iterator[Place]:
    """A place that knows where Claude Code's program is."""
    agents = place.home / "agents.yaml"
    command = [str(program_of(CLAUDE_ACP))]
    agents.write_text(json.dumps({"claude-code-acp": {"command": command}}))
    yield place
    agents.unlink()


def folder_in(seen: SeenRequest) -> str:
    """Return the folder that Claude Code says it works in."""
    text = f"{seen.system}\n{seen.said}"
    return text.partition("working directory: ")[2].partition("\n")[0].strip()


def adapter_of(place: Place) -> psutil.Process | None:
    """Return the agent's process that works in this home."""
    for process in psutil.process_iter():
        if NAME in " ".join(words_of(process)[:2]) and "node" in words_of(process)[0]:
            try:
                if str(place.home) in process.cwd():
                    return process
            except psutil.Error:
                continue
    return None


@pytest.mark.slow
def test_claude_code_tells_its_tools_and_is_taken_up_after_a_kill(place: Place) -> None:
    gate = threading.Event()

    def claude(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            path = f"{folder_in(seen)}/tool.py"
            return call("Write", file_path=path, content="print(6 * 7)\n")
        if "were interrupted" not in seen.said:
            return Reply(text="I wait.", gate=gate)
        if not seen.results("Bash"):
            return call("Bash", command="python3 tool.py > out.txt")
        if len(seen.results("Write")) < 2:
            path = f"{folder_in(seen)}/_result.md"
            return call("Write", file_path=path, content="tool.py works.")
        return say("It is done.")

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: bool(seen.results("Write")))
        adapter = until(lambda: adapter_of(place), "the agent's process")
        adapter.kill()
        gate.set()

    place.plays(coordinator=led("forge", "claude-code-acp"), **{"*": claude})
    outcome = place.lead("Have a tool written", meanwhile=meanwhile)
    assert outcome.result["status"] == "completed", outcome.progress
    published = outcome.published("forge-tool")
    assert (published["tool.py"], published["out.txt"]) == ("print(6 * 7)\n", "42\n")
    first, second = (e["data"]["session"] for e in outcome.events("outside.started"))
    assert (first, bool(second)) == ("", True)
    tools = [e["data"]["tool"] for e in outcome.events("tool.called") if e["entity"] == "forge"]
    # It may have been killed before it had written down what its first tool gave.
    assert (tools[0], tools[-1]) == ("write_file", "write_file")
    assert tools[1:-1].count("bash") == 1
    assert outcome.events("outside.ended")[-1]["data"]["output_tokens"] > 0
