"""The child monitor, with events in unusual orders."""

import asyncio
import errno
from pathlib import Path

import pytest

from actors.supervisor.child_monitor import ChildMonitor, MonitorHooks
from actors.supervisor.processes.handle import LocalHandle, ProcessFiles
from actors.supervisor.processes.launcher import SpawnedProcess
from actors.supervisor.processes.restarts import ProcessExit, RestartPolicy
from agiraph.core.ids import Address
from agiraph.messages.child import ChildSpec

ADDRESS = Address("shop/ada")
UNUSED_PID = 2**30


class EarlyMailSupervisor:
    """A child monitor whose children receive messages before they are ready.

    If it is quick, they are ready before their launcher tells of them.
    """

    def __init__(self, home: Path, *, is_quick: bool = True) -> None:
        self.home = home
        self.is_quick = is_quick
        self.lives = 0
        self.parked = asyncio.Event()
        self.ended: asyncio.Future[ProcessExit] = asyncio.get_running_loop().create_future()
        hooks = MonitorHooks(
            policy=lambda _monitor: RestartPolicy(
                restart="transient", intensity=5, period_seconds=60
            ),
            place=lambda _spec: "",
            allot=self.allot,
            launch=self.launch,
            ask_to_stop=self.ask_to_stop,
            ended=self.after_end,
            changed=self.changed,
            crashed=lambda _monitor, _why: None,
            broken=self.broken,
        )
        spec = ChildSpec(address=ADDRESS, kind="worker")
        self.monitor = ChildMonitor(spec, hooks)

    def allot(self, address: str) -> int:
        self.lives += 1
        return self.lives

    async def launch(self, spec: ChildSpec, incarnation: int, host: str) -> LocalHandle:
        await self.monitor.wake()  # mail has come while it starts
        if self.is_quick:
            self.monitor.ready(incarnation)
        spawned = SpawnedProcess(pid=UNUSED_PID, ended=self.ended)
        return LocalHandle(spawned, ProcessFiles(self.home, ADDRESS, incarnation))

    async def after_end(self, spec: ChildSpec) -> None:
        pass

    def changed(self, monitor: ChildMonitor, cause: str | None) -> None:
        if monitor.state == "parked":
            self.parked.set()

    def ask_to_stop(self, address: str, after_step: bool) -> bool:
        return False

    def broken(self, address: str, error: BaseException) -> None:
        raise error


async def test_ready_message_before_the_launch_report_counts(
    tmp_path: Path,
) -> None:
    children = EarlyMailSupervisor(tmp_path)
    await children.monitor.start()
    async with asyncio.timeout(5):
        assert await children.monitor.wait_ready()
        assert not children.monitor.was_parked
        children.ended.set_result(ProcessExit(code=77))
        await children.parked.wait()
    assert children.monitor.was_parked
    assert children.monitor.cause is None
    await children.monitor.stop()
    assert not children.monitor.was_parked


@pytest.mark.parametrize("is_quick", [True, False])
async def test_mail_during_the_start_does_not_restart_a_parked_child(
    tmp_path: Path, is_quick: bool
) -> None:
    children = EarlyMailSupervisor(tmp_path, is_quick=is_quick)
    await children.monitor.start()
    children.monitor.ready(1)
    children.ended.set_result(ProcessExit(code=77))
    async with asyncio.timeout(5):
        await children.parked.wait()
    assert children.lives == 1


async def test_mail_during_parking_restarts_the_child(tmp_path: Path) -> None:
    children = EarlyMailSupervisor(tmp_path)
    await children.monitor.start()
    await children.monitor.wake()
    first, children.ended = children.ended, asyncio.get_running_loop().create_future()
    children.ended.set_result(ProcessExit(code=77))
    first.set_result(ProcessExit(code=77))
    async with asyncio.timeout(5):
        await children.parked.wait()
    assert children.lives == 2


async def test_a_stopped_child_has_no_cause_of_an_earlier_crash(tmp_path: Path) -> None:
    class Recording(EarlyMailSupervisor):
        def __init__(self, home: Path) -> None:
            super().__init__(home)
            self.said: list[tuple[str, str | None]] = []
            self.is_back = asyncio.Event()

        def changed(self, monitor: ChildMonitor, cause: str | None) -> None:
            self.said.append((monitor.state, cause))
            if monitor.state == "ready" and self.lives == 2:
                self.is_back.set()

        def ask_to_stop(self, address: str, after_step: bool) -> bool:
            self.ended.set_result(ProcessExit(code=0))
            return True

    children = Recording(tmp_path)
    await children.monitor.start()
    async with asyncio.timeout(5):
        assert await children.monitor.wait_ready()
        first, children.ended = children.ended, asyncio.get_running_loop().create_future()
        first.set_result(ProcessExit(signal=9))
        await children.is_back.wait()
        assert "SIGKILL" in (children.monitor.cause or "")
        await children.monitor.stop()
    assert children.said[-1] == ("stopped", None)


async def test_a_child_waits_until_its_incarnation_can_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.supervisor.child_monitor.LONGEST_WAIT_FOR_ROOM", 0.001)

    class OnFullDisk(EarlyMailSupervisor):
        full_for = 3

        def __init__(self, home: Path) -> None:
            super().__init__(home)
            self.backs_off = asyncio.Event()

        def changed(self, monitor: ChildMonitor, cause: str | None) -> None:
            if monitor.state == "backing_off":
                self.backs_off.set()

        def allot(self, address: str) -> int:
            if self.full_for:
                self.full_for -= 1
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().allot(address)

    children = OnFullDisk(tmp_path)
    await children.monitor.start()
    async with asyncio.timeout(5):
        assert await children.monitor.wait_ready()
    assert children.lives == 1
    assert children.monitor.restarts == 0
    children.ended.set_result(ProcessExit(code=77))

    never = OnFullDisk(tmp_path)
    never.full_for = 10**6
    starting = asyncio.create_task(never.monitor.start())
    await asyncio.wait_for(never.backs_off.wait(), 5)
    assert "no space is left" in (never.monitor.cause or "")
    await never.monitor.stop()
    assert await starting is None
    assert never.lives == 0


async def test_a_start_that_waits_for_the_stop_of_a_forgotten_child_starts_nothing(
    tmp_path: Path,
) -> None:
    monitor = EarlyMailSupervisor(tmp_path).monitor
    async with monitor._order:  # as its stop does
        started = asyncio.ensure_future(monitor.start())
        await asyncio.sleep(0)
        monitor.is_forgotten = True
    async with asyncio.timeout(5):
        assert await started is None
    assert not monitor.is_running
