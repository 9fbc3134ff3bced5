"""Commands that would use up the machine: bombs of memory and of processes, with the real bash.

The bombs are bounded, so that a limit that does not hold costs the test and not the machine.
"""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.tools.sandbox.probe import probe
from tests.unit.tools.entity_tools import EntityTools

FOUND = probe()
SANDBOXED = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of the Linux kernel")

FORKS = """
bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & fi; exec sleep MARK; }; bomb 8
"""
ORPHANS = """
bomb() {
    if [ $1 -gt 0 ]; then
        (setsid bash -c "bomb $(($1-1))" &); (setsid bash -c "bomb $(($1-1))" &)
    fi
    exec sleep MARK
}; export -f bomb; bomb 8
"""
THREADS = """
{} -c 'import threading, time
for _ in range(150): threading.Thread(target=time.sleep, args=(MARK,)).start()'
"""
MEMORY = """
for n in $(seq 8); do
    (kept=$(head -c 60M /dev/zero | tr '\\0' x); sleep MARK) &
done; wait
"""
SHARED = """
{} -c 'import os, time; kept = b"x" * (100 << 20)
for _ in "abcde": os.fork() or exit(time.sleep(0.5))
[os.wait() for _ in "abcde"]; print("fine")' MARK
"""
FILES = "head -c 600M /dev/zero > {}/x; sleep MARK"
OF_TASKS = "[killed with all it started: the command had more than 100 processes and threads]"
OF_MEMORY = "[killed with all it started: the command used more than 256 MB of memory"


@pytest.fixture(params=["none", pytest.param("bwrap", marks=SANDBOXED)])
def entity(request: pytest.FixtureRequest, tmp_path: Path) -> EntityTools:
    entity = EntityTools(tmp_path)
    entity.environment = {"PATH": f"{os.path.dirname(sys.executable)}:{os.defpath}"}
    entity.limited("sandbox", mode=request.param)
    entity.limited("shell", processes=100, total_memory_mb=256)
    return entity


def filled(command: str, mark: str) -> str:
    return command.replace("{}", sys.executable).replace("MARK", mark)


def of_mark(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(mark in word for word in process.info["cmdline"] or ())
        and process.status() != psutil.STATUS_ZOMBIE
    ]


async def runs(entity: EntityTools, command: str, mark: str) -> str:
    """Run a command while another is run again and again; nothing of it is left."""
    bomb = asyncio.create_task(entity.call_as("bomb", "bash", command=filled(command, mark)))
    number = 0
    while not bomb.done():
        beside = await entity.call_as(f"call-{number}", "bash", command="echo here")
        assert beside.content == "here\n[exit code 0]"
        number += 1
    _, alive = psutil.wait_procs(of_mark(mark), timeout=5)
    assert not alive
    return (await bomb).content


@pytest.mark.parametrize("bomb", [FORKS, ORPHANS, THREADS], ids=["forks", "orphans", "threads"])
async def test_too_many_processes_are_killed_and_the_model_reads_why(
    entity: EntityTools, bomb: str
) -> None:
    content = await runs(entity, bomb, f"86397.{os.getpid()}")
    assert content.endswith(f"{OF_TASKS}\n[killed by signal 9]")


async def test_memory_of_many_processes_is_limited_together(entity: EntityTools) -> None:
    content = await runs(entity, MEMORY, f"86396.{os.getpid()}")
    assert OF_MEMORY in content
    assert content.endswith("[killed by signal 9]")


async def test_memory_that_processes_share_counts_once(entity: EntityTools) -> None:
    assert await runs(entity, SHARED, f"86394.{os.getpid()}") == "fine\n[exit code 0]"


@SANDBOXED
@pytest.mark.parametrize("folder", ["/dev/shm", "/home"])
async def test_files_in_the_sandboxs_memory_count(entity: EntityTools, folder: str) -> None:
    entity.limited("sandbox", mode="bwrap")
    command = (
        FILES.replace("{}", folder)
        if folder != "/home"
        else "mkdir -p /home/x; " + (FILES.replace("{}", "/home/x"))
    )
    assert OF_MEMORY in await runs(entity, command, f"86395.{os.getpid()}")


async def test_the_kernel_kills_a_command_before_anything_else(entity: EntityTools) -> None:
    command = "cat /proc/self/oom_score_adj # MARK"
    assert await runs(entity, command, f"86393.{os.getpid()}") == "1000\n[exit code 0]"


async def test_zero_means_no_limit(entity: EntityTools) -> None:
    entity.limited("shell", processes=0, total_memory_mb=0)
    command = f"""{sys.executable} -c 'kept = b"x" * (300 << 20); print("fine")' MARK"""
    assert await runs(entity, command, f"86392.{os.getpid()}") == "fine\n[exit code 0]"
