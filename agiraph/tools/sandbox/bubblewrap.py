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
"""Its own process ids, which end with it: killing bubblewrap kills all processes inside."""

OWN_FOLDERS = ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/run")
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
    """

    toolchain: Toolchain
    around: tuple[Path, ...]
    home: Path | None
    mounts: tuple[Mount, ...]
    cwd: Path
    has_network: bool
    guards: tuple[GuardMount, ...] = ()


def words_before(program: str, inside: SandboxContents) -> list[str]:
    """Return the arguments that, in front of a command's own, run it inside."""
    words = [program, *ALONE]
    if not inside.has_network:
        words.append(NO_NETWORK)
    for place, target in inside.toolchain.links:
        words += ["--symlink", target, place]
    words += OWN_FOLDERS
    for name in KERNEL_FILES:
        words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    words += _shown([Mount(path) for path in inside.toolchain.readable])
    within = [path for path in inside.around if _is_in(path, inside.home)]
    words += _shown([Mount(path) for path in inside.around if path not in within])
    if any(_is_in(inside.home, path) for path in (*inside.toolchain.readable, *inside.around)):
        words += ["--tmpfs", str(inside.home)]
    words += _shown([Mount(path) for path in within])
    words += _shown(inside.mounts)
    words += _guarded(inside.guards)
    return [*words, "--chdir", str(inside.cwd), "--"]


def _is_in(path: Path | None, folder: Path | None) -> bool:
    return path is not None and folder is not None and path.is_relative_to(folder)


def _shown(mounts: Sequence[Mount]) -> list[str]:
    """Return the arguments for some mounts; paths that no longer exist are left out."""
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
