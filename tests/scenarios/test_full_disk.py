"""A disk that fills up while a team works: new work is refused, the rest waits, no data is lost.

The home is on a file system of 24 MB. No process ends, and when there is room again everything
continues by itself.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from agiraph.storage.disk_space import WAITS
from tests.fakes.model_server import Reply, Responder, SeenRequest
from tests.fakes.small_disk import SmallDisk, small_disk
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import JsonObject, processes_of
from tests.scenarios.steps import DONE, bash, one_worker, publish

LINES = 8
SETTINGS = {
    "run": {"park_after_seconds": 0},
    "supervisor": {"beat_seconds": 0.2, "suspect_seconds": 2, "hung_seconds": 4},
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    with small_disk(tmp_path_factory.mktemp("small")) as made:
        yield made


@pytest.fixture(scope="module")
def full_disk_home(disk: SmallDisk) -> Iterator[LiveHome]:
    home = disk.path / "home"
    home.mkdir()
    with running_home(home, settings=SETTINGS) as made:
        yield made


def scribe(disk: SmallDisk) -> list[Reply | Responder]:
    """Return the steps of a worker that writes a line a step; in the third, the disk fills up."""

    def third(seen: SeenRequest) -> Reply:
        disk.fill()
        return append(3)

    def append(number: int) -> Reply:
        # A failed write of the model's own command is the model's problem.
        return bash(f"until echo {number} >> lines.txt; do sleep 0.1; done")

    steps: list[Reply | Responder] = [append(number) for number in range(1, LINES + 1)]
    steps[2] = third
    return [*steps, publish("all lines stand")]


def waiting_entities(live_home: LiveHome) -> list[str]:
    rows: list[JsonObject] = live_home.json("ps")
    return [row["address"] for row in rows if row["doing"] == WAITS]


def test_full_disk_stops_no_process_permanently(full_disk_home: LiveHome, disk: SmallDisk) -> None:
    live_home = full_disk_home
    hire, assign, wait, finish = one_worker("ada")
    # A message of the human ends a wait too, so there are two.
    live_home.plays(coordinator=[hire, assign, wait, wait, finish], ada=scribe(disk))
    before: list[JsonObject] = []

    def meanwhile() -> None:
        until(lambda: waiting_entities(live_home), "somebody waits for room")
        before.extend(live_home.json("ps"))
        refused, told = live_home.command("send", "slow", "never"), live_home.command("ps")
        assert (refused.returncode, told.returncode) == (1, 0)
        assert "Traceback" not in refused.stderr
        for said in (refused.stderr, told.stderr, live_home.command("doctor").stdout):
            assert "is full" in said
        disk.free()
        until(lambda: not waiting_entities(live_home), "everybody goes on")
        live_home.json("send", "slow", "there is room")

    outcome = live_home.complete("Write lines", "--name", "slow", meanwhile=meanwhile)
    lines = outcome.published("ada-facts")["lines.txt"].split()
    assert lines == [str(number) for number in range(1, LINES + 1)]
    assert len(outcome.completions()) == 1
    assert outcome.types().count("agent.completed") == 1
    seqs = [event["seq"] for event in outcome.events()]
    assert seqs == list(range(1, len(seqs) + 1))
    heard = Counter(event["data"]["content"] for event in outcome.events("message.sent"))
    assert heard["there is room"] == 1
    assert heard["never"] == 0
    after = {row["address"]: row["incarnation"] for row in live_home.json("ps")}
    ended = [row for row in before if after.get(row["address"], 0) != row["incarnation"]]
    assert not [row for row in ended if "/" not in row["address"]], "no service has ended"
    assert not outcome.events("child.crashed")


def test_run_reports_a_full_disk_and_continues_when_there_is_room(
    full_disk_home: LiveHome, disk: SmallDisk
) -> None:
    live_home, home = full_disk_home, disk.path / "own"
    fill = bash("head -c 30000000 /dev/zero > big")
    live_home.plays(coordinator=one_worker("hal"), hal=[fill, bash("true"), DONE])
    process = live_home.start("run", "x", "--model", "openai/fake", "--home", str(home))
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if "is full" in line:
            break
    [big] = home.glob("agents/*/runs/*/nodes/*/scratch/big")
    big.write_text("small")
    _, rest = process.communicate(timeout=60)
    assert process.wait() == 0, "".join(said) + rest
    assert "the team continues" in rest
    assert not processes_of(home)


def test_full_disk_refuses_a_new_run(full_disk_home: LiveHome, disk: SmallDisk) -> None:
    home = disk.path / "late"
    (home / "system" / "logs").mkdir(parents=True)
    disk.fill()
    try:
        for words in (("run", "x", "--model", "openai/fake"), ("up",)):
            done = full_disk_home.process(*words, "--home", str(home))
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
            assert "no space left on device" in done.stderr.splitlines()[-1].lower()
    finally:
        disk.free()
    assert not processes_of(home)


def test_process_killed_on_a_full_disk_returns_when_there_is_room(
    full_disk_home: LiveHome, disk: SmallDisk
) -> None:
    live_home = full_disk_home
    before = {row["address"]: row for row in live_home.json("ps")}
    killed = ("recorder", "router", "broker")
    disk.fill()
    try:
        for address in killed:
            os.kill(before[address]["pid"], signal.SIGKILL)
        for address in killed:
            until(lambda at=address: not psutil.pid_exists(before[at]["pid"]), f"{address} ended")  # type: ignore[misc]
    finally:
        disk.free()

    def after() -> dict[str, JsonObject]:
        listed = live_home.command("ps", "--json")
        rows = json.loads(listed.stdout) if listed.returncode == 0 else []
        return {row["address"]: row for row in rows}

    for address in killed:
        until(lambda at=address: after().get(at, {}).get("state") == "ready", f"{address} is back")  # type: ignore[misc]
    found = after()
    assert all(found[at]["incarnation"] > before[at]["incarnation"] for at in killed)
    assert found["supervisor"]["pid"] == before["supervisor"]["pid"]
