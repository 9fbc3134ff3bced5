"""Programs from the npm registry for tests, installed once into a cache, under a lock."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "agiraph-tests" / "npm"
INSTALL_SECONDS = 300


def npm_program(package: str, program: str) -> str:
    """Return the path of a program of `package` ("name@version"); skip the test without npm."""
    folder = CACHE / package.replace("/", "_").replace("@", "_")
    found = folder / "node_modules" / ".bin" / program
    if not found.exists():
        _install(package, folder)
    if not found.exists():
        pytest.skip(f"{package} has no program {program}")
    return str(found)


def _install(package: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "node_modules").exists():
            return
        try:
            done = subprocess.run(
                [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package],
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
                check=False,
                env={**os.environ, "npm_config_update_notifier": "false"},
            )
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode != 0:
            shutil.rmtree(folder / "node_modules", ignore_errors=True)
            why = done.stderr.strip().splitlines()[-1:] if done else ["it took too long"]
            pytest.skip(f"the npm registry is not reachable: {' '.join(why)}")
