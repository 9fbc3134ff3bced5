"""Interpreters that were started ahead: each serves one launch, and one that died is seen."""

import asyncio
import os
import signal
from pathlib import Path

from actors.supervisor.interpreters import start_actor
from actors.supervisor.launcher import ExecLauncher
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
