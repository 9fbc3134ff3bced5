"""Ray's actors or AutoGen's gRPC runtime, measured once: `python peers_there.py ray|autogen`.

Imports nothing of Agiraph, so that it runs in an interpreter that has only these libraries. Prints
one line of JSON: calls a second, and the median round trip in microseconds.
"""
# mypy: ignore-errors

import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import sys
import time
from dataclasses import dataclass

BODY = "x" * 200
MEET_SECONDS = 30.0


def measure_ray(calls: int, trips: int, in_flight: int) -> tuple[float, float]:
    """Measure an actor of one raylet that calls an actor of another."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    class Sink:
        def echo(self, body: str) -> str:
            return body

    class Source:
        def measure(self, sink: object) -> tuple[float, float]:
            for _ in range(trips // 4):
                ray.get(sink.echo.remote(BODY))
            waiting, started = [], time.perf_counter()
            for _ in range(calls):
                if len(waiting) >= in_flight:
                    ray.get(waiting[: in_flight // 3])
                    del waiting[: in_flight // 3]
                waiting.append(sink.echo.remote(BODY))
            ray.get(waiting)
            rate, seen = calls / (time.perf_counter() - started), []
            for _ in range(trips):
                began = time.perf_counter()
                ray.get(sink.echo.remote(BODY))
                seen.append(time.perf_counter() - began)
            return rate, statistics.median(seen) * 1e6

    cluster = Cluster(
        initialize_head=True, head_node_args={"resources": {"home": 1}, "include_dashboard": False}
    )
    try:
        cluster.add_node(resources={"far": 1})
        ray.init(address=cluster.address, log_to_driver=False)
        sink = ray.remote(resources={"far": 1})(Sink).remote()
        source = ray.remote(resources={"home": 1})(Source).remote()
        return tuple(ray.get(source.measure.remote(sink)))
    finally:
        ray.shutdown()
        cluster.shutdown()


@dataclass
class MessageBody:
    """What AutoGen's agents exchange."""

    text: str


async def _serve_host(address: str) -> None:
    from autogen_ext.runtimes.grpc import GrpcWorkerAgentRuntimeHost

    GrpcWorkerAgentRuntimeHost(address).start()
    await asyncio.Event().wait()


async def _serve_sink(address: str) -> None:
    from autogen_core import MessageContext, RoutedAgent, message_handler

    class Sink(RoutedAgent):
        @message_handler
        async def echo(self, message: MessageBody, ctx: MessageContext) -> MessageBody:
            return message

    runtime = await _runtime(address)
    await Sink.register(runtime, "sink", lambda: Sink("echo"))
    await asyncio.Event().wait()


async def _runtime(address: str) -> object:
    from autogen_core import try_get_known_serializers_for_type
    from autogen_ext.runtimes.grpc import GrpcWorkerAgentRuntime

    runtime = GrpcWorkerAgentRuntime(address)
    runtime.add_message_serializer(try_get_known_serializers_for_type(MessageBody))
    await runtime.start()
    return runtime


async def _call_sink(address: str, calls: int, trips: int, in_flight: int) -> tuple[float, float]:
    from autogen_core import AgentId

    runtime, sink = await _runtime(address), AgentId("sink", "default")

    async def call() -> None:
        await runtime.send_message(MessageBody(BODY), sink)

    give_up_at = time.monotonic() + MEET_SECONDS
    while True:
        try:
            await asyncio.wait_for(call(), 2)
            break
        except Exception:  # the sink has not registered yet
            if time.monotonic() > give_up_at:
                raise
            await asyncio.sleep(0.1)
    left = iter(range(calls))

    async def some() -> None:
        for _ in left:
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(in_flight)))
    rate, seen = calls / (time.perf_counter() - started), []
    for _ in range(trips):
        began = time.perf_counter()
        await call()
        seen.append(time.perf_counter() - began)
    return rate, statistics.median(seen) * 1e6


def _run(entry: object, address: str) -> None:
    asyncio.run(entry(address))


def measure_autogen(calls: int, trips: int, in_flight: int) -> tuple[float, float]:
    """Measure a host and two runtimes, each in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    spawn, running = multiprocessing.get_context("spawn"), []
    try:
        for entry in (_serve_host, _serve_sink):
            running.append(spawn.Process(target=_run, args=(entry, address), daemon=True))
            running[-1].start()
            give_up_at = time.monotonic() + MEET_SECONDS
            while not _listens(address) and time.monotonic() < give_up_at:
                time.sleep(0.05)
        return asyncio.run(_call_sink(address, calls, trips, in_flight))
    finally:
        for process in running:
            process.kill()
            process.join()


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


if __name__ == "__main__":
    wanted = {"ray": measure_ray, "autogen": measure_autogen}[sys.argv[1]]
    print(json.dumps(wanted(*map(int, sys.argv[2:5]))), flush=True)
    os._exit(0)  # threads of gRPC may still wait
