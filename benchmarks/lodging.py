"""Lodging: a real supervisor on a home of its own, with a fake model service, for measuring."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from tests.fakes.model_server import Brain, FakeModelServer

ROOT = Path(__file__).resolve().parents[1]
AGIRAPH = ("-P", "-m", "agiraph", "_supervisor")
LOOK_SECONDS = 0.0005
DEADLINE_SECONDS = 60.0

Found = TypeVar("Found")


@contextmanager
def lodging(
    settings: str = "",
    command: Sequence[str] = AGIRAPH,
    environ: Mapping[str, str] | None = None,
) -> Iterator[tuple[Path, psutil.Process]]:
    """Run a supervisor on a fresh home; yield the home and the supervisor's process."""
    with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as folder:
        home = Path(folder)
        (home / "agiraph.yaml").write_text(settings, encoding="utf-8")
        errors = open(home / "supervisor.log", "w", encoding="utf-8")  # noqa: SIM115
        process = subprocess.Popen(
            [sys.executable, *command, "--home", folder, "--until-eof"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        )
        try:
            assert process.stdout is not None
            if "ready" not in process.stdout.readline():
                raise RuntimeError((home / "supervisor.log").read_text(encoding="utf-8")[-2000:])
            yield home, psutil.Process(process.pid)
        finally:
            process.communicate(timeout=DEADLINE_SECONDS)
            errors.close()


@contextmanager
def team_lodging(brain: Brain, settings: str = "") -> Iterator[tuple[Path, psutil.Process]]:
    """Run a supervisor whose models are played by `brain`, as `anthropic/fake`."""
    with FakeModelServer(brain) as server, lodging(settings, environ=server.env()) as lodged:
        yield lodged


def until(
    found: Callable[[], Found | None],
    what: str,
    look_seconds: float = LOOK_SECONDS,
    within_seconds: float = DEADLINE_SECONDS,
) -> Found:
    """Return what `found` returns once it is true. Raises TimeoutError."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(look_seconds)
    raise TimeoutError(f"never happened: {what}")


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE or not process.is_running()
    except psutil.NoSuchProcess:
        return True
