"""Process guard: the small parent process of an external agent, which kills its leftovers.

A bare interpreter (`python -I -S`) runs `main`, so imports must be cheap. The agent is a child of
the guard and has the worker's pipes as stdin, stdout and stderr; the guard uses none of them.

- Agents run their tools in separate sessions, which a signal to a group does not reach, and leave
  them running when they are killed. The guard is the subreaper of all descendants; when the agent
  ends for any reason, it kills the remaining processes before it exits.
- Its lifeline is a pipe to the worker. When it is closed, the worker is dead or wants the end: the
  guard kills agent and descendants immediately. So a restarted worker never meets the agent of its
  predecessor.
- A SIGTERM is passed on to the agent, which can then end by itself.

The file `process_guard` in its folder identifies both processes before the agent begins; the file
`ended` contains the exit code of the agent.
"""

import ctypes
import os
import resource
import select
import signal
import sys

from agiraph.tools.command_tree import make_expendable
from agiraph.tools.runner import identity_of, kill_children, kill_tree, parents, signal_to, write
from agiraph.tools.sandbox.standin import StandIns

START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from agiraph.external import process_guard; process_guard.main()"
)
IDENTITY = "process_guard"
ENDED = "ended"
NOT_STARTED = 127
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Run `FOLDER LIFELINE COUNT [STAND_IN ...] COMMAND...`; the lifeline is a descriptor.

    `COUNT` is the number of stand-ins (`sandbox/standin.py`). Exits with 0 at the end.
    """
    folder, lifeline, count, *rest = sys.argv[2:]
    standins, command = rest[: int(count)], rest[int(count) :]
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
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # wakes `select` up
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda number, frame: signal_to(pid, signal.SIGTERM))
    write(os.path.join(folder, IDENTITY), identity_of("agent", pid, standins))
    held = StandIns(standins)
    os.write(2, held.problem.encode("utf-8", "replace"))
    _release_pipes()
    if held.is_complete and not select.select([int(lifeline)], [], [], 0)[0]:
        os.write(write_fd, b"!")
    os.close(write_fd)
    code = _wait_for(pid, int(lifeline), woken)
    held.release(is_over=kill_children())
    if code is not None:
        write(os.path.join(folder, ENDED), f'{{"exit_code":{code}}}\n'.encode())


def _become(command: list[str], gate: int) -> None:
    """Replace this forked process by the agent's program, when `gate` permits; never returns."""
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if not os.read(gate, 1):
            os._exit(NOT_STARTED)  # the guard or the worker has died
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        make_expendable()
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _release_pipes() -> None:
    """Replace the guard's stdin and stdout, the agent's pipes, by /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)  # plain: /dev/null
    for fd in (0, 1):
        os.dup2(null, fd)


def _wait_for(pid: int, lifeline: int, woken: int) -> int | None:
    """Return the agent's exit code when it has ended, None if the lifeline was closed first."""
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
    """Wait for ended processes that the guard has adopted, except the agent (`but`)."""
    for child in _children():
        if child != but:
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                pass


def _children() -> list[int]:
    own = os.getpid()
    return [child for child, parent in parents().items() if parent == own]


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
