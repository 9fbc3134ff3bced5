"""A call from one machine to another: Agiraph beside Ray's actors and AutoGen's gRPC runtime.

All over loopback, with 200-byte bodies and the library's own API, in turn, round after round:

    Agiraph   an endpoint at home asks one behind a relay: encrypted, each machine authenticated
              (CURVE). Passing asks, and durable ones: question and answer are each synced to
              the router's disk before they are accepted, and kept until they are done
    Ray       an actor of one raylet calls an actor of another, directly: no router between them;
              nothing on disk, not encrypted unless TLS is set up; can restart a dead actor
              (max_restarts), and send its call again (max_task_retries)
    AutoGen   send_message from one runtime to another, through the host process: not encrypted,
              nothing on disk, no agent is started again

The peers are no dependency. Make an interpreter that has them, and name it:

    python -m venv peersvenv
    peersvenv/bin/pip install ray 'autogen-ext[grpc]' langgraph langgraph-checkpoint-sqlite \\
        prefect 'fastapi<0.140'
    AGIRAPH_PEERS_PYTHON=peersvenv/bin/python python -m benchmarks peers plans

Without the variable they are looked for in this interpreter.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from benchmarks.bus import KEY, MEET_SECONDS, QUICK_ROUNDS, ROUNDS
from benchmarks.far import HOST, Home
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_least, at_most, not_measured
from transport import tickets
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.errors import TransportError

CALLS, TRIPS, IN_FLIGHT = 3_000, 500, 300
PEER_SECONDS = 60.0
PEERS = {"ray": "Ray's actors", "autogen": "AutoGen's gRPC runtime"}
MODULES = {"ray": "ray", "autogen": "autogen_ext.runtimes.grpc"}
Sample = tuple[float, float]


class PassingCall(BaseModel):
    """A question that may be lost, and its answer."""

    TYPE: ClassVar[str] = "peers.passing"
    data: str = "x" * 200


class DurableCall(BaseModel):
    """A question that may not be lost, and its answer."""

    TYPE: ClassVar[str] = "peers.durable"
    DURABLE: ClassVar[bool] = True
    data: str = "x" * 200


OURS: dict[str, type[BaseModel]] = {"passing": PassingCall, "durable": DurableCall}
CODEC = Codec(OURS.values())


def _endpoint(folder: str, address: str, host: str = "") -> Endpoint:
    ticket = tickets.make_ticket(KEY, address, 1, host)
    return Endpoint(
        url=f"ipc://{folder}/bus", address=address, incarnation=1, ticket=ticket, codec=CODEC
    )


def serve_sink(folder: str) -> None:
    """Answer every question with what it bears."""
    asyncio.run(_answer(_endpoint(folder, "sink", HOST)))


async def _answer(endpoint: Endpoint) -> None:
    await endpoint.start(MEET_SECONDS)

    async def answer() -> None:
        while True:
            received = await endpoint.receive()
            await endpoint.reply(received, received.body)
            endpoint.done(received)

    await asyncio.gather(*(answer() for _ in range(IN_FLIGHT)))


async def _ask(folder: str, body: BaseModel) -> Sample:
    endpoint = _endpoint(folder, "source")
    await endpoint.start(MEET_SECONDS)

    async def call(within_seconds: float | None = None) -> None:
        endpoint.done(await endpoint.ask("sink", body, within_seconds=within_seconds))

    await _meet(call)
    left = iter(range(CALLS))

    async def some() -> None:
        for _ in left:
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(IN_FLIGHT)))
    rate, trips = CALLS / (time.perf_counter() - started), []
    for _ in range(TRIPS):
        began = time.perf_counter()
        await call()
        trips.append(time.perf_counter() - began)
    endpoint.abort()
    return rate, statistics.median(trips) * 1e6


async def _meet(call: Callable[[float], Awaitable[None]]) -> None:
    """Ask until the other end is there and answers."""
    give_up_at = time.monotonic() + MEET_SECONDS
    while True:
        try:
            return await call(2)
        except TransportError:
            if time.monotonic() > give_up_at:
                raise
            await asyncio.sleep(0.1)


def _ours(kind: str) -> Sample:
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        home = Home("router", folder, is_on_disk=kind == "durable")
        try:
            home.start(serve_sink, home.join_host())
            return asyncio.run(_ask(folder, OURS[kind]()))
        finally:
            home.close()


def _python() -> str:
    return os.environ.get("AGIRAPH_PEERS_PYTHON") or sys.executable


def missing(module: str) -> str:
    """Say why a peer with this module cannot be measured; nothing if it can."""
    command = [_python(), "-c", f"import {module}"]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return ""
    except OSError as error:
        return f"AGIRAPH_PEERS_PYTHON={_python()}: {error.strerror}"
    return f"{_python()} has no {module}: see benchmarks/peers.py for how to install it"


def measured_there(script: str, *words: object, within_seconds: float = PEER_SECONDS) -> Sample:
    """Run a script of this folder among the peers, in a session of its own, all of which ends
    with it; return the two numbers that it printed. Raises subprocess.TimeoutExpired."""
    path = str(Path(__file__).with_name(script))
    with tempfile.TemporaryFile("w+") as printed:  # a pipe may stay open with what it has started
        process = subprocess.Popen(
            [_python(), path, *map(str, words)], stdout=printed, start_new_session=True
        )
        try:
            process.wait(within_seconds)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # all have ended
            process.wait()
        printed.seek(0)
        out = printed.read()
    if process.returncode:
        raise RuntimeError(f"{script} {words} ended with exit code {process.returncode}")
    first, second = json.loads(out.splitlines()[-1])
    return first, second


def run(options: Options) -> list[Figure]:
    """Measure all in turn, round after round; ratios are taken within a round."""
    lacks = {peer: why for peer in PEERS if (why := missing(MODULES[peer]))}
    found = [not_measured(f"a call across machines, beside {PEERS[p]}", lacks[p]) for p in lacks]
    there = [peer for peer in PEERS if peer not in lacks]
    if not there:
        return found
    seen: dict[str, list[Sample]] = {name: [] for name in (*OURS, *there)}
    for number in range(options.count(ROUNDS, QUICK_ROUNDS)):
        progress(f"round {number + 1}")
        for name in seen:
            told = ("peers_there.py", name, CALLS, TRIPS, IN_FLIGHT)
            seen[name].append(_ours(name) if name in OURS else measured_there(*told))
    for kind in OURS:
        for peer in there:
            found += _figures(kind, seen[kind], PEERS[peer], seen[peer])
    return found


def _figures(kind: str, ours: list[Sample], peer: str, theirs: list[Sample]) -> list[Figure]:
    rate, trip = (
        statistics.median(one[n] / two[n] for one, two in zip(ours, theirs, strict=True))
        for n in (0, 1)
    )
    numbers = [statistics.median(one[n] for one in each) for n in (0, 1) for each in (ours, theirs)]
    what = f"a {kind} call across machines, encrypted"
    return [
        at_least(f"{what}: rate", f"{peer}, not durable, not encrypted", rate, 1.0,
                 f"{numbers[0]:,.0f} and {numbers[1]:,.0f} calls/s"),
        at_most(f"{what}: round trip", f"{peer}, not durable, not encrypted", trip, 1.0,
                f"{numbers[2]:,.0f} and {numbers[3]:,.0f} us"),
    ]  # fmt: skip
