"""Bubblewrap: the arguments in front of a command that run it in the sandbox; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agiraph.tools.sandbox.input_guard import GuardMount
from agiraph.tools.sandbox.mounts import Mount
from agiraph.tools.sandbox.toolchain import Toolchain

ALONE = (
    *("--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"),
)
"""Options for separate process ids: killing bubblewrap kills all processes inside."""

OWN_FOLDERS = ("--proc", "/proc", "--dev", "/dev", "--dir", "/run")
TMP = Path("/tmp")
KERNEL_FILES = (
    *("sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi", "fs", "driver"),
    *("mtrr", "pressure", "latency_stats", "timer_list"),
)
"""Files under /proc that root may write without privileges: a command that could set the kernel's
core_pattern would escape. Bubblewrap covers some of them, but checks with access(2) folders that
are writable for no user."""

NO_NETWORK = "--unshare-net"


@dataclass(frozen=True, slots=True)
class SandboxContents:
    """The files that a command sees inside. Later mounts cover earlier ones.

    `home` is the home of Agiraph: if a folder of `around` contains it, it is covered before the
    parts of it in `mounts` are shown. `guards` come last: they protect paths in `mounts`.
    `temporary` is the folder that is shown as /tmp; None: an empty one in memory.
    """

    toolchain: Toolchain
    around: tuple[Path, ...]
    home: Path | None
    mounts: tuple[Mount, ...]
    cwd: Path
    has_network: bool
    guards: tuple[GuardMount, ...] = ()
    temporary: Path | None = None

    def folders_in_tmp(self) -> dict[str, bool]:
        """Return each name in /tmp that is shown (False), or only paths below it (True)."""
        places = [*self.toolchain.readable, *self.around, *(one.path for one in self.mounts)]
        places += [*(one.path for one in self.guards), self.cwd]
        names: dict[str, bool] = {}
        for place in places:
            if place.is_relative_to(TMP) and place != TMP:
                name = place.relative_to(TMP).parts[0]
                names[name] = names.get(name, True) and place != TMP / name
        return names


def words_before(program: str, inside: SandboxContents) -> list[str]:
    """Return the arguments that, placed before a command, run it in the sandbox."""
    words = [program, *ALONE]
    if not inside.has_network:
        words.append(NO_NETWORK)
    for place, target in inside.toolchain.links:
        words += ["--symlink", target, place]
    words += OWN_FOLDERS
    words += _temporary(inside)
    for name in KERNEL_FILES:
        words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    words += _shown([Mount(path) for path in inside.toolchain.readable])
    around = (*inside.toolchain.readable, *inside.around)
    within = [path for path in inside.around if _is_in(path, inside.home)]
    words += _shown([Mount(path) for path in inside.around if path not in within])
    is_covered = any(_is_in(inside.home, path) for path in around)
    if is_covered:
        words += ["--tmpfs", str(inside.home)]
    words += _shown([Mount(path) for path in within])
    words += _shown(inside.mounts)
    words += _guarded(inside.guards)
    words += _closed_in_tmp(inside)
    if is_covered:
        words += ["--remount-ro", str(inside.home)]
    return [*words, "--chdir", str(inside.cwd), "--"]


def _temporary(inside: SandboxContents) -> list[str]:
    """Return the arguments for /tmp.

    Earlier commands of the node have written in that folder. So that bubblewrap follows no link of
    theirs, nothing is mounted deeper in the folder: each name below which something is shown is a
    folder that existed before, and is covered.
    """
    if inside.temporary is None:
        return ["--tmpfs", str(TMP)]
    covered = [word for name in _covered(inside) for word in ("--tmpfs", f"{TMP}/{name}")]
    return ["--bind", str(inside.temporary), str(TMP), *covered]


def _closed_in_tmp(inside: SandboxContents) -> list[str]:
    """Return the arguments that make covers in /tmp read-only: their memory is not counted."""
    return [word for name in _covered(inside) for word in ("--remount-ro", f"{TMP}/{name}")]


def _covered(inside: SandboxContents) -> list[str]:
    if inside.temporary is None:
        return []
    return [name for name, is_parent in inside.folders_in_tmp().items() if is_parent]


def _is_in(path: Path | None, folder: Path | None) -> bool:
    return path is not None and folder is not None and path.is_relative_to(folder)


def _shown(mounts: Sequence[Mount]) -> list[str]:
    """Return the arguments that show `mounts`; paths that no longer exist are left out."""
    words: list[str] = []
    for mount in mounts:
        way = "--bind-try" if mount.is_writable else "--ro-bind-try"
        words += [way, str(mount.shown), str(mount.path)]
    return words


def _guarded(guards: Sequence[GuardMount]) -> list[str]:
    """Return the arguments that protect paths; the command must not run if one of them fails."""
    words: list[str] = []
    for guard in guards:
        path = str(guard.path)
        match guard.kind:
            case "pin":
                words += ["--bind", path, path]
            case "read":
                words += ["--ro-bind", path, path]
            case "stand_in":
                words += ["--tmpfs", path, "--remount-ro", path]
    return words
