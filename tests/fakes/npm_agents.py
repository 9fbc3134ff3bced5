"""Real outside agents from the npm registry, kept in a cache outside the repository.

Installed once, under a lock, for tests run in several processes; where there is no npm, or no
registry can be reached, the test is skipped.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agiraph-tests"
INSTALL_SECONDS = 300
CLAUDE_ACP = "@agentclientprotocol/claude-agent-acp@0.49.0"


def npm_program(package: str, program: str) -> Path:
    """Return where a package's program is, installed if need be; skip the test if it cannot be."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no npm or no node to install and run the agent with")
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / package.strip("@").replace("/", "-").replace("@", "-")
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists() and (problem := _install(npm, package, folder)):
            pytest.skip(f"{package} cannot be installed: {problem}")
    return folder / "node_modules" / ".bin" / program


def _install(npm: str, package: str, folder: Path) -> str:
    """Put a package into a folder whole or not at all; return what went wrong, '' if nothing."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(part), package]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, cwd=part
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip()[-300:]
    part.rename(folder)
    return ""
