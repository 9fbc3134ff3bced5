"""A real worker on a real host, moved between two of its steps: each step is done once."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.forked import Forked
from tests.fakes.model_server import call, calls
from tests.integration.house import ROOT, until
from tests.scenarios.place import Place, placed
from tests.scenarios.steps import DONE, WAIT, bash, finish_with, held, node


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    settings = {"hosts": {"listen": "tcp://127.0.0.1:0", "lease_seconds": 5}}
    with placed(home, Place, settings) as place:
        yield place


@pytest.fixture
def host(place: Place, tmp_path: Path) -> Iterator[Forked]:
    line = until(lambda: place.json("host", "invite", "--name", "north").get("line"), "invited")
    host = Forked(
        ("--folder", str(tmp_path / "north")),
        cwd=tmp_path,
        env={**place.environ, "PYTHONPATH": str(ROOT), "AGIRAPH_INVITATION": line},
        stderr=os.open(tmp_path / "said", os.O_CREAT | os.O_WRONLY),
        program="actors.host.main:main",
    )
    try:
        yield host
    finally:
        host.send_signal(signal.SIGTERM)
        host.communicate(timeout=30)


def host_of(place: Place, name: str) -> str:
    rows = place.json("ps")
    rows = rows["entities"] if isinstance(rows, dict) else rows
    return str(next((row["host"] for row in rows if f"/{name}-" in row["address"]), "nowhere"))


def test_a_worker_that_is_moved_does_each_step_once(place: Place, host: Forked) -> None:
    first, second = threading.Event(), threading.Event()
    place.plays(
        coordinator=[
            calls(call("spawn_worker", name="ada", host="north")),
            calls(node("ada-facts", "ada")),
            WAIT,
            finish_with("wait"),
        ],
        ada=[
            held(bash("echo one >> facts.md"), first),
            held(bash("echo two >> facts.md"), second),
            DONE,
        ],
    )

    def meanwhile() -> None:
        place.await_step("ada", 0)
        assert host_of(place, "ada") == "north"
        moving = threading.Thread(target=place.json, args=("move", "ada", "home"))
        moving.start()
        first.set()
        place.await_step("ada", 1)
        second.set()
        moving.join()

    outcome = place.complete("Find facts", meanwhile=meanwhile)
    assert outcome.published("ada") == {"facts.md": "one\ntwo\n"}
    moved = outcome.events("child.moved")
    assert [(one["data"]["from"], one["data"]["to"]) for one in moved] == [("north", "home")]
