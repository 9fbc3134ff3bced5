"""Interpreters started in advance: each serves one launch, and a dead one is noticed."""

import asyncio
import os
import signal
from pathlib import Path

from actors.supervisor.processes.interpreters import start_actor
from actors.supervisor.processes.launcher import ExecLauncher, environment_of
from actors.supervisor.processes.reaper import Reaper
from actors.supervisor.processes.restarts import ProcessExit
from tests.fakes.launches import launch_of


async def test_process_killed_before_its_launch_is_reported_as_ended(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "router.log"
    waiting = start_actor(dict(os.environ), log, kind="router")
    os.kill(waiting.pid, signal.SIGKILL)
    reaper = Reaper()
    reaper.listen()
    launcher = ExecLauncher(reaper, dict(os.environ))
    launcher.adopt("router", waiting)
    reaper.reap()
    spawned = await launcher.spawn(launch_of(tmp_path))
    assert spawned.pid == waiting.pid
    async with asyncio.timeout(10):
        assert await spawned.ended == ProcessExit(signal=signal.SIGKILL)


def test_process_without_a_launch_ends_with_its_pipe(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "broker.log"
    waiting = start_actor(dict(os.environ), log, kind="broker")
    os.close(waiting.pipe)
    _, status = os.waitpid(waiting.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 71
    assert log.read_text() == ""


def test_only_the_broker_gets_the_variables_of_own_providers(tmp_path: Path) -> None:
    environ = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "k",
        "FARM": "k",
        "LAB": "k",
        "AT": "x",
        "ELSE": "x",
    }
    broker, router = launch_of(tmp_path, "broker"), launch_of(tmp_path)
    assert environment_of(broker, environ).keys() == {"PATH", "OPENAI_API_KEY"}
    table = "farm: {key_env: [FARM, LAB, UNSET]}\nlab: {base_url_env: AT}\nopenai:\n"
    (tmp_path / "providers.yaml").write_text(table)
    assert environment_of(broker, environ).keys() == environ.keys() - {"ELSE"}
    assert environment_of(router, environ).keys() == {"PATH"}
    (tmp_path / "providers.yaml").write_text("- damaged: [")
    assert environment_of(broker, environ).keys() == {"PATH", "OPENAI_API_KEY"}
