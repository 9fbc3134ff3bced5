"""Command tree: all processes of a command, and their total resource usage.

The kernel limits the memory of one process and the processes of one user (not of root), so many
processes together could still use up the machine. The runner checks them while they run:

    tree = CommandTree(pid, memory=4 << 30, tasks=512)
    if problem := tree.problem(): ...   # kill them

A process belongs to a command if its parent does, if it is in the command's session, or if it was
adopted by the runner. In a sandbox there are no other parents. The runner is a bare interpreter, so
this imports only modules that cost no time.
"""

import os
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
LOOK_SECONDS = 0.1
MOST_SHARE = 20
"""A check that takes a second of processor time is followed by this many seconds without one."""

TEMPORARY = ("", "tmp", "dev", "dev/shm")
"""Places of a sandbox's files that are in memory (`bubblewrap.py`)."""

MOST_BYTES = 8192
PARENT, SESSION, THREADS = 1, 3, 17
"""Fields of /proc/PID/stat after the name."""

OF_MEMORY = "the command used more than {} MB of memory with all its processes"
OF_TASKS = "the command had more than {} processes and threads"


class CommandTree:
    """The processes of the command whose first process is `pid`.

    `memory` (bytes) and `tasks` limit all processes together; 0 means no limit. `folder` is a
    folder of the home: the sandbox's /tmp may be on the home's file system.
    """

    def __init__(self, pid: int, memory: int, tasks: int, folder: str) -> None:
        self._session = str(pid)
        self._memory = memory
        self._tasks = tasks
        self._runner = os.getpid()
        self._outside = (_device("/"), _device(folder))
        self._others: set[int] = set()
        self.members = {pid}
        self.next_look = time.monotonic() + LOOK_SECONDS

    def problem(self) -> str:
        """Check the processes; return the limit that they exceed, '' if none."""
        began = time.process_time()  # waiting for a processor is no cost
        threads = self._look()
        problem = ""
        if self._tasks and threads > self._tasks:
            problem = OF_TASKS.format(self._tasks)
        elif self._memory and self._uses_more():
            problem = OF_MEMORY.format(self._memory >> 20)
        cost = time.process_time() - began
        self.next_look = time.monotonic() + max(LOOK_SECONDS, cost * MOST_SHARE)
        return problem

    def _look(self) -> int:
        """Find the processes of the command; return the number of their threads.

        Stops early at too many processes: those of a fork bomb take seconds to read.
        """
        alive = {int(name) for name in os.listdir("/proc") if name.isdecimal()}  # plain: /proc
        self.members &= alive
        self._others &= alive
        threads, unknown = 0, sorted(alive - self._others)
        while unknown:
            rest = []
            for pid in unknown:  # a child usually has a higher number than its parent
                fields = _stat(pid)
                if not self._belongs(pid, fields):
                    rest.append(pid)
                    continue
                self.members.add(pid)
                threads += int(fields[THREADS])
                if 0 < self._tasks < threads:
                    return threads
            if len(rest) == len(unknown):
                break
            unknown = rest
        self._others |= set(unknown)
        return threads

    def _belongs(self, pid: int, fields: list[str]) -> bool:
        if not fields:
            return False  # it has ended
        parent = int(fields[PARENT])
        is_own = pid in self.members or parent in self.members or parent == self._runner
        return is_own or fields[SESSION] == self._session

    def _uses_more(self) -> bool:
        """Whether the processes use too much memory; exact only if a quick sum exceeds `memory`."""
        files = self._temporary_files()
        resident = sum(_pages(pid) for pid in self.members) * PAGE
        if resident + files <= self._memory:
            return False
        shares = [_shares(pid) for pid in self.members]
        private = sum(anonymous for anonymous, _ in shares)
        return private + max(files, sum(shared for _, shared in shares)) > self._memory

    def _temporary_files(self) -> int:
        """Return the bytes of files that the command's sandbox keeps in memory, 0 without one."""
        for pid in sorted(self.members, reverse=True):
            root = f"/proc/{pid}/root"
            device = _device(root + "/")
            if device is None or device in self._outside:
                continue
            places = {_device(f"{root}/{name}"): f"{root}/{name}" for name in TEMPORARY}
            inside = places.keys() - {None, *self._outside}
            return sum(_used(places[device]) for device in inside)
        return 0


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents end, if the kernel supports that."""
    import ctypes  # takes 4 ms: a sandbox needs none of this

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


PR_SET_CHILD_SUBREAPER = 36


def make_expendable() -> None:
    """Make the kernel kill this process and its children first when memory runs out."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)  # plain: /proc
    except OSError:
        return
    try:
        os.write(fd, b"1000")
    except OSError:
        pass
    finally:
        os.close(fd)


def _stat(pid: int) -> list[str]:
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _pages(pid: int) -> int:
    """Return the memory pages of a process, including shared pages."""
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) if len(fields) > 1 else 0


def _shares(pid: int) -> tuple[int, int]:
    """Return the bytes of a process in private and in shared memory, each in proportion."""
    sizes = {}
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        name, _, rest = line.partition(":")
        if name.startswith("Pss"):
            sizes[name] = int(rest.split()[0]) * 1024
    return sizes.get("Pss_Anon", sizes.get("Pss", 0)), sizes.get("Pss_Shmem", 0)


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _used(path: str) -> int:
    try:
        found = os.statvfs(path)
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY)  # plain: /proc; takes a third of the time of `open`
    except OSError:
        return ""
    try:
        return os.read(fd, MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
