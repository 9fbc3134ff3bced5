"""Starting as an actor: own session, title, log and environment; then the actor's entry.

Both launchers end here: `fork` in a grandchild of the spawner, `exec` in a fresh interpreter.
"""

import faulthandler
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from actors.runtime.environment import KEY_HOLDERS, holds_secrets, naming_settings
from actors.runtime.kinds import entry_named, resolve
from actors.runtime.launch import ActorLaunch
from actors.runtime.linux import adopt_orphans, die_with_parent, hide_environment
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import make_folder, move, open_file, status_of
from agiraph.storage.home import Home

EXIT_CRASHED = 1
EXIT_NO_SPACE = 74
EXIT_ORPHAN = 71
LOG_LIMIT = 8 * 1024 * 1024
SUBREAPERS = frozenset({"worker", "coordinator", "tools"})
LAUNCH_FD = 3


def title_of(kind: str, address: str) -> str:
    """Return the title for `ps`: kind and name, or the kind alone for a service."""
    agent, slash, name = address.partition("/")
    if not slash or agent == "tools":
        return f"agiraph: {address}"
    return f"agiraph: {kind} {agent if name == kind else name}"


def setup_child(launch: ActorLaunch, supervisor_pid: int, lifeline: int | None = None) -> None:
    """Set up this process as `launch` describes; exits if the supervisor has ended.

    `lifeline` is a pipe that the supervisor keeps open: on systems whose kernel does not kill
    orphans, its end means that the supervisor is dead.
    """
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.umask(0o077)
    _reset_signals()
    redirect_output(Home(launch.home).system.errors(launch.address))
    set_title(title_of(launch.kind, launch.address))
    if not die_with_parent() and lifeline is not None:
        threading.Thread(target=_die_at_end_of, args=(lifeline,), daemon=True).start()
    if os.getppid() != supervisor_pid:
        os._exit(EXIT_ORPHAN)
    if launch.kind in SUBREAPERS:
        adopt_orphans()
    naming = naming_settings(launch.kind, launch.address, launch.config)
    if launch.kind in KEY_HOLDERS or holds_secrets(launch.kind, naming):
        hide_environment()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)


def run(launch: ActorLaunch) -> int:
    """Run the actor's entry; return its exit code, 1 with a traceback if it raised."""
    try:
        entry = resolve(launch.entry or entry_named(launch.kind))
        gc.freeze()  # the imported modules stay
        gc.enable()
        return entry(launch)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_CRASHED
    except BaseException as error:
        return exit_code_of(error)


def exit_code_of(error: BaseException) -> int:
    """Print the traceback of a fatal error, if there is room, and return the exit code."""
    with suppress(OSError):
        traceback.print_exception(error)
    return EXIT_NO_SPACE if is_full_disk(error) else EXIT_CRASHED


def exit_now(code: int) -> None:
    """Exit at once, without exit hooks or threads inherited from the spawner."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def exec_main(words: Sequence[str] = (), launch_fd: int = LAUNCH_FD) -> None:
    """Entry of a fresh interpreter: read the launch from an inherited pipe and run it.

    `words`, if any, are the kind of actor that it will be: the modules of that kind are imported
    before its launch arrives.
    """
    if words:
        resolve(entry_named(words[0]))
    supervisor_pid, launch = read_launch(launch_fd)
    try:
        setup_child(launch, supervisor_pid, launch_fd)
    except OSError as error:
        exit_now(exit_code_of(error))
    exit_now(run(launch))


def forked_main(launch: ActorLaunch, environ: Mapping[str, str], supervisor_pid: int) -> None:
    """Entry of a process forked by the spawner and adopted by the supervisor; never returns."""
    code = EXIT_CRASHED
    try:
        os.environ.clear()
        os.environ.update(environ)
        setup_child(launch, supervisor_pid)
        code = run(launch)
    except OSError as error:
        code = exit_code_of(error)
    finally:
        exit_now(code)


def read_launch(fd: int) -> tuple[int, ActorLaunch]:
    """Return the supervisor's pid and the launch from a pipe that stays open as a lifeline."""
    head = _read_exactly(fd, 8)
    size, pid = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
    return pid, ActorLaunch.unpack(_read_exactly(fd, size))


def framed_launch(launch: ActorLaunch, supervisor_pid: int) -> bytes:
    """Return the bytes that `read_launch` reads."""
    data = launch.pack()
    return len(data).to_bytes(4, "big") + supervisor_pid.to_bytes(4, "big") + data


def _read_exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(fd, size - len(data))
        if not piece:
            os._exit(EXIT_ORPHAN)
        data += piece
    return data


def open_log(log: Path) -> int:
    """Return a descriptor at the end of a log file (mode 0600, rotated once it is large)."""
    make_folder(log.parent, 0o700)
    status = status_of(log)
    if status is not None and status.st_size > LOG_LIMIT:
        move(log, log.with_suffix(".log.1"))
    return open_file(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def redirect_output(log: Path) -> None:
    """Send stdout and stderr to a log file."""
    out = open_log(log)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # plain: /dev/null
    os.dup2(nothing, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    os.close(nothing)


def rotate_output(log: Path) -> None:
    """Rotate a large log if our stderr goes into it; OSErrors are ignored.

    It is called after each line: a server can fill a disk in the minutes before a restart. Until
    the file is large, that costs one system call.
    """
    with suppress(OSError):
        ours = os.fstat(2)
        if ours.st_size <= LOG_LIMIT:
            return
        there = status_of(log)
        if there is None or not os.path.samestat(ours, there):
            return
        is_stdout_too = os.path.samestat(ours, os.fstat(1))
        out = open_log(log)
        os.dup2(out, 2)
        if is_stdout_too:
            os.dup2(out, 1)
        os.close(out)


def set_title(title: str) -> None:
    """Set the title of this process for `ps` and `top`."""
    import setproctitle

    setproctitle.setproctitle(title)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _die_at_end_of(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(EXIT_ORPHAN)
