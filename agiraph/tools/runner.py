"""Runner: the small process between an entity and one command; it stores the command's outcome.

A bare interpreter (`python -I -S`) runs `main` for every command, so this imports only modules that
cost no time, not even `signal` or `json` (enum and re alone take longer than all the rest). It
works in three steps:

1. It starts the command in a session of its own, held back until the process ids of both are in
   the file `runner` of the call's folder.
2. It reads the command's output, keeping the beginning and the end, until the command ends, its
   time is over, or its processes exceed their limits (`command_tree.py`). In the last two cases
   the whole tree is killed; in every case all remaining processes are.
3. It writes `outcome` (one line of JSON, then the output), to disk first and then by rename into
   place: an outcome that can be seen is whole, and stays after a crash of the machine.

If the sandbox must keep a path empty, the runner holds a stand-in there as long as the command
lives (`sandbox/standin.py`).

Its stdin is a pipe whose other end the entity holds. When that closes, the entity is dead: the
command has `ORPHAN_SECONDS` to end by itself, so that a command which was about to end stores its
outcome. Then it is killed without an outcome. So no command outlives its entity by more. While the
disk is full the outcome waits for space, as long as the entity lives.
"""

import _signal  # type: ignore[import-not-found]  # `signal` wraps it in enums: 10 ms a start
import errno
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agiraph.tools.command_tree import CommandTree
    from agiraph.tools.sandbox.standin import StandIns

# As a module, not as a script: a script would be compiled again at every start.
START = "import sys; sys.path.append(sys.argv[1]); import runner; runner.main(sys.argv[2:])"
SHELL = "bash"
IDENTITY = "runner"
OUTCOME = "outcome"
ORPHAN_SECONDS = 1.0
PIPE_CHUNK = 65536
DRAIN_READS = 64
KILL_ROUNDS = 20
CHILDREN_ROUNDS = 400
CHILDREN_PAUSE_SECONDS = 0.005
GONE_SECONDS = 3.0
GONE_POLL_SECONDS = 0.002
ENDED = ("Z", "X")
"""States of a process that no longer runs (proc(5))."""

NO_SHELL = 127
FULL = (errno.ENOSPC, errno.EDQUOT)
PAUSE_SECONDS = 0.2
LIFELINE = 0
OVERDUE, ORPHANED = "overdue", "orphaned"
LANDLOCK = os.path.join(os.path.dirname(__file__), "sandbox", "landlock.py")
HAS_PROC = os.path.isdir("/proc/self")


class OutputExcerpt:
    """The beginning and the end of an output of any length, `limit` bytes in total."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add the next piece of the output."""
        self.total += len(data)
        room = self.limit - self.limit // 2 - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.limit:  # cut rarely, not at every piece
            self.cut()

    def cut(self) -> None:
        """Shorten the kept end to its share of the limit."""
        del self.tail[: max(0, len(self.tail) - self.limit // 2)]


def main(arguments: list[str]) -> None:
    """Run `FOLDER SECONDS OUTPUT_LIMIT USER_TASKS MEMORY TASKS COMMAND COUNT ...`.

    The rest is `[STAND_IN ...] BEFORE...`. A limit of 0 is none. `USER_TASKS` is the number of
    processes and threads of the user, `MEMORY` (bytes in use) and `TASKS` are limits for all
    processes of the command together. The address space is not limited: Chromium, Go and the JVM
    reserve far more of it than they use. `COUNT` is the number of stand-ins. `BEFORE` are arguments
    in front of the shell's own: a program that runs it in a sandbox.
    """
    folder, seconds, output, *limits, command, count = arguments[:8]
    user_tasks, memory, tasks = map(int, limits)
    rest = arguments[8:]
    standins, before = rest[: int(count)], rest[int(count) :]
    sys.path.append(os.path.dirname(__file__))
    import command_tree  # type: ignore[import-not-found]  # no packages in a bare interpreter

    if sys.platform == "linux" and not before:
        command_tree.adopt_orphans()  # in a sandbox, they are adopted there
    read_fd, write_fd = os.pipe()
    gate_read, gate_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate_write)
        command_tree.make_expendable()
        _become([*before, SHELL, "-c", command, SHELL], write_fd, gate_read, user_tasks)
    os.close(write_fd)
    write(os.path.join(folder, IDENTITY), identity_of("session", pid, standins))
    if select.select([LIFELINE], [], [], 0)[0]:
        return  # checked after the identity is written: without one, no command was started
    kept = OutputExcerpt(int(output))
    held = stand_ins(standins)
    if held is None or held.is_complete:
        os.write(gate_write, b"!")
    else:
        kept.add(held.problem.encode("utf-8", "replace"))
    os.close(gate_write)  # a command that was not released exits
    tree = command_tree.CommandTree(pid, memory, tasks, folder) if HAS_PROC else None
    ended, problem = _see_through(
        pid, read_fd, kept, float(seconds), tree, kill_sandbox if before else kill_tree
    )
    kill_session(pid)
    if not before:
        kill_children()
    if held is not None:
        held.release(is_over=until_gone(pid))
    _drain(read_fd, kept)
    if problem:
        kept.add(f"\n[killed with all it started: {problem}]\n".encode())
    if ended != ORPHANED:
        _leave_outcome(folder, kept, "null" if ended == OVERDUE else ended)


def identity_of(name: str, pid: int, standins: list[str]) -> bytes:
    """Return the content of a file that names this process, its child and the stand-ins."""
    paths = ""
    if standins:
        import json  # most commands have none

        paths = f',"standins":{json.dumps(standins)}'
    return f'{{"pid":{os.getpid()},"{name}":{pid}{paths}}}\n'.encode()


def stand_ins(paths: list[str]) -> "StandIns | None":
    """Return the stand-ins of a command; None, without an import, if it needs none."""
    if not paths:
        return None
    sys.path.append(os.path.dirname(LANDLOCK))
    import standin  # type: ignore[import-not-found]  # no packages in a bare interpreter

    held: StandIns = standin.StandIns(paths)
    return held


# --- the command ----------------------------------------------------------------------------------


def _become(words: list[str], output: int, gate: int, tasks: int) -> None:
    """Turn this forked process into the command; does not return."""
    try:
        os.setsid()
        for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        if not os.read(gate, 1):
            os._exit(NO_SHELL)  # the runner is gone
        words = _scoped(words)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # plain: /dev/null
        os.dup2(output, 1)
        os.dup2(output, 2)
        _limit(resource.RLIMIT_CORE, 0)
        if tasks:
            _limit(resource.RLIMIT_NPROC, tasks)
        os.execvpe(words[0], words, _environment())
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NO_SHELL)


def _scoped(words: list[str]) -> list[str]:
    """Return the arguments without landlock.py, whose restriction is then applied here.

    So no second interpreter is started. Other arguments are returned unchanged.
    """
    if words[3:4] != [LANDLOCK]:
        return words
    sys.path.append(os.path.dirname(LANDLOCK))
    import landlock  # type: ignore[import-not-found]  # some commands do not need it

    return words[4:] if landlock.scope() else words


def _limit(what: int, value: int) -> None:
    """Set a limit, unless a stricter limit of the user forbids it."""
    try:
        resource.setrlimit(what, (value, value))
    except (OSError, ValueError):
        pass


def _environment() -> dict[bytes, bytes]:
    """Return the entity's environment, without the LC_CTYPE that the interpreter adds."""
    given = dict(os.environb)
    if not given.keys() & {b"LANG", b"LC_ALL"}:
        given.pop(b"LC_CTYPE", None)
    return given


def _see_through(
    pid: int,
    read_fd: int,
    kept: OutputExcerpt,
    seconds: float,
    tree: "CommandTree | None",
    kill: "Callable[[int], None]",
) -> tuple[str, str]:
    """Read until the command ends; return its exit code, OVERDUE or ORPHANED, and a problem.

    The problem is the limit that the command's processes have exceeded, '' if none. `kill` is
    called with `pid` to end the command.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    os.set_blocking(read_fd, False)
    _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
    _signal.set_wakeup_fd(wake)
    watched = [woken, read_fd, LIFELINE]
    why, ends_at = OVERDUE, time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return str(os.waitstatus_to_exitcode(status)), ""
        now = time.monotonic()
        left = ends_at - now
        problem = tree.problem() if tree is not None and now >= tree.next_look else ""
        if left <= 0 or problem:
            kill(pid)
            os.waitpid(pid, 0)
            return (str(-_signal.SIGKILL), problem) if problem else (why, "")
        pause = left if tree is None else min(left, max(0.0, tree.next_look - now))
        ready = select.select(watched, [], [], pause)[0]
        if woken in ready:
            os.read(woken, PIPE_CHUNK)
        if read_fd in ready and not _read(read_fd, kept):
            watched.remove(read_fd)
        if LIFELINE in ready:
            watched.remove(LIFELINE)
            if left > ORPHAN_SECONDS:
                why, ends_at = ORPHANED, time.monotonic() + ORPHAN_SECONDS


def _read(fd: int, kept: OutputExcerpt) -> bool:
    """Store the data in the pipe; return whether more may come."""
    try:
        data = os.read(fd, PIPE_CHUNK)
    except BlockingIOError:
        return True
    kept.add(data)
    return bool(data)


def _drain(fd: int, kept: OutputExcerpt) -> None:
    for _ in range(DRAIN_READS):
        before = kept.total
        if not _read(fd, kept) or kept.total == before:
            return


# --- killing --------------------------------------------------------------------------------------


def kill_sandbox(pid: int) -> None:
    """Kill bubblewrap: the kernel then kills all processes inside at once."""
    signal_to(pid, _signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants, suspending each first so that none can fork.

    If the process leads a process group, the group is suspended in one step: it may have thousands
    of members.
    """
    signal_to(-pid, _signal.SIGSTOP)
    signal_to(pid, _signal.SIGSTOP)
    for member in (-pid, pid, *_stopped_below(pid)):
        signal_to(member, _signal.SIGKILL)


def _stopped_below(pid: int) -> set[int]:
    """Suspend all descendants of a process (SIGSTOP) until no new one appears; return their ids."""
    family, new = {pid}, {pid}
    while new:
        table = parents()
        new = {child for child, parent in table.items() if parent in family} - family
        for member in new:
            signal_to(member, _signal.SIGSTOP)
        family |= new
    return family - {pid}


def kill_children() -> bool:
    """Kill all descendants of this process until none is left; return whether none is."""
    for _ in range(CHILDREN_ROUNDS):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        for member in _stopped_below(os.getpid()):
            signal_to(member, _signal.SIGKILL)
        time.sleep(CHILDREN_PAUSE_SECONDS)
    return False


def kill_session(session: int) -> None:
    """Kill every process of a session, until no new one appears."""
    killed: set[int] = set()
    for _ in range(KILL_ROUNDS):
        members = {pid for pid in pids() if _session_of(pid) == session} - killed
        if not members:
            return
        for pid in members:
            signal_to(pid, _signal.SIGKILL)
        killed |= members


def until_gone(session: int) -> bool:
    """Wait until no process of a session is left; return whether none is.

    In a sandbox, the first process is gone only when all others are.
    """
    ends_at = time.monotonic() + GONE_SECONDS
    while has_members(session):
        if time.monotonic() > ends_at:
            return False
        time.sleep(GONE_POLL_SECONDS)
    return True


def has_members(session: int) -> bool:
    """Whether a session still has a process that has not ended."""
    for pid in pids():
        fields = _read_file(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields[3:4] == [str(session)] and fields[0] not in ENDED:
            return True
    return False


def parents() -> dict[int, int]:
    """Return the parent of each process."""
    if not HAS_PROC:
        table = os.popen("ps -axo pid=,ppid=").read().split()
        return dict(zip(map(int, table[::2]), map(int, table[1::2]), strict=True))
    stats = {pid: _read_file(f"/proc/{pid}/stat") for pid in pids()}
    # the name in it may contain spaces and brackets
    return {pid: int(stat.rpartition(")")[2].split()[1]) for pid, stat in stats.items() if stat}


def pids() -> list[int]:
    """Return the id of every process."""
    if not HAS_PROC:
        return list(parents())
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # plain: /proc


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def signal_to(pid: int, number: int) -> None:
    """Send a signal to a process, or a group by its negative number; it may have ended."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


# --- the outcome ----------------------------------------------------------------------------------


def _leave_outcome(folder: str, kept: OutputExcerpt, exit_code: str) -> None:
    kept.cut()
    head = f'{{"exit_code":{exit_code},"total":{kept.total},"head":{len(kept.head)}}}\n'
    write(os.path.join(folder, OUTCOME), head.encode() + kept.head + kept.tail, is_durable=True)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    os.fsync(os.open(folder, flags))  # plain: a bare interpreter


def write(path: str, data: bytes, *, is_durable: bool = False) -> None:
    """Write a file atomically; an existing file is replaced, not opened.

    On a full disk this waits for space, as long as the entity lives. It does not use
    `agiraph.storage.files`, which takes a bare interpreter too long to import; no command can write
    in this folder.
    """
    while True:
        try:
            _write_now(path, data, is_durable)
            return
        except OSError as error:
            if error.errno not in FULL or select.select([LIFELINE], [], [], PAUSE_SECONDS)[0]:
                raise


def _write_now(path: str, data: bytes, is_durable: bool) -> None:
    part = f"{path}.part"
    try:
        os.unlink(part)  # plain: a bare interpreter
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o600)  # plain: a bare interpreter
    try:
        while data:
            data = data[os.write(fd, data) :]
        if is_durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(part, path)  # plain: a bare interpreter


def _read_file(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY)  # plain: /proc; takes a third of the time of `open`
    except OSError:
        return ""
    try:
        return os.read(fd, PIPE_CHUNK).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
