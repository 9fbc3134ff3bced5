"""A gateway that ended or hangs: the command line says so, and waits until it is back."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import call
from tests.integration.house import until
from tests.scenarios.place import Place, one_worker, placed

SETTINGS = """\
run:
  park_after_seconds: 0
supervisor:
  intensity: 100
  beat_seconds: 0.2
  suspect_seconds: 2
  hung_seconds: 4
"""
NOBODY = "no supervisor"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("held")
    (home / "agiraph.yaml").write_text(SETTINGS)
    with placed(home) as place:
        place.plays(
            coordinator=one_worker("ada"),
            ada=[call("bash", command="echo 1 > f"), call("publish", summary="done")],
        )
        done = place.command("run", "Know", "--name", "known", "--model", "openai/fake")
        assert done.returncode == 0, done.stderr
        yield place


def gateway_of(place: Place) -> int:
    return next(int(row["pid"]) for row in place.json("ps") if row["address"] == "human")


@pytest.mark.parametrize("args", [("ps",), ("board", "known"), ("send", "known", "hello")])
def test_a_killed_gateway_is_waited_for(held: Place, args: tuple[str, ...]) -> None:
    gateway = gateway_of(held)
    os.kill(gateway, signal.SIGKILL)
    done = held.process(*args)
    assert done.returncode == 0, done.stderr
    assert NOBODY not in done.stderr
    assert gateway_of(held) != gateway


def test_a_gateway_that_hangs_is_waited_for_until_its_successor_answers(held: Place) -> None:
    gateway = gateway_of(held)
    os.kill(gateway, signal.SIGSTOP)
    done = held.process("ps", "--json")
    assert done.returncode == 0, done.stderr
    assert NOBODY not in done.stderr
    assert gateway_of(held) != gateway


def test_a_gateway_that_stays_away_is_named_with_its_state(
    held: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.options.AWAY_SECONDS", 0.0)
    address = held.home / "human" / "address.json"
    before = address.read_text()
    address.write_text(before.replace(str(gateway_of(held)), str(2**22 + 1)))
    try:
        done = held.command("ps")
    finally:
        address.write_text(before)
    assert done.returncode == 1
    assert NOBODY not in done.stderr
    assert "its gateway (pid 4194305) has ended and is being restarted" in done.stderr
    assert "start one with" not in done.stderr
    until(lambda: held.command("ps").returncode == 0, "it answers again")


def test_where_nobody_holds_the_home_a_supervisor_is_to_be_started(
    held: Place, tmp_path: Path
) -> None:
    done = held.command("ps", "--home", str(tmp_path))
    assert done.returncode == 4
    assert "no supervisor runs on home" in done.stderr
    assert "agiraph-supervisor" in done.stderr
