"""Fresh interpreters that need no imports: forked by a process that has imported everything.

A process of `tests.fakes.forked_command` starts its own processes as programs: a supervisor its
router and its spawner, a command the supervisor of its run. Here they are forked from it instead. A
command forks them while it has one thread, a supervisor at any time: a router that was killed would
otherwise cost a second of imports. Other tests start a supervisor as a real program.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import setproctitle

from actors.runtime.child import open_log
from actors.runtime.kinds import KINDS
from actors.runtime.linux import PR_SET_DUMPABLE, _prctl, hide_environment
from actors.spawner.main import (
    AGENT_MODULES,
    MODULES,
    preload,
    prepare_schemas,
    prepare_texts,
)
from actors.supervisor.main import main as supervisor_main
from actors.supervisor.processes import interpreters
from agiraph import __main__ as front_door
from agiraph.core.record import build_records
from agiraph.llm.network import trusted
from agiraph.llm.providers.sdk import load_sdk
from agiraph.tools.sandbox.probe import probe
from tests.fakes.forked_command import begin_as_program

preload((*MODULES, *AGENT_MODULES))
for kind in ("router", "broker", "human"):
    preload((KINDS[kind].partition(":")[0],))
preload(("actors.host.main",))
build_records()
prepare_texts()
prepare_schemas()
probe()
trusted()
load_sdk("anthropic")
load_sdk("openai")

PROGRAM = (sys.executable, "-P", "-m", "agiraph")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""The signals that an interpreter ignores: a write to a closed pipe is an error, not the end."""
AWAITS_EOF = "_end_after_eof"

_start = interpreters._run
_execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]


def fork_instead() -> None:
    """Fork the interpreters that this process would start, from now on."""
    interpreters._run = _fork_interpreter
    subprocess.Popen._execute_child = _fork_command  # type: ignore[attr-defined]
    front_door._supervisor = _supervisor


def _supervisor() -> None:
    """Run the supervisor; start its first processes while it has one thread, as for one run."""
    prestarted = None if "--daemon" in sys.argv else interpreters.prestart(os.environ)
    hide_environment()
    supervisor_main(prestarted=prestarted)


def supervise(kinds: Mapping[str, str]) -> None:
    """Run `agiraph-supervisor`, with its quick start, with these kinds of processes."""
    fork_instead()
    supervisor_main(kinds, interpreters.prestart(os.environ))


def has_one_thread() -> bool:
    """Whether a fork copies no lock that another thread may hold."""
    return threading.active_count() == 1 and len(os.listdir("/proc/self/task")) == 1


def has_only_threads_that_wait() -> bool:
    """Whether a fork copies no lock that a process of ours could need.

    Beside the main thread there may be ZeroMQ's own threads, and the thread that waits for the end
    of input.
    """
    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and all(AWAITS_EOF in one.name for one in others)


def _fork_interpreter(
    words: Sequence[str], fd: int, environ: Mapping[str, str], log: Path | None
) -> int:
    """Replace `interpreters._run`."""
    if not has_only_threads_that_wait():
        return _start(words, fd, environ, log)
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.dup(2) if log is None else open_log(log)
    try:
        return _fork(words, {0: null, 1: out, 2: out, 3: fd}, environ, has_session=True)
    finally:
        os.close(null)
        os.close(out)


def _fork_command(process: Any, *given: Any) -> None:
    """Replace `subprocess.Popen`, if the command is our own program."""
    command, (cwd, environ), ends, has_session = given[0], given[5:7], given[10:16], given[21]
    is_ours = not isinstance(command, str) and tuple(command[:4]) == PROGRAM
    if not is_ours or not has_one_thread():
        _execute(process, *given)
        return
    reads, writes, errors = ends[0], ends[3], ends[5]
    streams = {0: reads, 1: writes, 2: errors}
    process.pid = _fork(
        command[4:],
        {number: end if end != -1 else number for number, end in streams.items()},
        os.environ if environ is None else environ,
        has_session=has_session,
        cwd=cwd,
    )
    process._child_created = True
    process._close_pipe_fds(*ends)


def _fork(
    words: Sequence[str],
    streams: Mapping[int, int],
    environ: Mapping[str, str],
    *,
    has_session: bool,
    cwd: Path | None = None,
) -> int:
    """Fork a process with only these descriptors, which runs the command line."""
    gc.freeze()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        if has_session:
            os.setsid()
        if cwd is not None:
            os.chdir(cwd)
        _begin_signals()
        _prctl(PR_SET_DUMPABLE, 1)
        _take(streams)
        setproctitle.setproctitle(" ".join((*PROGRAM, *words)))
        begin_as_program(words, environ)
        front_door.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _begin_signals() -> None:
    """Reset all handlers to Python's own, as in a new program; ignored signals stay ignored."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number in SIGNALS or callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _take(streams: Mapping[int, int]) -> None:
    """Open these descriptors, under their numbers, and close all others."""
    above = {number: os.dup(end) for number, end in streams.items()}
    kept = {number: os.dup2(end, 100 + number) for number, end in above.items()}
    for number, end in kept.items():
        os.dup2(end, number)
    os.closerange(max(streams) + 1, 1024)
