"""A service that fails at each start suspends the runs that need it, and all views say why."""

import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from agiraph import RunFailed, Runtime, Task
from tests.integration.waiting import until
from tests.scenarios.conftest import NO_NOTES
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.scenario_home import MODEL, ScenarioHome
from tests.scenarios.steps import finish, held
from tests.scenarios.two_runs import MakeHome

WITHIN_SECONDS = 60
SETTINGS = {
    "run": {"park_after_seconds": 0},
    "supervisor": {"intensity": 2, "max_backoff_seconds": 0.1, "beat_seconds": 0.2},
    **NO_NOTES,
}
IS_SUSPENDED = "the run is suspended: the service 'broker' cannot be kept running"


def break_broker(make_home: ScenarioHome) -> Path:
    """End the broker and damage a file that it reads at each start; return the file."""
    table = make_home.home / "providers.yaml"
    table.write_text("{[")
    make_home.kill("broker", signal.SIGSEGV)
    return table


@pytest.fixture(scope="module")
def watched(make_live_home: MakeLiveHome) -> LiveHome:
    return make_live_home(SETTINGS)


def test_run_is_suspended_while_its_broker_does_not_start_and_then_continues(
    watched: LiveHome,
) -> None:
    gate = threading.Event()
    watched.plays(lambda seen: held(finish("done"), gate))
    agent = watched.begin("suspended")
    watched.await_step("coordinator", 0)
    table = break_broker(watched)

    def suspended() -> Any:
        view = watched.json("show", agent.name)
        return view if view["status"] == "standing_still" else None

    view = until(suspended, "the run is suspended")
    assert view["outage"]["service"] == "broker"
    assert view["reason"].startswith(IS_SUSPENDED)
    assert [one["entity"] for one in view["standstill"]["waiting"]] == ["coordinator"]
    rows = {row["address"]: row for row in watched.json("ps")}
    shown = [
        view["reason"],
        view["doing"],
        view["standstill"]["waiting"][0]["waits"],
        rows[f"{agent.name}/coordinator"]["doing"],
        watched.command("show", agent.name).stdout,
        watched.command("ps").stdout,
    ]
    assert all(f"{table}:" in text for text in shown), shown
    assert rows[f"{agent.name}/coordinator"]["state"] == "standing_still"

    waited = watched.process("wait", agent.name, "--json")
    outcome = json.loads(waited.stdout)
    assert waited.returncode == 1
    assert (outcome["status"], outcome["failure_class"]) == ("standing_still", "service")
    assert f"{table}:" in outcome["reason"]
    assert f"{table}:" in waited.stderr

    gate.set()
    table.unlink()
    watched.await_end(agent)
    assert watched.json("show", agent.name)["outage"] is None


def test_run_without_a_standing_supervisor_ends_with_the_cause_and_can_be_resumed(
    make_home: MakeHome,
) -> None:
    gate = threading.Event()
    made = make_home(lambda seen: held(finish("done"), gate))
    (made.home / "agiraph.yaml").write_text(json.dumps(SETTINGS))
    process = made.start("run", "x", "--name", "ended", "--json", *MODEL)
    made.server.wait_for(lambda seen: seen.is_for("coordinator"))
    table = break_broker(made)
    out, err = process.communicate(timeout=WITHIN_SECONDS)
    outcome = json.loads(out)
    assert process.wait() == 1, err
    assert (outcome["status"], outcome["failure_class"]) == ("stopped", "service")
    assert outcome["reason"].startswith(IS_SUSPENDED)
    assert f"{table}:" in outcome["reason"]
    assert f"ended stopped: {outcome['reason']}" in err
    resume = f"agiraph run --resume --agent {outcome['agent']}"
    assert resume in err

    gate.set()
    table.unlink()
    again = made.start(*resume.split()[1:], "--json")
    out, err = again.communicate(timeout=WITHIN_SECONDS)
    assert (again.wait(), json.loads(out)["status"]) == (0, "completed"), err


def test_python_program_gets_the_cause_of_a_suspended_run(watched: LiveHome) -> None:
    gate = threading.Event()
    watched.plays(lambda seen: held(finish("done"), gate))

    def breaks() -> None:
        watched.await_step("coordinator", 0)
        break_broker(watched)

    breaking = threading.Thread(target=breaks)
    breaking.start()
    try:
        with pytest.raises(RunFailed, match=IS_SUSPENDED) as caught:
            Runtime("openai/fake", home=watched.home).run(Task("x", name="from-python"))
    finally:
        breaking.join()
        gate.set()
        (watched.home / "providers.yaml").unlink()
    assert caught.value.failure_class == "service"
