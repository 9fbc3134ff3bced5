"""Process guard: the small process between a worker and an outside agent, without which nothing is
left.

A bare interpreter (`python -I -S`) runs `main`, so this imports only what costs nothing. The agent
is its child and has the worker's pipes as stdin, stdout and stderr; the warden touches none of
them. What it is for:

- Agents run their tools in sessions of their own, which a signal to a group does not reach, and
  leave them behind when they are killed. The warden is the subreaper of all that descends from it;
  when the agent ends, in whatever way, it kills what is left, and only then ends itself.
- Its lifeline is a pipe that the worker holds. When that ends, the worker is dead, or wants no
  more: agent and all go at once. So a worker's next incarnation never meets the agent of the last.
- A SIGTERM is passed on to the agent, which may then end by itself.

`warden` in the call's folder says who both are before the agent begins, `ended` how it ended.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from types import FrameType

from agiraph.tools.runner import kill_tree, parents, write

START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from agiraph.external import process_guard; process_guard.main()"
)
IDENTITY = "warden"
ENDED = "ended"
NOT_STARTED = 127
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_ROUNDS = 400
KILL_PAUSE_SECONDS = 0.005


def main() -> None:
    """Run `FOLDER LIFELINE COMMAND...`: the numbers are descriptors; exit 0 once all is over."""
    folder, lifeline, *command = sys.argv[2:]
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    read_fd, write_fd = os.pipe()
    woken, wake = os.pipe()
    for fd in (woken, wake):
        os.set_blocking(fd, False)
    pid = os.fork()
    if pid == 0:
        os.close(write_fd)
        _become(command, read_fd)
    os.close(read_fd)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda number, frame: _signal_to(pid, signal.SIGTERM))
    write(os.path.join(folder, IDENTITY), f'{{"pid":{os.getpid()},"agent":{pid}}}\n'.encode())
    _let_go_of_pipes()
    if not select.select([int(lifeline)], [], [], 0)[0]:
        os.write(write_fd, b"!")
    os.close(write_fd)
    code = _see_through(pid, int(lifeline), woken)
    _kill_all_left()
    if code is not None:
        write(os.path.join(folder, ENDED), f'{{"exit_code":{code}}}\n'.encode())


def _become(command: list[str], gate: int) -> None:
    """Turn this forked process into the agent; never returns."""
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if not os.read(gate, 1):
            os._exit(NOT_STARTED)  # the warden or the worker is gone
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _let_go_of_pipes() -> None:
    """Hold none of the agent's pipes: their ends are the agent's."""
    null = os.open(os.devnull, os.O_RDWR)  # plain: /dev/null
    for fd in (0, 1):
        os.dup2(null, fd)


def _see_through(pid: int, lifeline: int, woken: int) -> int | None:
    """Wait for the agent's end and return its exit code, None if the worker wanted its end."""
    watched = [woken, lifeline]
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        ready = select.select(watched, [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            _reap(but=pid)
        if lifeline in ready:
            kill_tree(pid)
            os.waitpid(pid, 0)
            return None


def _reap(but: int) -> None:
    """Let the zombies of adopted processes go; the agent's own end is looked at elsewhere."""
    for child in _children():
        if child != but:
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                pass


def _kill_all_left() -> None:
    """Kill whatever descends from us, until there is no one."""
    for _ in range(KILL_ROUNDS):
        for child in _children():
            kill_tree(child)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(KILL_PAUSE_SECONDS)


def _children() -> list[int]:
    own = os.getpid()
    return [child for child, parent in parents().items() if parent == own]


def _signal_to(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _nothing(number: int, frame: FrameType | None) -> None:
    """Let the signal wake us up, no more."""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
