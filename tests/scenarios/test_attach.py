"""`attach` and `wait`: a run that was started elsewhere is followed to its end."""

import json
import signal
from threading import Event

import pytest

from agiraph.core.turns import Usage
from cli.exits import CLOSED_PIPE
from tests.fakes.forked import Forked
from tests.fakes.model_server import Reply, say
from tests.scenarios.place import Place
from tests.scenarios.steps import WORK, held, one_worker, publish

LIMIT = 45_000


@pytest.fixture
def gate() -> Event:
    """Return a gate that delays a worker's answer."""
    return Event()


def at_work(place: Place, name: str, gate: Event) -> str:
    """Start an agent whose worker waits at the gate; return its id."""
    place.plays(coordinator=one_worker("ada"), ada=[WORK[0], held(publish(), gate)])
    agent = place.begin(name).name
    place.await_step("ada", 1)
    return agent


def read_until(process: Forked, text: str) -> str:
    """Read a command's stderr, up to the line with this text."""
    assert process.stderr is not None
    read = ""
    while text not in read:
        line = process.stderr.readline()
        assert line, f"no {text!r} in {read}"
        read += line
    return read


def test_who_attaches_sees_what_was_done_and_the_end_with_its_result(
    place: Place, gate: Event
) -> None:
    agent = at_work(place, "joined", gate)
    attached = place.start("attach", "joined")
    before = read_until(attached, "ada-facts")
    assert f"agent {agent}: working" in before
    gate.set()
    out, err = attached.communicate(60)
    assert (attached.wait(), out.startswith("Done:")) == (0, True), err
    assert "the goal is met" in before + err
    assert "completed · " in err


def test_ctrl_c_detaches_and_the_team_goes_on(place: Place, gate: Event) -> None:
    agent = at_work(place, "left-alone", gate)
    attached = place.start("attach", agent)
    read_until(attached, "ada-facts")
    attached.send_signal(signal.SIGINT)
    out, err = attached.communicate(60)
    assert (attached.wait(), out) == (130, "")
    assert f"agiraph attach {agent}" in err
    assert place.json("show", agent)["status"] == "working"
    gate.set()
    waited = place.command("wait", agent)
    assert (waited.returncode, waited.stdout, waited.stderr) == (0, "", "")


def test_commands_that_follow_end_when_their_reader_has_gone(place: Place, gate: Event) -> None:
    agent = at_work(place, "no-reader", gate)
    followers = [
        place.start("attach", agent),
        place.start("events", agent, "--follow"),
        place.start("events", agent, "--follow", "--json"),
        place.start("logs", "broker", "--follow"),
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
    assert place.json("show", agent)["status"] == "working"
    gate.set()
    assert place.command("wait", agent).returncode == 0


def test_who_attaches_late_or_waits_late_is_told_how_it_ended(place: Place) -> None:
    place.plays(coordinator=[say("I do not know."), say("I still do not know.")])
    agent = place.begin("at-a-loss")
    place.await_end(agent, "failed")
    waited = place.command("wait", agent.name)
    assert (waited.returncode, waited.stdout) == (1, "")
    assert waited.stderr.startswith("agiraph: at-a-loss is failed: the coordinator stopped")
    attached = place.command("attach", agent.name, "--json")
    assert attached.returncode == 1
    assert json.loads(attached.stdout)["reason"] in waited.stderr


def test_the_end_of_a_budget_is_an_exit_code_of_its_own(place: Place) -> None:
    reply = Reply(usage=Usage(input_tokens=LIMIT, output_tokens=10), text="Much")
    place.plays(coordinator=[reply, reply])
    spent = place.begin("spent-up", "--budget", f"{LIMIT}-tokens", "--when-spent", "stop")
    place.await_end(spent, "failed")
    assert place.command("wait", "spent-up").returncode == 3
    assert place.command("attach", "spent-up").returncode == 3


def test_who_waits_no_longer_leaves_the_team_at_work(place: Place, gate: Event) -> None:
    agent = at_work(place, "slow", gate)
    waited = place.command("wait", agent, "--timeout", "1s", "--json")
    assert waited.returncode == 1
    assert '"status": "working"' in waited.stdout
    assert "not finished within 1 seconds (--timeout)" in waited.stderr
    gate.set()
    assert place.command("wait", agent).returncode == 0
