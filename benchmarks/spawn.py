"""How long a worker takes from the wish to *ready*, and what it weighs while it is idle.

The peer is what a system without a spawner and a broker does: a fresh interpreter per worker that
imports the provider SDKs. Both are measured in one run, in turns; read the ratio.
"""

import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from actors.runtime.launch import ActorLaunch
from actors.runtime.linux import adopt_orphans
from actors.supervisor.launcher import ExecLauncher, ForkLauncher, Launcher, SpawnedProcess
from actors.supervisor.reaper import Reaper, kill_group
from actors.supervisor.restarts import RestartPolicy
from agiraph.core.config import load_config
from agiraph.logs.log import logger
from agiraph.messages import MESSAGES, ChildReady, Ok
from benchmarks.figures import Figure
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.tickets import make_ticket

ROUNDS = 5
FORKS_A_ROUND = 10
CROWD = 200
QUICK_CROWD = 40
IDLE_SECONDS = 10.0
WITHIN_SECONDS = 60.0
FRESH_WITH_SDKS = "import zmq, msgpack, pydantic, anthropic, openai"

Result = dict[str, float | int | str]


def run(*, is_quick: bool = False) -> Result:
    """Measure in a process of its own and return seconds, megabytes and their ratios."""
    if sys.platform != "linux":
        return {"skipped": "forking workers and weighing them needs Linux"}
    quick = ["--quick"] if is_quick else []
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.spawn", "--measure", *quick],
        stdout=subprocess.PIPE,
        check=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    result: Result = json.loads(told.stdout.splitlines()[-1])
    return result


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at; none where it was not measured."""
    if "fork_to_ready_ms" not in result:
        return []
    peer = "a fresh interpreter with the provider SDKs"
    seen = f"{result['fork_to_ready_ms']} and {result['fresh_with_sdks_ms']} ms"
    ratio = float(result["fresh_over_fork"])
    found = [
        Figure("worker, from wish to ready: times quicker", peer, ratio, "at least", 100, seen)
    ]
    if "worker_pss_mb" in result:
        seen = f"{result['worker_pss_mb']} and {result['fresh_with_sdks_pss_mb']} MB"
        ratio = float(result["fresh_over_worker_memory"])
        found.append(
            Figure("worker, idle memory (PSS): times less", peer, ratio, "at least", 10, seen)
        )
    seen = f"{result['crowd']} idle workers and their router for {result['idle_seconds']:g} s"
    ratio = float(result["idle_cpu_of_one_core"]) / float(result["crowd"])
    found.append(
        Figure("worker, processor time while idle", "one core", ratio, "at most", 0.001, seen)
    )
    return found


class Bench:
    """The least of a supervisor: a router, a spawner, and an ear for `child.ready`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._key = secrets.token_bytes(32)
        self._url = f"ipc://{home}/run/router.sock"
        self._config = load_config().model_dump(mode="json")
        self._reaper = Reaper()
        self._ready: dict[str, asyncio.Future[float]] = {}
        self._count = 0
        environ = dict(os.environ)
        self.fresh = ExecLauncher(self._reaper, environ)
        self.fork = ForkLauncher(
            self._reaper,
            environ,
            self.fresh,
            home,
            lambda: None,
            RestartPolicy("permanent", intensity=5, period_seconds=60, endless=True),
            logger(address="bench"),
        )
        self.endpoint = Endpoint(
            url=self._url,
            address="supervisor",
            incarnation=1,
            ticket=make_ticket(self._key, "supervisor", 1),
            codec=Codec(MESSAGES),
        )

    async def start(self) -> list[SpawnedProcess]:
        """Start router and spawner; return the processes to end."""
        adopt_orphans()
        self._reaper.listen()
        (self._home / "run").mkdir(mode=0o700)
        self.fork.start()
        router = await self.fresh.spawn(self._launch("router", "router", {"key": self._key}))
        await self.endpoint.start(within_seconds=WITHIN_SECONDS)
        await asyncio.wait_for(self.fork.ready.wait(), WITHIN_SECONDS)
        return [router]

    async def listen(self) -> None:
        """Note when each child says that it is ready."""
        while True:
            received = await self.endpoint.receive()
            self.endpoint.done(received)
            if isinstance(received.body, ChildReady):
                self._ready[received.body.address].set_result(time.perf_counter())
                await self.endpoint.reply(received, Ok())

    async def spawn(self, launcher: Launcher) -> tuple[float, SpawnedProcess]:
        """Start one idle actor; return the seconds until it was ready."""
        self._count += 1
        address = f"bench/idle-{self._count}"
        self._ready[address] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        spawned = await launcher.spawn(self._launch(address, "worker", {}, "benchmarks.idle:main"))
        ended = await asyncio.wait_for(self._ready[address], WITHIN_SECONDS)
        return ended - began, spawned

    def _launch(
        self, address: str, kind: str, args: dict[str, Any], entry: str = ""
    ) -> ActorLaunch:
        return ActorLaunch(
            address=address,
            kind=kind,
            incarnation=1,
            ticket=make_ticket(self._key, address, 1),
            router_url=self._url,
            home=self._home,
            args=args,
            config=self._config,
            entry=entry,
        )


async def measure(home: Path, rounds: int = ROUNDS, crowd_size: int = CROWD) -> Result:
    """Run every measurement once and return the figures."""
    bench = Bench(home)
    alive = await bench.start()
    listening = asyncio.create_task(bench.listen())
    result: Result = {}
    try:
        forks: list[float] = []
        fresh: list[float] = []
        for _ in range(rounds):
            for _ in range(FORKS_A_ROUND):
                seconds, spawned = await bench.spawn(bench.fork)
                forks.append(seconds)
                alive.append(spawned)
            fresh.append(_seconds_of_fresh_interpreter())
        result |= {
            "fork_to_ready_ms": round(statistics.median(forks) * 1000, 2),
            "fresh_with_sdks_ms": round(statistics.median(fresh) * 1000, 1),
            "fresh_over_fork": round(statistics.median(fresh) / statistics.median(forks), 1),
        }
        began = time.perf_counter()
        crowd = await asyncio.gather(*(bench.spawn(bench.fork) for _ in range(crowd_size)))
        result["crowd"] = crowd_size
        result["crowd_ready_s"] = round(time.perf_counter() - began, 2)
        members = [spawned for _, spawned in crowd]
        alive += members
        result |= _weigh([spawned.pid for spawned in members])
        result |= await _cpu_while_idle([spawned.pid for spawned in (alive[0], *members)])
    finally:
        listening.cancel()
        for spawned in reversed(alive):
            if not spawned.ended.done():
                kill_group(spawned.pid)
        await asyncio.gather(*(spawned.ended for spawned in alive))
        await bench.fork.stop()
        await bench.endpoint.close()
    return result


def _seconds_of_fresh_interpreter() -> float:
    # posix_spawn and wait by pid: our reaper takes every other child's status
    began = time.perf_counter()
    arguments = [sys.executable, "-c", FRESH_WITH_SDKS]
    os.waitpid(os.posix_spawn(sys.executable, arguments, os.environ), 0)
    return time.perf_counter() - began


async def _cpu_while_idle(pids: list[int]) -> Result:
    """Return the processor time that the router and a crowd take while nothing happens."""
    processes = [psutil.Process(pid) for pid in pids]
    before, began = sum(map(_cpu_seconds, processes)), time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    spent = sum(map(_cpu_seconds, processes)) - before
    seconds = time.perf_counter() - began
    return {"idle_seconds": IDLE_SECONDS, "idle_cpu_of_one_core": round(spent / seconds, 4)}


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _weigh(pids: list[int]) -> Result:
    """Return the proportional set size of idle workers, and of one interpreter with SDKs."""
    try:
        each = [_pss_mb(pid) for pid in pids]
    except OSError:
        return {"memory": "not measured: /proc/PID/smaps_rollup cannot be read here"}
    return {
        "worker_pss_mb": round(sum(each) / len(each), 2),
        "fresh_with_sdks_pss_mb": round(heavy := _pss_of_fresh_interpreter(), 1),
        "fresh_over_worker_memory": round(heavy / (sum(each) / len(each)), 1),
    }


def _pss_of_fresh_interpreter() -> float:
    code = f"{FRESH_WITH_SDKS}\nprint(open('/proc/self/smaps_rollup').read())"
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1)]
    pid = os.posix_spawn(
        sys.executable, [sys.executable, "-c", code], os.environ, file_actions=actions
    )
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    os.waitpid(pid, 0)
    return _pss_in(text)


def _pss_mb(pid: int) -> float:
    return _pss_in(Path(f"/proc/{pid}/smaps_rollup").read_text())


def _pss_in(text: str) -> float:
    line = next(line for line in text.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Print the figures: as JSON for `run`, in words for a person."""
    if "--measure" in sys.argv:
        with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as home:
            size = (1, QUICK_CROWD) if "--quick" in sys.argv else (ROUNDS, CROWD)
            print(json.dumps(asyncio.run(measure(Path(home), *size))))
        return
    for name, value in run().items():
        print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
