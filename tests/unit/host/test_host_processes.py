"""HostProcesses: a launch that comes twice, late, or while all is being killed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.host.host_processes import HostProcesses
from actors.runtime.launch import ActorLaunch
from actors.supervisor.processes.launcher import ExecLauncher, SpawnedProcess, SpawnFailed
from actors.supervisor.processes.restarts import ProcessExit
from agiraph.core.concurrency import Signal
from agiraph.core.errors import Refused
from agiraph.core.ids import Address
from agiraph.logs.log import logger
from agiraph.messages.host import ExitedOnHost
from agiraph.storage.home import Home

ADA = Address("shop/ada")


def launch(incarnation: int = 1, kind: str = "worker") -> bytes:
    home = Path("/nowhere")
    return ActorLaunch(ADA, kind, incarnation, b"t", "ipc://home", home, {}, {}).pack()


class HostProcessesHarness:
    """The processes of a host, with sleeping programs in place of actors, and their reports."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launched: list[ActorLaunch] = []
        self.reported: list[ExitedOnHost] = []
        self.may_spawn = asyncio.Event()
        self.may_spawn.set()
        self.changed = Signal()
        kinds = {"worker": "some:main"}
        self.processes = HostProcesses(Home(home), "ipc://relay", {}, kinds, self.report, logger())
        self.processes.reaper.expect()  # so that it kills no child of the test's own process
        self._tasks: list[asyncio.Task[None]] = []
        monkeypatch.setattr(ExecLauncher, "spawn", lambda _, given: self.spawn(given))

    def report(self, exited: ExitedOnHost) -> None:
        self.reported.append(exited)
        self.changed.set()

    async def spawn(self, given: ActorLaunch) -> SpawnedProcess:
        self.launched.append(given)
        await self.may_spawn.wait()
        process = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
        ended: asyncio.Future[ProcessExit] = asyncio.get_running_loop().create_future()

        async def wait() -> None:
            ended.set_result(ProcessExit(signal=-(await process.wait())))

        self._tasks.append(asyncio.create_task(wait()))
        return SpawnedProcess(process.pid, ended)


@pytest.fixture
async def harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HostProcessesHarness]:
    harness = HostProcessesHarness(tmp_path, monkeypatch)
    yield harness
    await harness.processes.kill_all()


async def test_repeated_launch_is_confirmed_and_a_late_one_refused(
    harness: HostProcessesHarness,
) -> None:
    spawn, processes = harness.processes.spawn, harness.processes
    pids = await asyncio.gather(spawn(launch(2)), spawn(launch(2)))
    assert len({*pids}) == len(harness.launched) == 1
    given = harness.launched[0]
    assert (given.router_url, given.entry) == ("ipc://relay", "some:main")
    assert given.home != Path("/nowhere")
    with pytest.raises(Refused, match="shop/ada#1 is over"):
        await spawn(launch(1))
    assert [(row.incarnation, row.pid) for row in processes.rows()] == [(2, pids[0])]
    newer = await spawn(launch(3))
    assert [row.pid for row in processes.rows()] == [newer]
    assert [(end.incarnation, end.signal) for end in harness.reported] == [(2, 9)]


async def test_process_started_during_kill_all_is_killed(harness: HostProcessesHarness) -> None:
    harness.may_spawn.clear()
    spawning = asyncio.create_task(harness.processes.spawn(launch()))
    await asyncio.sleep(0)
    killing = asyncio.create_task(harness.processes.kill_all())
    await asyncio.sleep(0)
    harness.may_spawn.set()
    assert await killing == 1
    await spawning
    assert harness.processes.rows() == ()


async def test_process_killed_during_its_start_ends_at_once(harness: HostProcessesHarness) -> None:
    harness.may_spawn.clear()
    spawning = asyncio.create_task(harness.processes.spawn(launch()))
    await asyncio.sleep(0)
    harness.processes.signal(ADA, 1, 9)
    harness.may_spawn.set()
    await spawning
    await harness.changed.until(lambda: bool(harness.reported))
    assert [(end.incarnation, end.signal) for end in harness.reported] == [(1, 9)]


async def test_end_of_a_process_is_reported_again_on_a_late_signal(
    harness: HostProcessesHarness,
) -> None:
    await harness.processes.spawn(launch())
    harness.processes.signal(ADA, 1, 9)
    harness.processes.signal(ADA, 7, 0)
    await harness.changed.until(lambda: len(harness.reported) == 2)
    harness.processes.signal(ADA, 1, 15)
    await harness.processes.spawn(launch())
    ends = [(end.incarnation, end.signal) for end in harness.reported]
    assert ends == [(7, None), (1, 9), (1, 9), (1, 9)]
    assert len(harness.launched) == 1


async def test_only_workers_are_launched_and_a_failed_launch_can_be_repeated(
    harness: HostProcessesHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused, match="shop/ada is a 'coordinator', which runs on the home's own"):
        await harness.processes.spawn(launch(kind="coordinator"))
    with pytest.raises(Refused, match="cannot be read"):
        await harness.processes.spawn(b"no launch")

    async def fail(_launch: ActorLaunch) -> SpawnedProcess:
        raise SpawnFailed("no room")

    with monkeypatch.context() as patch:
        patch.setattr(ExecLauncher, "spawn", lambda _, given: fail(given))
        with pytest.raises(SpawnFailed, match="no room"):
            await harness.processes.spawn(launch(1))
    assert harness.processes.rows() == ()
    assert await harness.processes.spawn(launch(2))
