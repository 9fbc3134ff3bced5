"""Causes: why a process ended, as a record for messages, and where the evidence comes from.

Exit code and signal come from the kernel. Only counters show that a SIGKILL came from the
out-of-memory killer: of our control group (v2, then v1), and of the machine. If a counter rose
since the process began, and the supervisor did not send the kill, the cause is a lack of memory.

Only this module decides who is responsible for an exit:

    from outside      by order, with its machine, or by SIGHUP, SIGINT, SIGQUIT, SIGKILL or SIGTERM
                      that came neither from the supervisor nor from a lack of memory: counts
                      against nothing
    own fault         it raised, broke down (SIGSEGV, SIGABRT ...), hung, or ran out of memory:
                      counts against its restarts, and against its current message or step
    all other ends    a full disk, not ready in time, refused to start, ended though it should stay:
                      count against its restarts, and blame no message
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.supervisor.processes.restarts import EXIT_NO_SPACE, ProcessExit
from agiraph.core.redaction import redact
from agiraph.messages.child import CauseKind, ExitCause
from agiraph.storage.files import read_part, status_of

SIGKILL = 9
TAIL_BYTES = 16_384
TAIL_LINES = 20
LINE_LIMIT = 1000
"""Long enough for the error text of a damaged journal, which names three paths."""
BLAMELESS_EXITS = frozenset({0, 64, 71, 75, 76, 77})
KILLS_FROM_OUTSIDE = frozenset({1, 2, 3, 9, 15})
NO_MEMORY = "out of memory"
OOM_KILL = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KillReason:
    """The reason why the supervisor itself killed a process."""

    kind: CauseKind
    text: str


def cause_of(
    ended: ProcessExit,
    *,
    kill_reason: KillReason | None,
    oom_kills: int,
    step: str,
    tail: Sequence[str],
) -> ExitCause:
    """Return the typed cause of an exit.

    `oom_kills` is the number of processes that the kernel killed for memory meanwhile, `step` the
    process's last step, `tail` the last lines of its stderr.
    """
    kind, hint = _kind_and_hint(ended, kill_reason, oom_kills, tail[-1] if tail else "")
    text = ProcessExit(ended.code, ended.signal, hint).describe()
    return ExitCause(
        kind=kind,
        text=f"{text} (while: {step})" if step and not ended.is_clean else text,
        exit_code=ended.code,
        signal=ended.signal,
        step=step,
        stderr="" if ended.is_clean else "\n".join(tail),
    )


def _kind_and_hint(
    ended: ProcessExit, kill_reason: KillReason | None, oom_kills: int, last_line: str
) -> tuple[CauseKind, str]:
    if kill_reason is not None:
        return kill_reason.kind, kill_reason.text
    if last_line.startswith("MemoryError") or (ended.signal == SIGKILL and oom_kills > 0):
        return "out_of_memory", NO_MEMORY
    if ended.code == EXIT_NO_SPACE:
        return "no_space", ""
    hint = "" if ended.is_clean else last_line
    return ("exit" if ended.signal is None else "signal"), hint


def is_from_outside(why: ExitCause) -> bool:
    """Whether a process ended by order, with its machine, or by another process's signal."""
    return why.kind in ("ordered", "host_lost") or (
        why.kind == "signal" and why.signal in KILLS_FROM_OUTSIDE
    )


def fault_of(why: ExitCause | None) -> str:
    """Return the cause in words if the process itself is at fault for its exit, else ''.

    A kill from outside blames neither the current step nor the current message.
    """
    if why is None or is_from_outside(why) or why.kind in ("no_space", "not_made", "not_ready"):
        return ""
    return "" if why.kind == "exit" and why.exit_code in BLAMELESS_EXITS else why.text


def tail_of(log: Path, offset: int) -> list[str]:
    """Return the last lines on stderr since `offset` (bytes), with secrets redacted."""
    try:
        end = size_of(log)
        begin = offset if offset <= end else 0  # rotated meanwhile: all of it is new
        data, _ = read_part(log, max(begin, end - TAIL_BYTES), TAIL_BYTES)
        lines = data.decode(errors="replace").split("\n")
    except OSError:
        return []
    shown = [line.rstrip() for line in lines if line.strip()]
    return [str(redact(line.strip()))[:LINE_LIMIT] for line in shown[-TAIL_LINES:]]


def size_of(log: Path) -> int:
    """Return the current size of a process's log, in bytes."""
    try:
        status = status_of(log)
        return 0 if status is None else status.st_size
    except OSError:
        return 0


def oom_kills() -> int:
    """Return the number of processes that the kernel killed for memory, as far as readable."""
    return sum(_counter(file) for file in _counter_files())


def _counter_files() -> Iterable[Path]:
    yield Path("/proc/vmstat")
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()  # plain: /proc
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inner = path.lstrip("/")
        if not controllers:
            yield Path("/sys/fs/cgroup", inner, "memory.events")
        elif "memory" in controllers.split(","):
            yield Path("/sys/fs/cgroup/memory", inner, "memory.oom_control")


def _counter(file: Path) -> int:
    try:
        text = file.read_text()  # plain: /proc and /sys
    except (OSError, ValueError):
        return 0
    return sum(map(int, OOM_KILL.findall(text)))
