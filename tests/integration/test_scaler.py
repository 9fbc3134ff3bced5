"""Hosts that the home starts by itself: one when work waits for it, none when it has ended."""

from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psutil

from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import is_gone, until

SETTINGS = (
    "hosts: {listen: tcp://127.0.0.1:0, lease_seconds: 5, renew_seconds: 1, launcher: local}\n"
    "scaler: {labels: [big], idle_seconds: 0, max_hosts: 2}\n"
)


def hosts(supervisor: ProbedSupervisor) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = supervisor.ask("supervisor", "host.list")["hosts"]
    return table


def want_huge(supervisor: ProbedSupervisor) -> None:
    """Request a worker that no machine can run; the answer comes late or never."""
    with suppress(OSError, ValueError):
        supervisor.start("shop/tom", labels=("huge",))


def test_host_is_started_for_waiting_work_and_stopped_when_idle(tmp_path: Path) -> None:
    (tmp_path / "agiraph.yaml").write_text(SETTINGS)
    with running(tmp_path) as supervisor:
        Thread(target=want_huge, args=(supervisor,), daemon=True).start()
        supervisor.start("shop/ada", labels=("big",))
        ada = supervisor.await_row("shop/ada", state="ready")
        assert ada["host"].startswith("auto-")
        folder = tmp_path / "system" / "machines" / ada["host"]
        assert (folder / "host.json").exists()
        first = psutil.Process(psutil.Process(ada["pid"]).ppid())
        first.kill()
        again = until(
            lambda: (
                (row := supervisor.row("shop/ada"))["state"] == "ready"
                and row["host"] not in ("", ada["host"])
                and row
            ),
            "another host has come in its place",
        )
        second = psutil.Process(psutil.Process(again["pid"]).ppid())
        supervisor.stop_child("shop/ada", "forget")
        until(lambda: not hosts(supervisor), "no host is left")
        until(lambda: is_gone(second), "its process is gone")
        assert supervisor.row("shop/tom")["state"] == "backing_off"
        until(lambda: not folder.exists(), "its folder is gone")
