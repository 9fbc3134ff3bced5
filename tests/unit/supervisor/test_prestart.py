"""Interpreters that were started ahead: each serves one launch, and one that died is seen."""

import asyncio
import os
import signal
from pathlib import Path

from actors.supervisor.interpreters import WaitingInterpreter, start_actor
from actors.supervisor.launcher import ExecLauncher, environment_of
from actors.supervisor.reaper import Reaper
from actors.supervisor.restarts import ProcessExit
from tests.fakes.launches import launch_of


async def test_one_that_died_before_its_launch_is_known_to_have_ended(tmp_path: Path) -> None:
    waiting = start_actor(("router",), dict(os.environ), tmp_path / "logs" / "router.log")
    os.kill(waiting.pid, signal.SIGKILL)
    reaper = Reaper()
    reaper.listen()
    launcher = ExecLauncher(reaper, dict(os.environ))
    launcher.adopt("router", waiting)
    reaper.reap()
    assert launcher.is_waiting("router")
    spawned = await launcher.spawn(launch_of(tmp_path))
    assert spawned.pid == waiting.pid
    assert not launcher.is_waiting("router")
    async with asyncio.timeout(10):
        assert await spawned.ended == ProcessExit(signal=signal.SIGKILL)


def test_one_whose_launch_never_comes_ends_with_its_descriptor(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "broker.log"
    waiting = start_actor(("broker", "script/survey"), dict(os.environ), log)
    os.close(waiting.pipe)
    _, status = os.waitpid(waiting.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 71
    assert log.read_text() == ""


def test_one_that_lacks_what_only_the_home_names_is_not_used(tmp_path: Path) -> None:
    environ = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "k",
        "FARM": "k",
        "LAB": "k",
        "AT": "x",
        "ELSE": "x",
    }
    launcher = ExecLauncher(Reaper(), environ)
    waiting = WaitingInterpreter(1, 1, frozenset({"PATH", "OPENAI_API_KEY", "HOME"}))
    broker, router = launch_of(tmp_path, "broker"), launch_of(tmp_path)
    assert launcher._has_all(waiting, broker)
    assert not launcher._has_all(waiting._replace(variables=frozenset({"PATH"})), broker)
    table = "farm: {key_env: [FARM, LAB, UNSET]}\nlab: {base_url_env: AT}\nopenai:\n"
    (tmp_path / "providers.yaml").write_text(table)
    assert not launcher._has_all(waiting, broker)
    assert launcher._has_all(waiting, router)
    assert environment_of(broker, environ).keys() == environ.keys() - {"ELSE"}
    assert environment_of(router, environ).keys() == {"PATH"}
    (tmp_path / "providers.yaml").write_text("- damaged: [")
    assert launcher._has_all(waiting, broker), "the broker itself says what is wrong"
