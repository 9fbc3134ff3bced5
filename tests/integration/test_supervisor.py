"""The supervisor with real processes: start, exit, restart, and permission to request them."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from actors.runtime.kinds import KINDS
from actors.supervisor.main import command
from tests.integration.conftest import KEYS, OTHER_SECRETS
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import is_gone, until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs the subreaper of Linux")


def test_ready_supervisor_has_services_that_accept_messages(supervisor: ProbedSupervisor) -> None:
    assert supervisor.said == f"agiraph-supervisor ready: home {supervisor.home}, API none\n"
    for service in ("router", "recorder", "broker", "human"):
        assert supervisor.row(service)["state"] == "ready"
    assert supervisor.row("supervisor")["pid"] == supervisor.process.pid


def test_folders_and_lock_are_private(supervisor: ProbedSupervisor) -> None:
    for folder in ("system", "human", "agents", "system/logs", "system/run"):
        assert stat.S_IMODE((supervisor.home / folder).stat().st_mode) == 0o700
    assert stat.S_IMODE((supervisor.home / "system/lock").stat().st_mode) == 0o600


def test_a_second_supervisor_on_the_same_home_is_refused(supervisor: ProbedSupervisor) -> None:
    second = ProbedSupervisor(supervisor.home)
    _, errors = second.process.communicate(timeout=30)
    assert second.process.returncode == 1
    assert errors == f"home {supervisor.home} is held by supervisor pid {supervisor.process.pid}\n"


def test_child_is_a_session_leader_below_the_supervisor(
    supervisor: ProbedSupervisor,
) -> None:
    started = supervisor.start("shop/ada")
    assert (started["type"], started["incarnation"]) == ("child.started", 1)
    supervisor.await_row("shop/ada", state="ready")
    born = supervisor.births("shop/ada")[0]
    assert born["session"] == born["pid"]
    assert born["parent"] == supervisor.process.pid
    assert "ticket" not in born["arguments"]


def test_start_of_a_running_child_is_confirmed(supervisor: ProbedSupervisor) -> None:
    first = supervisor.start("shop/bob")
    again = supervisor.start("shop/bob")
    assert again == first
    assert supervisor.row("shop/bob")["restarts"] == 0


def test_killed_child_is_restarted_as_the_next_incarnation(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/cleo")
    before = supervisor.await_row("shop/cleo", state="ready")
    os.kill(before["pid"], signal.SIGKILL)
    after = supervisor.await_row("shop/cleo", state="ready", incarnation=2)
    assert after["pid"] != before["pid"]
    assert after["restarts"] == 1
    assert after["cause"] == "killed by SIGKILL"


def test_every_service_is_restarted_without_affecting_others(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/dan")
    bystander = supervisor.await_row("shop/dan", state="ready")
    for service in ("recorder", "broker", "router", "human"):
        before = supervisor.row(service)
        os.kill(before["pid"], signal.SIGKILL)

        def is_back(service: str = service, old: int = before["pid"]) -> bool:
            try:
                row = supervisor.row(service)
            except (OSError, ValueError, KeyError):
                return False  # the human gateway, or its router, is down
            return bool(row["state"] == "ready" and row["pid"] != old)

        until(is_back, f"{service} is back")
    after = supervisor.row("shop/dan")
    assert (after["pid"], after["incarnation"]) == (bystander["pid"], bystander["incarnation"])
    assert supervisor.start("shop/dora")["type"] == "child.started"


def test_transient_child_that_exits_cleanly_is_not_restarted(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/eve", args={"end_after_ready": True})
    row = supervisor.await_row("shop/eve", state="exited")
    assert (row["incarnation"], row["pid"]) == (1, None)


def test_permanent_child_that_exits_cleanly_is_restarted(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/fay", restart="permanent", args={"end_after_ready": True}, intensity=2)
    supervisor.await_row("shop/fay", state="failed", incarnation=3)


def test_child_with_too_many_crashes_is_given_up_and_its_owner_notified(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("shop/gus", args={"crash_after_ready": True}, intensity=2)
    row = supervisor.await_row("shop/gus", state="failed")
    assert (row["incarnation"], row["restarts"]) == (3, 2)
    told = until(
        lambda: [one for one in supervisor.failures() if one["address"] == "shop/gus"],
        "the notification of the owner",
    )
    assert len(told) == 1
    assert "the probe crashes as it was told" in told[0]["cause"]
    assert "3 times within 60 s" in told[0]["cause"]


def test_a_child_that_refuses_its_settings_is_not_tried_again_unless_by_order(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("shop/ike", args={"exit_code": 64})
    assert supervisor.await_row("shop/ike", state="failed")["incarnation"] == 1
    supervisor.start("shop/ike", args={})
    assert supervisor.await_row("shop/ike", state="ready")["incarnation"] == 2


def test_stopped_child_stays_down_until_it_is_restarted(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/kim")
    supervisor.await_row("shop/kim", state="ready")
    assert supervisor.stop_child("shop/kim")["state"] == "stopped"
    assert supervisor.row("shop/kim")["pid"] is None
    supervisor.stop_child("shop/kim", "restart")
    assert supervisor.await_row("shop/kim", state="ready")["incarnation"] == 2


def test_child_killed_by_order_is_restarted(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/leo", intensity=0)
    supervisor.await_row("shop/leo", state="ready")
    supervisor.stop_child("shop/leo", "kill")
    supervisor.await_row("shop/leo", state="ready", incarnation=2)


def test_a_forgotten_address_is_free_but_its_incarnations_are_not(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("shop/mia")
    supervisor.await_row("shop/mia", state="ready")
    assert supervisor.stop_child("shop/mia", "forget")["state"] == "stopped"
    answer = supervisor.stop_child("shop/mia")
    assert answer["type"] == "control.refused"
    assert supervisor.start("shop/mia")["incarnation"] == 2


def test_kills_from_outside_never_give_a_child_up(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/ola", intensity=1)
    for incarnation in range(1, 6):
        row = supervisor.await_row("shop/ola", state="ready", incarnation=incarnation)
        os.kill(row["pid"], signal.SIGKILL)
    assert supervisor.await_row("shop/ola", state="ready", incarnation=6)["restarts"] == 5


def test_service_beyond_its_intensity_backs_off_and_is_restarted(
    tmp_path: Path,
) -> None:
    (tmp_path / "agiraph.yaml").write_text(
        "supervisor: {intensity: 1, first_backoff_seconds: 0.6}\n"
    )
    with running(tmp_path) as supervisor:
        supervisor.start("shop/ada")
        for incarnation in range(1, 4):
            row = supervisor.await_row("clock", state="ready", incarnation=incarnation)
            os.kill(row["pid"], signal.SIGSEGV)
        row = supervisor.await_row("clock", state="backing_off")
        assert row["cause"].startswith("killed by SIGSEGV")
        assert row["next_start"] > time.time() - 1
        assert supervisor.await_row("clock", state="ready", incarnation=4)["restarts"] == 3
        until(lambda: len(supervisor.events("service.recovered", "clock")) == 2, "the report")
        told = [one["data"] for one in supervisor.events("service.backing_off", "clock")]
        assert [round(one["seconds"] / 0.6) for one in told] == [1, 2]
        assert all("killed by SIGSEGV" in one["cause"] for one in told)
        for restarts in range(2):
            row = supervisor.await_row("spawner", state="ready", restarts=restarts)
            os.kill(row["pid"], signal.SIGSEGV)
        supervisor.await_row("spawner", state="backing_off")
        supervisor.await_row("spawner", state="ready", restarts=2)


def test_a_hanging_child_is_stopped_too(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/ned", args={"ignore_stop": True}, shutdown_seconds=0.2)
    process = psutil.Process(supervisor.await_row("shop/ned", state="ready")["pid"])
    assert supervisor.stop_child("shop/ned")["state"] == "stopped"
    assert is_gone(process)


@pytest.mark.parametrize(
    ("address", "kind", "reason"),
    [
        ("shop/x", "router", "unknown kind of process to start 'router'"),
        ("shop/x", "nonsense", "unknown kind of process to start 'nonsense'"),
        ("broker", "worker", "'broker' is no address of an agent's child"),
        ("../x", "worker", "no address"),
        ("shop/../x", "worker", "no address"),
        ("shop/.x", "worker", "no address"),
        ("shop/x y", "worker", "no address"),
    ],
)
def test_malformed_requests_are_refused(
    supervisor: ProbedSupervisor, address: str, kind: str, reason: str
) -> None:
    answer = supervisor.start(address, kind=kind)
    assert answer["type"] == "control.refused"
    assert reason in answer["reason"]


def test_services_cannot_be_stopped_by_message(supervisor: ProbedSupervisor) -> None:
    assert supervisor.stop_child("broker")["type"] == "control.refused"


def test_a_console_gets_a_ticket_of_its_own(supervisor: ProbedSupervisor) -> None:
    first, second = (supervisor.ask("supervisor", "child.attach") for _ in range(2))
    assert first["type"] == "child.ticket"
    assert first["address"] != second["address"]
    assert first["router_url"].startswith("ipc://")


def test_keys_reach_the_broker_alone(supervisor: ProbedSupervisor) -> None:
    supervisor.start("shop/pia")
    supervisor.await_row("shop/pia", state="ready")
    broker = supervisor.births("broker")[0]["environ"]
    assert {name: broker[name] for name in KEYS} == KEYS
    assert not set(OTHER_SECRETS) & set(broker)
    for other in ("recorder", "human", "shop/pia"):
        assert not {*KEYS, *OTHER_SECRETS} & set(supervisor.births(other)[0]["environ"])


@linux_only
def test_spawner_is_restarted_without_long_delays(
    supervisor: ProbedSupervisor,
) -> None:
    spawner = supervisor.row("spawner")["pid"]
    os.kill(spawner, signal.SIGKILL)
    supervisor.start("shop/quin")
    supervisor.await_row("shop/quin", state="ready", incarnation=1)
    until(lambda: _pid(supervisor, "spawner") not in (None, spawner), "another spawner")
    supervisor.start("shop/rae")
    supervisor.await_row("shop/rae", state="ready", incarnation=1)


def _pid(supervisor: ProbedSupervisor, address: str) -> int | None:
    rows = supervisor.ask("supervisor", "child.list")["children"]
    return next((row["pid"] for row in rows if row["address"] == address), None)


def refused(*options: str) -> Result:
    """Run the command with options that it refuses."""
    return CliRunner().invoke(command, options, obj=(KINDS, None))


def test_a_service_that_cannot_start_ends_the_supervisor(tmp_path: Path) -> None:
    (tmp_path / "system/mailboxes.db").mkdir(mode=0o700, parents=True)
    supervisor = ProbedSupervisor(tmp_path)
    _, errors = supervisor.process.communicate(timeout=60)
    assert supervisor.process.returncode == 70
    assert "gave up" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("supervisor:\n  launch: rocket\n", "agiraph.yaml:2: supervisor.launch"),
        ("supervisr:\n  launch: fork\n", "agiraph.yaml:1: unknown key 'supervisr'"),
        ("a: [\n", "agiraph.yaml:2: is not YAML"),
    ],
)
def test_invalid_setting_is_refused_with_its_place(
    tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "agiraph.yaml").write_text(text)
    done = refused("--home", str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_invalid_option_is_refused(tmp_path: Path) -> None:
    done = refused("--home", str(tmp_path), "--http", "nowhere")
    assert done.exit_code == 2
    assert "'nowhere' is not HOST:PORT" in done.stderr
