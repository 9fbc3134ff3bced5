"""`attach` and `wait`: a run that was started elsewhere is followed to its end."""

import json
import signal
from threading import Event

import pytest

from agiraph.core.turns import Usage
from cli.exits import CLOSED_PIPE
from tests.fakes.forked_command import ForkedCommand
from tests.fakes.model_server import Reply, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WORK, held, one_worker, publish

LIMIT = 15_000


@pytest.fixture
def gate() -> Event:
    """Return a gate that delays a worker's answer."""
    return Event()


def at_work(live_home: LiveHome, name: str, gate: Event) -> str:
    """Start an agent whose worker waits at the gate; return its id."""
    live_home.plays(coordinator=one_worker("ada"), ada=[WORK[0], held(publish(), gate)])
    agent = live_home.begin(name).name
    live_home.await_step("ada", 1)
    return agent


def read_until(process: ForkedCommand, text: str) -> str:
    """Read a command's stderr, up to the line with this text."""
    assert process.stderr is not None
    read = ""
    while text not in read:
        line = process.stderr.readline()
        assert line, f"no {text!r} in {read}"
        read += line
    return read


def test_attached_command_shows_earlier_work_and_the_result(
    live_home: LiveHome, gate: Event
) -> None:
    agent = at_work(live_home, "joined", gate)
    attached = live_home.start("attach", "joined")
    before = read_until(attached, "ada-facts")
    assert f"agent {agent}: working" in before
    gate.set()
    out, err = attached.communicate(60)
    assert (attached.wait(), out.startswith("Done:")) == (0, True), err
    assert "the goal is met" in before + err
    assert "completed · " in err


def test_ctrl_c_detaches_and_the_team_continues(live_home: LiveHome, gate: Event) -> None:
    agent = at_work(live_home, "left-alone", gate)
    attached = live_home.start("attach", agent)
    read_until(attached, "ada-facts")
    attached.send_signal(signal.SIGINT)
    out, err = attached.communicate(60)
    assert (attached.wait(), out) == (130, "")
    assert f"agiraph attach {agent}" in err
    assert live_home.json("show", agent)["status"] == "working"
    gate.set()
    waited = live_home.command("wait", agent)
    assert (waited.returncode, waited.stdout, waited.stderr) == (0, "", "")


def test_following_commands_end_when_their_reader_is_closed(
    live_home: LiveHome, gate: Event
) -> None:
    agent = at_work(live_home, "no-reader", gate)
    followers = [
        live_home.start("attach", agent),
        live_home.start("events", agent, "--follow"),
        live_home.start("events", agent, "--follow", "--json"),
        live_home.start("logs", "broker", "--follow"),
    ]
    read_until(followers[0], "ada-facts")
    for follower in followers[1:]:
        assert follower.stdout is not None
        assert follower.stdout.readline()
    for follower in followers:
        for stream in (follower.stdout, follower.stderr):
            assert stream is not None
            stream.close()
    assert [follower.wait(60) for follower in followers] == [CLOSED_PIPE] * len(followers)
    assert live_home.json("show", agent)["status"] == "working"
    gate.set()
    assert live_home.command("wait", agent).returncode == 0


def test_late_attach_or_wait_shows_how_the_run_ended(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[say("I do not know."), say("I still do not know.")])
    agent = live_home.begin("at-a-loss")
    live_home.await_end(agent, "failed")
    waited = live_home.command("wait", agent.name)
    assert (waited.returncode, waited.stdout) == (1, "")
    assert waited.stderr.startswith("agiraph: at-a-loss is failed: the coordinator stopped")
    attached = live_home.command("attach", agent.name, "--json")
    assert attached.returncode == 1
    assert json.loads(attached.stdout)["reason"] in waited.stderr


def test_the_end_of_a_budget_is_an_exit_code_of_its_own(live_home: LiveHome) -> None:
    reply = Reply(usage=Usage(input_tokens=LIMIT, output_tokens=10), text="Much")
    live_home.plays(coordinator=[reply, reply])
    spent = live_home.begin("spent-up", "--budget", f"{LIMIT}-tokens", "--when-spent", "stop")
    live_home.await_end(spent, "failed")
    assert live_home.command("wait", "spent-up").returncode == 3
    assert live_home.command("attach", "spent-up").returncode == 3


def test_interrupted_wait_leaves_the_team_at_work(live_home: LiveHome, gate: Event) -> None:
    agent = at_work(live_home, "slow", gate)
    waited = live_home.command("wait", agent, "--timeout", "1s", "--json")
    assert waited.returncode == 1
    assert '"status": "working"' in waited.stdout
    assert "not finished within 1 seconds (--timeout)" in waited.stderr
    gate.set()
    assert live_home.command("wait", agent).returncode == 0
