"""A gateway that ended or hangs: the command line reports it, and waits until it is back."""

import os
import signal

import pytest

from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import WORK, one_worker

NO_SUPERVISOR = "no supervisor"


@pytest.fixture(scope="module")
def known(make_live_home: MakeLiveHome) -> LiveHome:
    times = {"intensity": 100, "beat_seconds": 0.2, "suspect_seconds": 2, "hung_seconds": 4}
    live_home = make_live_home({"run": {"park_after_seconds": 0}, "supervisor": times})
    live_home.plays(coordinator=one_worker("ada"), ada=WORK)
    live_home.run("Know", "--name", "known")
    return live_home


def gateway_of(live_home: LiveHome) -> int:
    return next(int(row["pid"]) for row in live_home.json("ps") if row["address"] == "human")


@pytest.mark.parametrize("args", [("ps",), ("board", "known"), ("send", "known", "hello")])
def test_command_waits_for_a_killed_gateway(known: LiveHome, args: tuple[str, ...]) -> None:
    gateway = gateway_of(known)
    os.kill(gateway, signal.SIGKILL)
    done = known.process(*args)
    assert done.returncode == 0, done.stderr
    assert NO_SUPERVISOR not in done.stderr
    assert gateway_of(known) != gateway


def test_command_waits_for_the_successor_of_a_hung_gateway(known: LiveHome) -> None:
    gateway = gateway_of(known)
    os.kill(gateway, signal.SIGSTOP)
    done = known.process("ps", "--json")
    assert done.returncode == 0, done.stderr
    assert NO_SUPERVISOR not in done.stderr
    assert gateway_of(known) != gateway


def test_unavailable_gateway_is_named_with_its_state(
    known: LiveHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.options.shared.AWAY_SECONDS", 0.0)
    address = known.home / "human" / "address.json"
    before = address.read_text()
    address.write_text(before.replace(str(gateway_of(known)), str(2**22 + 1)))
    log = known.home / "system" / "logs" / "human.log"
    quiet = known.command("ps").stderr
    with log.open("a") as file:
        file.write("book.db is damaged: key sk-ant-api03-abcdefgh0123456789\n")
    try:
        done = known.command("ps")
    finally:
        address.write_text(before)
    assert done.returncode == 1
    assert NO_SUPERVISOR not in done.stderr
    assert "its gateway (pid 4194305) has ended and is being restarted" in done.stderr
    assert "start one with" not in done.stderr
    assert "is being restarted: book.db is damaged: key " in done.stderr
    assert "is being restarted: " not in quiet
    assert "0123456789" not in done.stderr
    until(lambda: known.command("ps").returncode == 0, "it answers again")
