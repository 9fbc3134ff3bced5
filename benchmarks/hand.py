"""The measuring hand: stands in the human gateway's place of a real supervisor and times deaths.

It has workers born and kills each once with -9, with a message on its way to it, and then sends
many durable messages to see what the router writes to disk. What it found goes into RESULT of the
home as JSON. Run as a program this is `agiraph-supervisor` with the hand in it.
"""

import asyncio
import json
import os
import signal
import statistics
import sys
import time
from pathlib import Path

from actors.runtime.kinds import KINDS as REAL_KINDS
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.supervisor.main import main as supervisor_main
from agiraph.core.ids import HUMAN, ROUTER, SUPERVISOR, Address
from agiraph.messages import ChildSpec, ChildTable, ListChildren, StartChild, StopChild, TextMessage
from agiraph.storage.files import replace_file
from benchmarks.answering import QUIET, READY

KINDS = {
    **REAL_KINDS,
    "broker": "benchmarks.idle:main",
    "human": "benchmarks.hand:main",
    "worker": "benchmarks.answering:main",
}
RESULT = "result.json"
DEATHS = "AGIRAPH_BENCH_DEATHS"
WITHIN_SECONDS = 30.0
MESSAGES = 2_000
IN_FLIGHT = 100
ONE_BY_ONE = 200
BODY = "x" * 200

Result = dict[str, float]


def main(launch: ActorLaunch) -> int:
    """Measure, then live until stopped."""
    return run_actor(launch, measure)


async def measure(runtime: Runtime) -> None:
    """Time births and deaths in turns, weigh what is written, and leave the result."""
    await runtime.ready()
    births, deaths = [], []
    for number in range(int(os.environ[DEATHS])):
        address = Address(f"bench/answering-{number}")
        births.append(await _birth(runtime, address))
        deaths.append(await _death(runtime, address))
        await runtime.ask(SUPERVISOR, StopChild(address=address, how="forget"))
    result = {
        "birth_p50_ms": 1e3 * statistics.median(births),
        "birth_p99_ms": 1e3 * _p99(births),
        "death_p50_ms": 1e3 * statistics.median(deaths),
        "death_p99_ms": 1e3 * _p99(deaths),
        "deaths": float(len(deaths)),
    }
    result |= await _disk(runtime)
    replace_file(runtime.launch.home / RESULT, json.dumps(result))
    while True:
        runtime.done(await runtime.receive())


async def _birth(runtime: Runtime, address: Address) -> float:
    """Return the seconds from the wish for a worker until it is ready."""
    spec = ChildSpec(address=address, kind="worker", owner=HUMAN)
    began = time.monotonic()
    await runtime.ask(SUPERVISOR, StartChild(spec=spec), within_seconds=WITHIN_SECONDS)
    return await _told(runtime, READY) - began


async def _death(runtime: Runtime, address: Address) -> float:
    """Return the seconds from kill -9 until the next incarnation has a message sent right then."""
    pid = await _pid_of_ready(runtime, address)
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    await runtime.send(address, TextMessage(content=f"after {pid}", from_name="hand"))
    return await _told(runtime, f"after {pid}") - began


async def _told(runtime: Runtime, content: str) -> float:
    """Wait for a text and return the time that it tells."""
    async with asyncio.timeout(WITHIN_SECONDS):
        while True:
            received = await runtime.receive()
            runtime.done(received)
            if isinstance(received.body, TextMessage) and received.body.content == content:
                return float(received.body.from_name)


async def _pid_of_ready(runtime: Runtime, address: str) -> int:
    """Return the pid of a child once the supervisor knows that it is ready.

    One that dies before that has failed to start, which is another thing than a crash.
    """
    while True:
        received = await runtime.ask(SUPERVISOR, ListChildren(), within_seconds=WITHIN_SECONDS)
        runtime.done(received)
        assert isinstance(received.body, ChildTable)
        row = next(row for row in received.body.children if row.address == address)
        if row.state == "ready" and row.pid is not None:
            return row.pid


# --- what the router writes ----------------------------------------------------------------------


async def _disk(runtime: Runtime) -> Result:
    """Return bytes written for a durable message: by the router, and by a plain synced append."""
    address = Address("bench/taking")
    await _birth(runtime, address)
    router = await _pid_of_ready(runtime, ROUTER)
    try:
        before = _written(router)
    except OSError:
        return {}  # no /proc/PID/io here
    await _send(runtime, address, ONE_BY_ONE, 1)
    between = _written(router)
    await _send(runtime, address, MESSAGES, IN_FLIGHT)
    after = _written(router)
    return {
        "disk_one_by_one": (between - before) / ONE_BY_ONE,
        "disk_in_stream": (after - between) / MESSAGES,
        "disk_append": _synced_appends(runtime.launch.home / "plain.log") / ONE_BY_ONE,
    }


async def _send(runtime: Runtime, address: Address, count: int, in_flight: int) -> None:
    """Send quiet texts, so many at once, and wait until the last was taken."""
    slots = asyncio.Semaphore(in_flight)

    async def one() -> None:
        async with slots:
            await runtime.send(address, TextMessage(content=QUIET + BODY, from_name="hand"))

    await asyncio.gather(*(one() for _ in range(count)))
    await runtime.send(address, TextMessage(content=f"the end of {count}", from_name="hand"))
    await _told(runtime, f"the end of {count}")


def _synced_appends(path: Path) -> int:
    """Return the bytes that ONE_BY_ONE synced appends of the same text write."""
    before = _written(os.getpid())
    with open(path, "ab", buffering=0) as file:
        for _ in range(ONE_BY_ONE):
            file.write(BODY.encode() + b"\n")
            os.fdatasync(file.fileno())
    return _written(os.getpid()) - before


def _written(pid: int) -> int:
    """Return the bytes that a process has caused to be written to disk."""
    lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])


def _p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]


if __name__ == "__main__":
    sys.argv[0] = "agiraph-supervisor"
    supervisor_main(KINDS)
