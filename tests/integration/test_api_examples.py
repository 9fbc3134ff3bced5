"""The Python examples of docs/api.md run unchanged."""

import re
import subprocess
import sys
from pathlib import Path

from agiraph.messages.child import ChildStarted, StartChild
from tests.fakes.gateway import GatewayHome

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
SECONDS = 60


def example(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert found is not None
    return found.group(1)


def run(gateway_home: GatewayHome, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"AGIRAPH_HOME": str(gateway_home.home.path), "PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_documented_examples_print_the_shown_output(gateway_home: GatewayHome) -> None:
    start = gateway_home.runtime.answers[StartChild]

    def start_and_work(body: StartChild) -> ChildStarted:
        started = start(body)
        assert isinstance(started, ChildStarted)
        agent = started.address.partition("/")[0]
        gateway_home.log_events("agent.created", "agent.completed", agent=agent)
        return started

    gateway_home.runtime.answers[StartChild] = start_and_work
    assert "agent.completed" in run(gateway_home, example("sync"))
    assert [m.body.content for m in gateway_home.runtime.sent if m.body.TYPE == "text"] == [
        "Begin with the tables"
    ]
    gateway_home.add_agent(status="completed")
    gateway_home.log_events("agent.created", "agent.completed")
    assert run(gateway_home, example("async")).splitlines() == [
        "1 agent.created",
        "2 agent.completed",
    ]
