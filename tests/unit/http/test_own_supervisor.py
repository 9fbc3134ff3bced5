"""The supervisor of one's own: its start, its failures, and that nothing of it is left."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.http import own_supervisor
from agiraph.http.own_supervisor import OwnSupervisor, SupervisorFailed, supervisor_command
from cli.interrupts import signals_interrupt

READY = "print('agiraph-supervisor ready: home x, API y', flush=True)"


def supervisor(tmp_path: Path, program: str) -> OwnSupervisor:
    return OwnSupervisor(tmp_path, [sys.executable, "-c", program])


def test_supervisor_command_does_not_import_from_the_current_folder(tmp_path: Path) -> None:
    assert supervisor_command(tmp_path)[1:] == [
        "-P", "-m", "agiraph", "_run_supervisor", "--home", str(tmp_path), "--until-unused",
    ]  # fmt: skip


def test_supervisor_ends_when_its_input_closes(tmp_path: Path) -> None:
    own = supervisor(tmp_path, f"import sys; {READY}; sys.stdin.read()")
    own.start()
    pid = own.pid
    assert pid is not None
    assert not own.has_ended()
    own.stop()
    assert not psutil.pid_exists(pid)


def test_supervisor_that_exits_at_once_is_reported_with_its_output(tmp_path: Path) -> None:
    own = supervisor(tmp_path, "import sys; sys.exit('home x is held by supervisor pid 7')")
    with pytest.raises(SupervisorFailed, match=r"exit code 1.*held by supervisor pid 7"):
        own.start()


def test_killed_supervisor_is_reported_with_its_signal(tmp_path: Path) -> None:
    own = supervisor(tmp_path, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(SupervisorFailed, match="killed by SIGKILL"):
        own.start()


def test_supervisor_that_never_gets_ready_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_supervisor, "TERMINATE_WITHIN_SECONDS", 0.2)
    before = {child.pid for child in psutil.Process().children()}
    own = supervisor(tmp_path, "import signal\nwhile True: signal.pause()")
    with pytest.raises(SupervisorFailed, match="was not ready in time"):
        own.start(within_seconds=0.3)
    assert {child.pid for child in psutil.Process().children()} <= before


def test_supervisor_with_an_abandoned_start_is_killed(tmp_path: Path) -> None:
    def give_up() -> None:
        raise InterruptedError

    own = supervisor(tmp_path, "import signal\nwhile True: signal.pause()")
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(InterruptedError):
        own.start(meanwhile=give_up)
    assert {child.pid for child in psutil.Process().children()} <= before


def test_supervisor_that_ignores_signals_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_supervisor, "TERMINATE_WITHIN_SECONDS", 0.2)
    child_file = tmp_path / "child"
    own = supervisor(
        tmp_path,
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'],"
        " start_new_session=True)\n"
        f"open({str(child_file)!r}, 'w').write(str(child.pid))\n"
        f"{READY}\n"
        "while True: signal.pause()\n",
    )
    own.start()
    child = psutil.Process(int(child_file.read_text()))
    own.stop(within_seconds=0.1)
    assert child.wait(10) is not False
    assert not child.is_running()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_signal_raises_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), signals_interrupt():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_a_hangup_that_is_ignored_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
