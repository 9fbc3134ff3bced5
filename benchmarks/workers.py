"""Workers: how fast one is at work, what it weighs, and how fast it is back after kill -9.

A real team: the coordinator spawns workers one by one, each with a node, and each makes a model
call that is not answered. A start lasts from the answer in which the coordinator orders the worker
until the worker's first model call arrives; the peer is a fresh interpreter that imports pyzmq,
msgpack, pydantic and two provider SDKs, which is what each worker would cost without a spawner and
a broker. A recovery lasts from kill -9 until a message sent right after it is in the journal of the
worker's next incarnation.
"""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import psutil

from benchmarks.product import (
    Options,
    Product,
    RunningHome,
    cpu_seconds,
    percentile,
    progress,
    pss_kb,
    seconds_until_in,
    wait_until,
)
from benchmarks.report import Figure, at_least, at_most, not_measured
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, calls

WORKERS, QUICK_WORKERS = 30, 6
IDLE_SECONDS = 10.0
SETTINGS = "run: {max_concurrent: 64, max_workers: 64}\nbroker: {concurrent_calls: 64}\n"
FRESH = """
import zmq, msgpack, pydantic, anthropic, openai
print(open('/proc/self/smaps_rollup').read())
"""


@dataclass(slots=True)
class _Brain:
    """Plays a coordinator that spawns `count` workers, and workers whose call is not answered."""

    count: int
    never: threading.Event = field(default_factory=threading.Event)
    ordered: dict[int, float] = field(default_factory=dict)
    arrived: dict[int, float] = field(default_factory=dict)

    def __call__(self, seen: SeenRequest) -> Reply:
        for number in range(self.count):
            if seen.is_for(f"w{number}"):
                self.arrived.setdefault(number, time.monotonic())
                return Reply(text="never said", gate=self.never)
        number = seen.step
        if number and number <= self.count:  # the next is ordered once this one is at work
            wait_until(lambda: number - 1 in self.arrived, f"worker {number - 1}")
        if number >= self.count:
            return call("wait")
        self.ordered[number] = time.monotonic()
        name = f"w{number}"
        node = call("create_work_node", name=f"n{number}", task="Work", worker=name)
        return calls(call("spawn_worker", name=name), node)

    @property
    def starts(self) -> list[float]:
        """Return the seconds of each start."""
        return [self.arrived[number] - at for number, at in self.ordered.items()]


@dataclass(frozen=True, slots=True)
class Workers:
    """What was measured: seconds, kilobytes, and the share of a core that idle processes take."""

    starts: list[float]
    recoveries: list[float]
    pss_kb: float
    idle_core: float


def run(options: Options) -> list[Figure]:
    """Measure workers beside fresh interpreters; forking and weighing need Linux."""
    if sys.platform != "linux":
        return [not_measured("workers", "forking and weighing processes needs Linux")]
    progress("fresh interpreters with the provider SDKs")
    fresh, fresh_kb = zip(*(_fresh() for _ in range(options.count(5, 1))), strict=True)
    count = options.count(WORKERS, QUICK_WORKERS)
    seen = measure(options.product, count, IDLE_SECONDS if not options.is_quick else 3.0)
    start, peer = statistics.median(seen.starts), statistics.median(fresh)
    kb, interpreter = statistics.median(fresh_kb), "a fresh interpreter with the provider SDKs"
    return [
        at_least("worker, from the order to its first model call: times faster", interpreter,
                 peer / start, 25, f"{1e3 * start:.0f} and {1e3 * peer:.0f} ms"),
        at_least("worker in a model call, memory (PSS): times less", interpreter,
                 kb / seen.pss_kb, 5, f"{seen.pss_kb / 1024:.1f} and {kb / 1024:.1f} MB"),
        at_most("worker in a model call, processor time", "one core",
                seen.idle_core / count, 0.001, f"{count} workers and their router"),
        *_recovery(seen.recoveries, start),
    ]  # fmt: skip


def _recovery(recoveries: list[float], start: float) -> list[Figure]:
    return [
        at_most(
            f"worker, kill -9 until a message is with its next incarnation: p{100 * share:g}",
            "the start of a worker (median)",
            percentile(recoveries, share) / start,
            aim,
            f"{1e3 * percentile(recoveries, share):.0f} and {1e3 * start:.0f} ms",
        )
        for share, aim in ((0.5, 2.0), (0.99, 4.0))
    ]


def sample(product: Product) -> dict[str, float]:
    """Return the medians of a few starts and recoveries, in milliseconds."""
    seen = measure(product, QUICK_WORKERS, 0.0)
    return {
        "spawn_ms": 1e3 * statistics.median(seen.starts),
        "recovery_ms": 1e3 * statistics.median(seen.recoveries),
        "worker_pss_mb": seen.pss_kb / 1024,
    }


def measure(product: Product, count: int, idle_seconds: float) -> Workers:
    """Start `count` workers, weigh them while they wait, and kill each once."""
    responder = _Brain(count)
    with FakeModelServer(responder) as server, product.home(server.env(), SETTINGS) as home:
        progress(f"starting {count} workers one by one")
        agent = home.create("Work")
        wait_until(lambda: len(responder.arrived) == count, "all workers", 0.05)
        pids = {
            row.address: row.pid
            for row in home.client.entities()
            if row.kind == "worker" and row.pid is not None
        }
        processes = [psutil.Process(pid) for pid in pids.values()]
        weights = [pss_kb(process) for process in processes]
        idle = 0.0
        if idle_seconds:
            progress(f"{count} workers wait for {idle_seconds:g} s")
            idle = _core_share([*processes, psutil.Process(home.pid("router"))], idle_seconds)
        progress("killing each once")
        recoveries = [_kill(home, agent, address, pid) for address, pid in pids.items()]
        responder.never.set()
        home.client.stop(agent)
    return Workers(responder.starts, recoveries, statistics.median(weights), idle)


def _kill(home: RunningHome, agent: str, address: str, pid: int) -> float:
    run = home.client.agent(agent).run
    assert run is not None
    worker = address.partition("/")[2]
    journal = home.files(agent).run(run).worker(worker).conversation
    text = f"Are you back, successor of {pid}?"

    def kill() -> None:
        os.kill(pid, signal.SIGKILL)
        home.send(agent, text, to=worker, mode="interrupt")

    return seconds_until_in(journal, text, kill)


def _core_share(processes: list[psutil.Process], seconds: float) -> float:
    before, began = sum(map(cpu_seconds, processes)), time.monotonic()
    time.sleep(seconds)
    return (sum(map(cpu_seconds, processes)) - before) / (time.monotonic() - began)


def _fresh() -> tuple[float, float]:
    """Return the seconds and the kilobytes of an interpreter that imports the SDKs."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", FRESH], stdout=subprocess.PIPE, check=True, text=True
    )
    seconds = time.monotonic() - began
    line = next(line for line in done.stdout.splitlines() if line.startswith("Pss:"))
    return seconds, float(line.split()[1])
