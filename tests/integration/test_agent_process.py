"""An external agent's process and its guard: its exit code is known, and nothing of it is left."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from actors.runtime.processes import is_alive
from actors.worker.external.process import ExternalAgentProcess, forget, until_gone
from tests.integration.waiting import until

BODY = """
import os, subprocess, sys, time
tail = subprocess.Popen(["tail", "-f", "/dev/null"], start_new_session=True, stdout=-3)
print(os.getpid(), tail.pid, flush=True)
print("out of paper", file=sys.stderr, flush=True)
{}
"""
WAITS = "time.sleep(600)"
Use = Callable[[ExternalAgentProcess, list[psutil.Process]], Awaitable[None]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans come to us on Linux only")


def run(folder: Path, last: str, use: Use) -> list[psutil.Process]:
    """Start an agent that starts something in a session of its own; return all it was.

    Its stand-in is there as long as the agent.
    """
    standin = folder / "stand-in"

    async def main() -> list[psutil.Process]:
        process = await ExternalAgentProcess.start(
            [sys.executable, "-c", BODY.format(last)],
            environment={"PATH": os.defpath},
            cwd=folder,
            folder=folder / ".process_guard",
            opening=b"",
            keeps_stdin_open=True,
            standins=(str(standin),),
        )
        try:
            everyone = [psutil.Process(int(pid)) for pid in (await process.read()).split()]
            assert process.pid == everyone[0].pid
            assert standin.is_dir()
            await use(process, everyone)
        finally:
            await process.stop(0.1)
        assert not standin.exists()
        return everyone

    return asyncio.run(main())


def guard_of(agent: psutil.Process) -> psutil.Process:
    parent = agent.parent()
    assert parent is not None
    return parent


def await_exit(everyone: list[psutil.Process]) -> None:
    until(lambda: not any(map(is_alive, everyone)), "nothing is left")


@pytest.mark.parametrize(("last", "code"), [("sys.exit(3)", 3), ("os.abort()", -signal.SIGABRT)])
def test_exit_code_is_reported_and_descendants_are_killed(
    tmp_path: Path, last: str, code: int
) -> None:
    async def use(process: ExternalAgentProcess, everyone: list[psutil.Process]) -> None:
        process.write(b".")
        assert await process.ended() == code
        assert process.stderr.strip() == "out of paper"
        await_exit(everyone)

    run(tmp_path, f"os.read(0, 1); {last}", use)


def test_stop_ends_all_processes_even_paused_ones(tmp_path: Path) -> None:
    async def use(process: ExternalAgentProcess, everyone: list[psutil.Process]) -> None:
        process.pause()
        assert process.is_paused
        until(lambda: {o.status() for o in everyone} == {psutil.STATUS_STOPPED}, "all are paused")

    await_exit(run(tmp_path, WAITS, use))


def test_agent_dies_with_its_guard(tmp_path: Path) -> None:
    async def use(process: ExternalAgentProcess, everyone: list[psutil.Process]) -> None:
        [agent, tail] = everyone
        guard_of(agent).kill()
        assert await process.ended() == -signal.SIGKILL
        await_exit([agent])
        assert is_alive(tail)

    await_exit(run(tmp_path, WAITS, use))


def test_next_incarnation_waits_for_the_end_of_the_earlier_process(tmp_path: Path) -> None:
    async def use(process: ExternalAgentProcess, everyone: list[psutil.Process]) -> None:
        guard = guard_of(everyone[0])
        guard.suspend()  # and so does not see that its worker is dead
        forget(tmp_path / ".process_guard")
        await_exit([*everyone, guard])
        await until_gone(tmp_path / ".process_guard")
        assert not (tmp_path / ".process_guard").exists()

    run(tmp_path, WAITS, use)
