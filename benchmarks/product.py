"""The product under measurement: real processes of a checkout on fresh homes; waiting; progress."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

from agiraph.core.models import ENDED_AGENT
from agiraph.http.client import Client
from agiraph.http.client.call import ApiCall
from agiraph.storage.home import AgentHome, Home

ROOT = Path(__file__).resolve().parents[1]
POLL_SECONDS = 0.0005
DEADLINE_SECONDS = 60.0

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class RunningHome:
    """A home with its supervisor and a client of its API."""

    folder: Path
    supervisor: psutil.Process
    client: Client

    def create(self, goal: str, model: str = "anthropic/fake") -> str:
        """Create an agent and return its id."""
        return str(self._post("agents", {"goal": goal, "model": model})["id"])

    def send(self, agent: str, message: str, **more: str) -> None:
        """Send text to an entity of an agent, its coordinator if no other is named."""
        self._post(f"agents/{agent}/send", {"message": message, **more})

    def _post(self, path: str, fields: Mapping[str, str]) -> Any:
        """Post these fields alone: an older checkout refuses those that it does not know."""
        content, headers = json.dumps(fields).encode(), {"Content-Type": "application/json"}
        read: Callable[[httpx.Response], Any] = httpx.Response.json
        return self.client.make(ApiCall("POST", f"/{path}", read, content=content, headers=headers))

    def files(self, agent: str) -> AgentHome:
        """Return where an agent's files are."""
        return Home(self.folder).agent(agent)

    def finish(self, agent: str, within_seconds: float = DEADLINE_SECONDS) -> str:
        """Wait until an agent's run has ended, stop the agent, and return how the run ended."""

        def ended() -> str:
            status = self.client.agent(agent).status
            return status if status in ENDED_AGENT else ""

        status = wait_until(ended, f"the end of {agent}", 0.1, within_seconds)
        self.client.stop(agent)
        return status

    def pid(self, address: str) -> int:
        """Return the process id of an address."""
        return next(row.pid for row in self.client.entities() if row.address == address and row.pid)


@dataclass(frozen=True, slots=True)
class Product:
    """A checkout of Agiraph whose processes are measured; it runs in its own `.venv` if it has one.

    It is driven through its command line, its HTTP API and its files alone, so that any checkout
    can be measured by this one.
    """

    root: Path = ROOT

    def command(self, *words: str) -> list[str]:
        """Return a command line of this checkout's `agiraph`."""
        own = self.root / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        return [python, "-P", "-m", "agiraph", *words]

    def environ(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for such a command, which may keep the bytecode that it compiles.

        Elsewhere than on a developer's machine nobody compiles all sources at each start.
        """
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {**inherited, "PYTHONPATH": str(self.root), **more}

    @contextmanager
    def home(self, environ: Mapping[str, str], settings: str = "") -> Iterator[RunningHome]:
        """Run a supervisor on a fresh home; RuntimeError with its log if it does not start."""
        with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as folder:
            home = Path(folder)
            (home / "agiraph.yaml").write_text(settings, encoding="utf-8")
            log = home / "supervisor.log"
            with open(log, "w", encoding="utf-8") as errors:
                process = subprocess.Popen(
                    self.command("_supervisor", "--home", folder, "--until-eof"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=self.environ(environ),
                )
            try:
                assert process.stdout is not None
                if "ready" not in process.stdout.readline():
                    raise RuntimeError(log.read_text(encoding="utf-8")[-2000:])
                with Client.for_home(home) as client:
                    yield RunningHome(home, psutil.Process(process.pid), client)
            finally:
                try:
                    process.communicate(timeout=DEADLINE_SECONDS)
                except subprocess.TimeoutExpired:
                    progress("the home did not end in time: killed")
                    process.kill()
                    process.communicate()


@dataclass(frozen=True, slots=True)
class Options:
    """What a benchmark is asked for: less of everything, or more than usual."""

    is_quick: bool = False
    is_full: bool = False
    product: Product = Product()

    def count(self, usual: int, quick: int) -> int:
        """Return how often to measure."""
        return quick if self.is_quick else usual


@contextmanager
def started(command: Sequence[str], **environ: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a helper process with pipes to its stdin and stdout; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-P", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_until(
    found: Callable[[], Found | None],
    what: str,
    poll_seconds: float = POLL_SECONDS,
    within_seconds: float = DEADLINE_SECONDS,
) -> Found:
    """Return what `found` returns once it is true. Raises TimeoutError."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(poll_seconds)
    raise TimeoutError(f"waited {within_seconds:g} s in vain for {what}")


def seconds_until_in(path: Path, text: str, act: Callable[[], object]) -> float:
    """Return the seconds from the beginning of `act` until `text` is in a file that grows."""
    size = path.stat().st_size

    def has_it() -> bool:
        with open(path, "rb") as file:
            file.seek(size, os.SEEK_SET)
            return text.encode() in file.read()

    began = time.monotonic()
    act()
    wait_until(has_it, f"{text!r} in {path.name}")
    return time.monotonic() - began


def cpu_seconds(process: psutil.Process) -> float:
    """Return the processor time that a process has used so far; 0 if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def pss_kb(process: psutil.Process) -> float:
    """Return the proportional set size of a process in kilobytes."""
    return float(process.memory_full_info().pss) / 1024


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def progress(text: str) -> None:
    """Say on stderr what is being measured."""
    print(f"  {text}", file=sys.stderr, flush=True)
