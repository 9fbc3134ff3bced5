"""Processes with a blocked event loop: detected, their stack logged, killed, restarted."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agiraph.storage.disk_space import WAITS
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import await_gone, until

SERVICES = ("router", "broker", "human")
LONGER_THAN_HUNG = 5.0
LONGER_THAN_THREE_STARTS = 4.0
SETTINGS = """
supervisor:
  beat_seconds: 0.2
  suspect_seconds: 1.5
  hung_seconds: 4
"""


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbedSupervisor]:
    home: Path = tmp_path_factory.mktemp("home")
    (home / "agiraph.yaml").write_text(SETTINGS)
    with running(home) as supervisor:
        yield supervisor


def test_frozen_process_is_killed_and_restarted(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/ada", args={"step": "bash"})
    before = supervisor.await_row("shop/ada", state="ready")
    os.kill(before["pid"], signal.SIGSTOP)
    after = supervisor.await_row("shop/ada", state="ready", incarnation=2)
    assert "hung: its event loop had not turned for" in after["cause"]
    crashed = until(
        lambda: supervisor.events("child.crashed", "shop/ada"), "the report of the crash"
    )
    assert crashed[0]["data"]["why"]["kind"] == "hung"
    assert crashed[0]["data"]["why"]["step"] == "busy: bash"
    assert supervisor.events("entity.suspect", "shop/ada")[0]["data"]["step"] == "busy: bash"


def test_spinning_process_logs_its_stack_and_is_killed(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/bob", args={"spin": True}, intensity=0)
    until(lambda: "in spin" in supervisor.log("shop/bob"), "its stack is in its log")
    row = supervisor.await_row("shop/bob", state="failed")
    assert "within 60 s" in row["cause"]
    told = until(
        lambda: [one for one in supervisor.failures() if one["address"] == "shop/bob"],
        "the notification of the owner",
    )
    assert told[0]["why"]["kind"] == "hung"


def test_recovered_suspect_is_not_killed(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/cleo")
    pid = supervisor.await_row("shop/cleo", state="ready")["pid"]
    os.kill(pid, signal.SIGSTOP)
    until(lambda: supervisor.events("entity.suspect", "shop/cleo"), "it is suspect")
    os.kill(pid, signal.SIGCONT)
    until(lambda: supervisor.events("entity.recovered", "shop/cleo"), "it has recovered")
    assert supervisor.row("shop/cleo")["pid"] == pid


def test_process_waiting_for_disk_space_is_not_killed(supervisor: ProbedSupervisor) -> None:
    room = supervisor.home / "room"
    supervisor.start("shop/eli", args={"room": str(room)})
    pid = supervisor.await_row("shop/eli", state="ready")["pid"]

    def has_waited() -> bool:
        row = supervisor.row("shop/eli")
        is_waiting: bool = row["doing"]["step"] == WAITS
        return is_waiting and time.time() - float(row["doing"]["since"]) > LONGER_THAN_HUNG

    until(has_waited, "it has waited longer than the hang limit")
    room.touch()
    until(lambda: supervisor.row("shop/eli")["doing"]["step"] != WAITS, "the process continues")
    assert supervisor.row("shop/eli")["pid"] == pid
    assert not supervisor.events("entity.suspect", "shop/eli")


def test_a_child_that_is_never_ready_is_given_up_after_three_tries(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("shop/hal", args={"never_ready": True}, ready_within_seconds=0.3)
    row = supervisor.await_row("shop/hal", state="failed")
    assert row["incarnation"] == 3
    assert "not ready within 0.3 s" in row["cause"]


def test_a_start_that_waits_for_room_on_the_disk_is_not_ended(supervisor: ProbedSupervisor) -> None:
    room = supervisor.home / "room to start"
    supervisor.start("shop/fay", args={"room_to_start": str(room)}, ready_within_seconds=0.5)

    def has_waited() -> bool:
        row = supervisor.row("shop/fay")
        is_waiting: bool = row["doing"]["step"] == WAITS
        return is_waiting and time.time() - float(row["doing"]["since"]) > LONGER_THAN_THREE_STARTS

    until(has_waited, "it has waited longer than three starts may take")
    room.touch()
    assert supervisor.await_row("shop/fay", state="ready")["incarnation"] == 1
    assert not supervisor.events("child.crashed", "shop/fay")


def test_only_frozen_services_are_killed(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/dan")
    bystander = supervisor.await_row("shop/dan", state="ready")["pid"]
    frozen = {name: psutil.Process(supervisor.row(name)["pid"]) for name in SERVICES}
    for process in frozen.values():
        process.suspend()
    await_gone([*frozen.values()], "the frozen are killed")

    def are_back() -> bool:
        try:
            rows = {name: supervisor.row(name) for name in SERVICES}
        except (OSError, ValueError, KeyError):
            return False  # the human gateway, or its router, is down
        return all(
            row["state"] == "ready" and row["pid"] != frozen[name].pid for name, row in rows.items()
        )

    until(are_back, "the services are back")
    assert supervisor.row("shop/dan")["pid"] == bystander
